// Guards under many threads: rows that wander through queues of released rows, and damage that several threads find.
#include <support/catch.hpp>

#include <allot/guard/damage_log.hpp>
#include <allot/row_manager.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

namespace guard = allot::guard;
struct encoded : allot::policies<guard::encoded, allot::slots::linked, allot::oom::null> {};
struct canaries : allot::policies<guard::canary, allot::oom::null> {};
struct waiting : allot::policies<guard::quarantine<64>, allot::oom::null> {};
struct wiped : allot::policies<guard::zero, allot::slots::bitmap, allot::oom::null> {};
struct all_linked : allot::policies<guard::all<guard::encoded, guard::canary, guard::quarantine<64>, guard::zero>,
                                    allot::slots::linked, allot::oom::null> {};
struct all_of_threads : allot::policies<guard::all<guard::canary, guard::quarantine<64>, guard::zero>,
                                        allot::heap::per_thread, allot::oom::null> {};

constexpr int threads = 4;
template <class Body> void on_threads(Body body) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back([&, t] { body(t); });
    for (auto& t : all) t.join();
}

} // namespace

TEMPLATE_TEST_CASE("guarded rows wander between threads, and nothing is amiss", "[threads][guard]", encoded, canaries,
                   waiting, wiped, all_linked, all_of_threads) {
    std::atomic<int> reported{0};
    allot::row_manager<TestType> rows{
        allot::limit{16_MiB},
        allot::damage_sink{
            [](void* to, const allot::misuse_report&) noexcept { ++*static_cast<std::atomic<int>*>(to); }, &reported}};
    std::mutex guarded;
    std::vector<void*> pool;
    std::atomic<bool> good{true};
    std::atomic<int> busy{threads};
    on_threads([&](int t) {
        std::mt19937 random(static_cast<unsigned>(t) + 1);
        auto local = rows.local();
        for (int i = 0; i < (ALLOT_TSAN ? 2000 : 10000); ++i) {
            const std::size_t n = 16 + random() % 300;
            auto* const row = static_cast<unsigned char*>(i % 3 == 0 ? rows.try_allocate(n) : local.try_allocate(n));
            if (row == nullptr) continue;
            std::memset(row, t + 1, n);
            void* other = row;
            {
                const std::lock_guard hold(guarded);
                pool.push_back(row);
                if (pool.size() > 200) std::swap(pool[random() % pool.size()], pool.back());
                else other = nullptr;
                if (other != nullptr) {
                    other = pool.back();
                    pool.pop_back();
                }
            }
            if (other == nullptr) continue;
            if (random() % 2 == 0) local.release(other);
            else rows.release(other);
            if (i % 500 == 0) rows.trim(); // drains what waits
        }
        --busy;
    });
    for (void* row : pool) rows.release(row);
    CHECK(good);
    CHECK(reported == 0);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEMPLATE_TEST_CASE("damage that several threads find at once is reported once each", "[threads][guard]", waiting,
                   all_of_threads) {
    std::atomic<int> reported{0};
    allot::row_manager<TestType> rows{
        allot::limit{16_MiB},
        allot::damage_sink{
            [](void* to, const allot::misuse_report&) noexcept { ++*static_cast<std::atomic<int>*>(to); }, &reported}};
    std::barrier step(threads);
    std::atomic<int> damaged{0};
    const int rounds = ALLOT_TSAN ? 10 : 50;
    on_threads([&]([[maybe_unused]] int t) {
        for (int round = 0; round < rounds; ++round) {
            auto* const row = static_cast<unsigned char*>(rows.allocate(64));
            rows.release(row);
            step.arrive_and_wait();
#if !ALLOT_ASAN               // the checker would tell, too
            if (t % 2 == 0) { // at most 2 a round: a heap keeps the first 8 until it may tell
                row[20] = 1;
                ++damaged;
            }
#endif
            step.arrive_and_wait();
            for (int i = 0; i < 64; ++i) rows.release(rows.allocate(64)); // who waits comes out
            step.arrive_and_wait();
        }
    });
    rows.trim();
    CHECK(reported == damaged);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("damage that several threads note at once is all kept", "[threads][guard]") {
    std::array<std::byte, 8> rows{};
    for (int round = 0; round < 50; ++round) {
        allot::detail::damage_log notes;
        std::barrier start(threads);
        on_threads([&](int t) {
            start.arrive_and_wait();
            for (std::size_t i = static_cast<std::size_t>(t); i < rows.size(); i += threads)
                notes.add(allot::misuse::write_after_release, &rows[i], nullptr);
        });
        std::set<const std::byte*> reported;
        notes.take([&](allot::misuse, const allot::row_type*, const std::byte* row) { reported.insert(row); });
        REQUIRE(reported.size() == rows.size());
        REQUIRE(notes.empty());
    }
}
