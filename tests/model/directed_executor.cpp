// Executors, quotas and an arbiter by seed, on a virtual clock: queries share too little memory, what they say of
// themselves is wrong, inputs leave, groups fail and are cancelled; each ends, with the right sums, and nothing stays.
//
//     ALLOT_SITUATIONS=100000 allot_model_tests "[directed]"      that many; ALLOT_SEED=n: from that one on
#define ALLOT_FAULTS 1 // for the stage; it is in the name of the library's inline namespace
#include <support/catch.hpp>
#include <support/from_environment.hpp>
#include <support/hooked_home.hpp>
#include <support/stage.hpp>

#include <allot/buffer/buffer_memory.hpp>
#include <allot/core/units.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/operand_graph.hpp>
#include <allot/task/quota.hpp>
#include <allot/task/task_cache.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::task_outcome;
using allot::task_step;
using batch = allot::stored<allot::buffer>;

namespace {

constexpr std::size_t whole = 64_KiB;

enum class ends_by : std::uint8_t { itself, cancel, error, graph };

struct totals {
    std::uint64_t steps = 0, tasks = 0, ran_out = 0, left = 0, failed = 0, cancelled = 0, parked = 0, promised = 0;
    std::uint64_t trace = 0;
    std::string wrong;
};

class situation {
  public:
    explicit situation(std::uint64_t seed)
        : seed_(seed), stage_(
                           seed, [this] { return stuck(); },
                           [this] {
                               if (engine_.used() > whole) complain("over the limit");
                           }) {
        home_.in_write = [this] { return point(), !dice().one_in(40); };
        home_.in_read = [this] { return point(), true; };
    }
    totals run() {
        const std::size_t callers = 1 + dice().below(8), queries = 1 + dice().below(6);
        run_.emplace(tasks_, engine_,
                     allot::executor_options{.bypasses = static_cast<unsigned>(dice().below(5)), .attempts = 40});
        for (std::size_t q = 0; q != queries; ++q) queries_.push_back(std::make_unique<query>(*this));
        for (std::size_t c = 0; c != callers; ++c)
            stage_.add([this, c, callers] {
                for (std::size_t q = c; q < queries_.size(); q += callers) play(*queries_[q]);
                while (finished_ != queries_.size()) { // helps others
                    point();
                    if (!run_->run_one()) stage_.sleep(&finished_, stage_.now() + 50'000);
                }
            });
        if (dice().one_in(2)) stage_.add([this] { promise_outside(); });
        stage_.add([this] { wake_all(); });
        stage_.play();
        const allot::executor_stats s = run_->stats();
        if (s.waiting + s.running + s.parked != 0) complain("tasks are left");
        queries_.clear();
        run_.reset();
        if (engine_.used() != 0 || disk_.used() != 0) complain("bytes are left");
        if (!engine_.verify()) complain("the account's sums are wrong");
        out_.steps = stage_.steps(), out_.trace = stage_.trace(), out_.tasks = s.done, out_.ran_out = s.ran_out,
        out_.left = data_.stats().bytes_left, out_.failed = s.failed;
        return std::exchange(out_, {});
    }

  private:
    struct query {
        explicit query(situation& s)
            : how(static_cast<ends_by>(s.dice().below(8) < 5 ? 0 : 1 + s.dice().below(3))),
              group(*s.run_, name{"query"}, static_cast<std::int64_t>(s.dice().below(3))), copies(group),
              graph(group, [&s](std::size_t) {
                  return s.dice().one_in(4) ? allot::operand_place::not_now : allot::operand_place::here;
              }) {}
        ends_by how;
        std::uint64_t expected = 0, sum = 0;
        std::size_t copied = 0, to_copy = 0;
        allot::task_group group;
        allot::task_cache<batch> copies;
        allot::operand_graph<batch> graph;
    };

    soak::dice& dice() noexcept { return stage_.dice(); }
    void point() { stage_.point(); }
    void complain(const char* what) {
        if (out_.wrong.empty()) out_.wrong = "seed " + std::to_string(seed_) + ": " + what;
    }
    bool stuck() {
        std::fprintf(stderr, "seed %llu: ", static_cast<unsigned long long>(seed_));
        return false;
    }

    batch put(account& by, std::size_t bytes, unsigned char with) {
        allot::buffer b = memory_.allocate(by, bytes + 8);
        std::memset(b.data(), with, bytes + 8);
        return data_.put(std::move(b));
    }
    // A kernel takes memory in two steps, which it may not have told.
    std::uint64_t add_up(std::span<batch::pinned> all, task_step& step, std::size_t takes) {
        point();
        const allot::buffer table = memory_.allocate(step.memory(), takes / 2 + 1);
        std::uint64_t sum = 0;
        for (const auto& b : all) sum += std::to_integer<std::uint64_t>(b->bytes().back());
        for (auto n = dice().below(4); n != 0; --n) point();
        const allot::buffer more = memory_.allocate(step.memory(), takes / 2 + 1);
        point();
        return sum;
    }
    batch put_sum(task_step& step, std::uint64_t sum, std::size_t bytes) {
        allot::buffer out = memory_.allocate(step.memory(), bytes + 8);
        out.set(0, sum);
        return data_.put(std::move(out));
    }
    // What a kernel says that it takes: all, none, or another number.
    std::size_t says(std::size_t takes) {
        const auto which = dice().below(3);
        return which == 0 ? 0 : which == 1 ? takes * dice().below(200) / 100 : takes;
    }

    void play(query& q) {
        bool failed = false;
        try {
            q.how == ends_by::graph ? add_graph(q) : add_tasks(q);
            if (q.how == ends_by::error)
                q.group.add({.name = "bad"}, [this] { point(), throw std::runtime_error("bad"); });
            if (q.how == ends_by::cancel) {
                for (auto n = dice().below(6); n != 0; --n) point();
                q.group.cancel();
            }
            q.group.wait();
        } catch (const allot::task_error& e) {
            failed = true;
            if (q.how != ends_by::error) complain(e.what());
        } catch (const std::exception& e) {
            complain(e.what());
        }
        if (failed != (q.how == ends_by::error)) complain("an error of a group is lost, or another's");
        if ((q.how == ends_by::itself || q.how == ends_by::graph) && q.sum != q.expected) complain("a sum is wrong");
        if (q.how == ends_by::cancel) ++out_.cancelled;
        ++finished_;
        stage_.wake(&finished_);
    }
    // Copies, then sums of the copies; the task between waits for them.
    void add_tasks(query& q) {
        q.to_copy = 1 + dice().below(5);
        for (std::size_t i = 0; i != q.to_copy; ++i) {
            std::vector<batch> in;
            std::size_t bytes = 0;
            for (std::size_t n = dice().below(4); n != 0; --n) {
                const std::size_t size = 1 + dice().below(whole / 16);
                const auto with = static_cast<unsigned char>(dice().below(200));
                try {
                    in.push_back(put(q.group.memory(), size, with));
                } catch (const allot::memory_error&) {
                    continue; // what others have pinned leaves no room
                }
                q.expected += with, bytes += size;
                if (dice().one_in(3)) point();
            }
            const std::size_t takes = dice().below(whole / 2);
            const auto task = q.group.add_known(
                {.name = "copy", .output = says(bytes), .overhead = says(takes)}, std::move(in),
                [this, takes, bytes](std::span<batch::pinned> all, task_step& step) {
                    const std::uint64_t sum = add_up(all, step, takes);
                    return put_sum(step, sum, bytes);
                },
                q.copies.sink());
            if (dice().one_in(4)) static_cast<void>(task.set_number(static_cast<std::int64_t>(dice().below(5))));
        }
        q.group.add({.name = "next"}, [this, &q](task_step& step) {
            point();
            while (std::optional<batch> b = q.copies.try_pull()) {
                std::vector<batch> one;
                one.push_back(*std::move(b));
                q.group.add(
                    {.name = "sum"}, std::move(one),
                    [](std::span<batch::pinned> all) { return all[0]->get<std::uint64_t>(0); },
                    [&q](std::uint64_t sum) { q.sum += sum; });
                if (++q.copied == q.to_copy) q.copies.finish();
            }
            if (!q.copies.awaits(step)) return task_outcome::done;
            ++out_.parked;
            return task_outcome::would_block;
        });
        if (dice().one_in(2)) // parked until another thread wakes it
            q.group.add({.name = "parks"}, [this, again = false](task_step& step) mutable {
                if (std::exchange(again, true)) return task_outcome::done;
                wakers_.push_back(step.waker());
                point();
                return task_outcome::would_block;
            });
    }
    // Operands that depend on one or two before them; the last one on all.
    void add_graph(query& q) {
        using id = allot::operand_graph<batch>::id;
        std::vector<id> all;
        const std::size_t many = 1 + dice().below(6);
        std::vector<std::uint64_t> sums;
        for (std::size_t i = 0; i != many; ++i) {
            const std::size_t takes = dice().below(whole / 2), bytes = dice().below(whole / 32);
            std::vector<id> in;
            std::uint64_t mine = 1 + dice().below(100);
            const std::uint64_t adds = mine;
            for (std::size_t n = i == 0 ? 0 : dice().below(3); n != 0; --n) {
                in.push_back(dice().below(i));
                mine += sums[in.back()];
            }
            sums.push_back(mine);
            all.push_back(q.graph.add({.name = "operand", .output = says(bytes), .overhead = says(takes)}, in,
                                      [=, this](std::span<batch::pinned> from, task_step& step) {
                                          std::uint64_t sum = adds;
                                          for (const auto& b : from) sum += b->get<std::uint64_t>(0);
                                          static_cast<void>(add_up({}, step, takes));
                                          return put_sum(step, sum, bytes);
                                      }));
        }
        for (const std::uint64_t s : sums) q.expected += s;
        const id last =
            q.graph.add({.name = "all", .output = 8}, all, [this](std::span<batch::pinned> from, task_step& step) {
                std::uint64_t sum = 0;
                for (const auto& b : from) sum += b->get<std::uint64_t>(0);
                return put_sum(step, sum, 0);
            });
        q.graph.on_finish(last, [this](allot::operand::state s) {
            if (s != allot::operand::state::done) complain("an operand is not done");
        });
        q.graph.start();
        for (q.group.wait(); q.graph.state_of(last) != allot::operand::state::done; q.group.wait())
            stage_.sleep(&finished_, stage_.now() + 50'000); // until wake_all() asks again
        if (const std::optional<batch> sum = q.graph.take(last)) q.sum = sum->pin()->get<std::uint64_t>(0);
    }
    // Another user of the account, whose promises come and go.
    void promise_outside() {
        account a{engine_, name{"a"}}, b{engine_, name{"b"}};
        allot::quota sure{engine_};
        while (finished_ != queries_.size()) {
            const auto s = sure.request({{a, dice().below(whole / 8)}, {b, dice().below(whole / 8)}},
                                        dice().one_in(2) ? allot::time_span{0} : allot::time_span{1'000'000});
            if (s) {
                ++out_.promised;
                if (const std::size_t n = sure.promised(a); n != 0) {
                    if (!a.try_charge(n)) complain("promised bytes are refused");
                    point();
                    a.refund(n);
                }
            }
            stage_.sleep(&finished_, stage_.now() + 10'000 + dice().below(300'000));
            if (dice().one_in(3)) sure.release();
        }
    }
    void wake_all() {
        while (finished_ != queries_.size()) {
            stage_.sleep(&finished_, stage_.now() + 20'000);
            std::vector<allot::task_waker> now;
            now.swap(wakers_);
            for (const auto& w : now) w();
            for (const auto& q : queries_) q->graph.ask_again();
        }
    }

    const std::uint64_t seed_;
    totals out_;
    support::stage stage_;
    allot::oom::arbiter tasks_;
    account engine_{name{"engine"}, limit{whole}, tasks_}, disk_{name{"disk"}};
    allot::heap_memory heap_;
    allot::buffer_memory memory_{heap_};
    support::hooked_home home_{disk_};
    allot::store data_{engine_, home_, name{"data"}};
    std::optional<allot::executor> run_;
    std::vector<std::unique_ptr<query>> queries_;
    std::vector<allot::task_waker> wakers_;
    std::size_t finished_ = 0;
};

} // namespace

TEST_CASE("directed queries share too little memory, and end with the right sums", "[task][directed]") {
    const std::uint64_t first = support::from_environment("ALLOT_SEED", 1),
                        many = support::from_environment("ALLOT_SITUATIONS", 600);
    totals all;
    for (std::uint64_t seed = first; seed != first + many; ++seed) {
        const bool is_repeated = seed % 16 == 0;
        if (is_repeated) support::stage::dismiss();
        const totals o = situation(seed).run();
        INFO(o.wrong);
        CHECK(o.wrong.empty());
        if (is_repeated) {
            support::stage::dismiss();
            CHECK(situation(seed).run().trace == o.trace); // same seed, same run
        }
        all.steps += o.steps, all.tasks += o.tasks, all.ran_out += o.ran_out, all.left += o.left,
            all.failed += o.failed, all.cancelled += o.cancelled, all.parked += o.parked, all.promised += o.promised;
    }
    const auto print = [](const char* what, std::uint64_t n) {
        std::printf("%s %llu, ", what, static_cast<unsigned long long>(n));
    };
    print("situations", many), print("steps", all.steps), print("tasks", all.tasks), print("ran out", all.ran_out),
        print("bytes left", all.left), print("groups failed", all.failed), print("cancelled", all.cancelled),
        print("parked", all.parked), print("promises", all.promised);
    std::printf("\n");
    if (many >= 600)
        CHECK((all.ran_out != 0 && all.left != 0 && all.failed != 0 && all.cancelled != 0 && all.parked != 0 &&
               all.promised != 0));
}
