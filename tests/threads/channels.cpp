// Eight threads use four channels and the global manager: limits hold, parts are equal to the byte, and all comes back.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/channel/channels.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct query_rows : allot::policies<allot::oom::null, allot::heap::per_thread> {};

} // namespace

TEST_CASE("eight threads on four channels share global rows", "[channels][threads]") {
    const support::rescue ends{"channels on eight threads", std::chrono::seconds(300)};
    account engine{name{"engine"}, limit{8_MiB}};
    {
        allot::channels<query_rows> all{engine, 4, {.limit = 1_MiB}};
        std::mutex lock;
        std::vector<std::uint64_t*> shared; // global rows, each with a link
        std::atomic<std::size_t> wrong{0}, refused{0}, made{0};
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t != 8; ++t)
            threads.emplace_back([&, t] {
                std::mt19937_64 random{t};
                auto& mine = all.channel(t % 4);
                std::vector<std::uint64_t*> own;
                for (int i = 0; i != 1000; ++i) {
                    const std::size_t bytes = random() % 50 == 0 ? 40'000 : 8 + random() % 2000;
                    if (random() % 2 == 0) {
                        auto* const row = static_cast<std::uint64_t*>(
                            random() % 3 == 0 ? all.global().try_allocate(bytes) : mine.try_allocate(bytes));
                        if (row == nullptr) ++refused;
                        else *row = bytes, own.push_back(row), ++made;
                    }
                    if (random() % 4 == 0 && !own.empty()) {
                        const std::lock_guard hold(lock);
                        shared.push_back(own.back()), own.pop_back();
                        std::uint64_t* const other = shared[random() % shared.size()];
                        wrong += *other < 8 || *other > 40'000;
                        mine.link(other), mine.release(other); // of any channel
                    }
                    if (random() % 8 == 0) {
                        const std::lock_guard hold(lock);
                        while (shared.size() > 50) mine.release(shared.back()), shared.pop_back();
                    }
                    while (own.size() > 100) mine.release(own.back()), own.pop_back();
                    for (std::size_t c = 0; c != 4; ++c) wrong += all.memory(c).used() > 1_MiB;
                }
                for (std::uint64_t* const r : own) allot::release(r);
            });
        threads.clear();
        for (std::uint64_t* const r : shared) allot::release(r);
        for (std::size_t c = 0; c != 4; ++c) {
            CHECK((all.global_part(c) == all.global_part(0) && all.channel(c).live_rows() == 0));
            CHECK(all.memory(c).peak() <= 1_MiB);
        }
        CHECK((wrong == 0 && made > 1000 && all.global().live_rows() == 0));
        CHECK(all.global().used() == 4 * all.global_part(0) + all.global().account().used());
    }
    CHECK((engine.used() == 0 && engine.verify()));
}

TEST_CASE("threads at the limit of the engine wait for none that waits for them", "[channels][threads]") {
    const support::rescue ends{"channels at the limit of their engine", std::chrono::seconds(300)};
    account engine{name{"engine"}, limit{8_MiB}}, other{engine, name{"another query"}};
    {
        allot::channels<query_rows> all{engine, 2};
        const auto works = [&](std::size_t t) {
            std::mt19937_64 random{t};
            std::vector<void*> mine;
            for (int i = 0; i != 3000; ++i) {
                const std::size_t bytes = 1 + random() % 100'000;
                void* const row = t < 2 ? all.global().try_allocate(bytes) : all.channel(1).try_allocate(bytes);
                if (row != nullptr) {
                    mine.push_back(row);
                } else {
                    for (void* const r : mine) allot::release(r);
                    mine.clear();
                }
                if (other.try_charge(10'000)) other.refund(10'000);
            }
            for (void* const r : mine) allot::release(r);
        };
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t != 4; ++t) threads.emplace_back(works, t);
        threads.clear();
        CHECK((all.global_part(0) == all.global_part(1) && engine.peak() <= 8_MiB));
    }
    CHECK((engine.used() == 0 && engine.verify()));
}
