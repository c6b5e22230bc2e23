// Tasks that live on and do nothing between their parts, on a stage: its time is exact, whatever else the machine does.
#include <support/catch.hpp>
#include <support/stage.hpp>
#include <support/tasks.hpp>

#include <allot/oom/scoped_wait.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::limit;
using allot::name;
using support::charged;

namespace {

constexpr std::uint64_t us = 1'000, ms = 1'000'000;

// Eight tasks of several parts, each of up to 60 bytes of 100.
class living_tasks {
  public:
    static constexpr std::size_t threads = 8, parts = 30, most = 60;

    living_tasks(std::uint64_t seed, bool says_that_it_waits)
        : says_(says_that_it_waits), stage_{seed, [] { return false; }, {}} {
        for (std::size_t i = 0; i != threads; ++i) stage_.add([this] { serve(); });
    }
    // Returns: the longest time for which one slept though the bytes of any part were free.
    std::uint64_t play() {
        stage_.play();
        return longest_;
    }

  private:
    void serve() {
        {
            account mine{memory_, name{"connection"}};
            task query{tasks_, "connection", 0, &mine};
            const task_thread here{query};
            for (std::size_t part = 0; part != parts; ++part) {
                const std::size_t third = 5 + stage_.dice().below(16);
                with_retry_no_split([&] {
                    std::vector<charged> has;
                    for (int i = 0; i != 3; ++i) has.emplace_back(mine, third), goes_on_for(stage_.dice().below(2'000));
                });
                if (says_) {
                    const scoped_wait idle{outside};
                    goes_on_for(stage_.dice().below(50'000));
                } else {
                    goes_on_for(stage_.dice().below(50'000));
                }
            }
        }
        look();
    }
    void goes_on_for(std::uint64_t time) {
        look();
        const std::uint64_t end = stage_.now() + time * us;
        while (stage_.now() < end) stage_.sleep(&end, end);
        look();
    }
    void look() {
        const machine now = tasks_.now();
        const bool is_free = memory_.used() + most <= 100;
        for (thread_id t = 0; t != now.threads().size(); ++t) {
            const thread_state s = now[t].state;
            const bool sleeps = now.threads()[t].used && (s == thread_state::bufn || s == thread_state::blocked);
            if (!is_free || !sleeps) since_[t] = stage_.now();
            else longest_ = std::max(longest_, stage_.now() - since_[t]);
        }
    }

    const bool says_;
    std::array<std::uint64_t, 2 * threads> since_{};
    std::uint64_t longest_ = 0;
    support::stage stage_;
    arbiter tasks_;
    account memory_{name{"engine"}, limit{100}, tasks_};
};

} // namespace

TEST_CASE("of tasks that live on none sleeps for long beside memory that it fits in", "[oom][directed]") {
    for (const bool says_that_it_waits : {true, false})
        for (std::uint64_t seed = 1; seed != 21; ++seed) {
            CAPTURE(says_that_it_waits, seed);
            CHECK(living_tasks{seed, says_that_it_waits}.play() <= 10 * ms); // of the stage's clock
            support::stage::dismiss();
        }
}
