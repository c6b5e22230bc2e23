// Chunk arenas under many threads: blocks that wander, caches that others empty, threads that come and go.
#include <support/catch.hpp>
#include <support/chunk_sets.hpp>
#include <support/rescue.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct none_own : allot::policies<allot::fit::runs, allot::oom::null> {};
struct own : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};
struct own_buddies : allot::policies<allot::fit::buddy, allot::heap::per_thread, allot::oom::null> {};
struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct own_best : allot::policies<allot::fit::best, allot::heap::per_thread, allot::oom::null> {};
using sets = std::tuple<none_own, own, own_buddies, own_best>;

constexpr int threads = 4, steps = ALLOT_TSAN ? 4000 : 20'000;

// What threads hand to each other.
class market {
  public:
    void* exchange(unsigned at, void* p) { return places_[at % 64].exchange(p, std::memory_order_acq_rel); }

  private:
    std::atomic<void*> places_[64]{};
};

unsigned char mark_of(const void* p) {
    return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(p) >> 6 | 1);
}

template <class Arena> void check(const Arena& blocks, void* p, std::atomic<int>& broken) {
    const auto* const bytes = static_cast<unsigned char*>(p);
    const std::size_t n = blocks.capacity(p);
    if (n == 0 || bytes[0] != mark_of(p) || bytes[n - 1] != mark_of(p)) ++broken;
}

} // namespace

TEMPLATE_LIST_TEST_CASE("blocks go from thread to thread, while caches are emptied", "[chunks][threads]", sets) {
    allot::chunk_arena<TestType> blocks{allot::limit{128_MiB}, allot::page_bytes{256_KiB}};
    market goods;
    std::atomic<int> broken{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{static_cast<unsigned>(t)};
            for (int i = 0; i != steps; ++i) {
                const std::size_t n = i % 500 == 0  ? 3_MiB
                                      : i % 20 == 0 ? 1280_KiB + random() % 2 * 256_KiB // kept when released
                                                    : 64 + random() % (std::size_t{64} << random() % 11);
                void* p = blocks.try_allocate(n).address;
                if (p == nullptr) {
                    ++broken;
                    continue;
                }
                const std::size_t bytes = blocks.capacity(p);
                static_cast<unsigned char*>(p)[0] = static_cast<unsigned char*>(p)[bytes - 1] = mark_of(p);
                p = goods.exchange(static_cast<unsigned>(random()), p);
                if (p == nullptr) continue;
                check(blocks, p, broken);
                blocks.deallocate(p);
            }
        });
    std::thread reports{[&] {
        while (!done) {
            static_cast<void>(blocks.stats());
            blocks.trim();
        }
    }};
    for (auto& t : all) t.join();
    done = true;
    reports.join();
    for (unsigned i = 0; i != 64; ++i)
        if (void* const p = goods.exchange(i, nullptr)) {
            check(blocks, p, broken);
            blocks.deallocate(p);
        }
    CHECK(broken == 0);
    CHECK(blocks.stats().live == 0);
    CHECK(blocks.valid());
    blocks.trim();
    CHECK(blocks.stats().charged == 0);
}

TEMPLATE_LIST_TEST_CASE("threads that come and go leave nothing, in any order of their ends", "[chunks][threads]",
                        sets) {
    for (int round = 0; round != 20; ++round) {
        auto blocks = std::make_unique<allot::chunk_arena<TestType>>(allot::limit{32_MiB}, allot::page_bytes{256_KiB});
        std::atomic<int> worked{0};
        std::atomic<bool> gone{false};
        std::vector<std::thread> all;
        for (int t = 0; t != threads; ++t)
            all.emplace_back([&, t] {
                std::vector<void*> mine;
                for (int i = 0; i != 100; ++i) mine.push_back(blocks->try_allocate(1000).address);
                for (void* const p : mine) blocks->deallocate(p);
                ++worked;
                if (t % 2 == 0) return; // before the arena
                while (!gone) std::this_thread::yield();
            });
        while (worked != threads) std::this_thread::yield();
        all[0].join();
        all[2].join();
        if (round % 2 == 0) blocks->trim();
        blocks.reset(); // would tell what is left
        gone = true;
        all[1].join();
        all[3].join();
    }
}

TEST_CASE("at the limit threads take turns, and never see more than it", "[chunks][threads]") {
    allot::chunk_arena<own> blocks{allot::limit{8_MiB}, allot::page_bytes{256_KiB}};
    std::atomic<std::uint64_t> met{0}, refused{0};
    std::atomic<int> broken{0};
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{static_cast<unsigned>(t)};
            std::vector<void*> mine;
            for (int i = 0; i != steps / 8; ++i) {
                if (void* const p = blocks.try_allocate(1000 + random() % 400'000).address) {
                    ++met;
                    mine.push_back(p);
                } else {
                    ++refused;
                }
                if (blocks.used() > 8_MiB || blocks.peak() > 8_MiB) ++broken;
                if (mine.size() > 60 || (random() % 4 == 0 && !mine.empty())) {
                    blocks.deallocate(mine.back());
                    mine.pop_back();
                }
            }
            for (void* const p : mine) blocks.deallocate(p);
        });
    for (auto& t : all) t.join();
    CHECK(met != 0);
    CHECK(refused != 0);
    CHECK(broken == 0);
    CHECK(blocks.stats().live == 0);
    const allot::block whole = blocks.try_allocate(8_MiB);
    CHECK(whole);
    blocks.deallocate(whole.address);
    CHECK(blocks.valid());
}

TEMPLATE_TEST_CASE("at the limit nobody is refused what others leave", "[chunks][threads]", own, own_best, none_own,
                   in_tree) {
    // Half of a chunk, which no cache keeps; five pages under fit::best, whose classes are a little larger than 2^n.
    constexpr bool best = std::is_same_v<TestType, own_best> || std::is_same_v<TestType, in_tree>;
    constexpr std::size_t bytes = best ? 320_KiB : 128_KiB, each = 4;
    allot::chunk_arena<TestType> blocks{allot::limit{threads * each * bytes}, allot::page_bytes{64_KiB},
                                        allot::chunk_bytes{256_KiB}};
    std::atomic<int> refused{0};
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{static_cast<unsigned>(t)};
            std::vector<void*> mine;
            for (int i = 0; i != steps; ++i) {
                if (mine.size() < each && random() % 2 != 0) {
                    if (void* const p = blocks.try_allocate(bytes).address) mine.push_back(p);
                    else ++refused;
                } else if (!mine.empty()) {
                    std::swap(mine[random() % mine.size()], mine.back());
                    blocks.deallocate(mine.back());
                    mine.pop_back();
                }
                if (i % 64 == 0) blocks.trim();
            }
            for (void* const p : mine) blocks.deallocate(p);
        });
    for (auto& t : all) t.join();
    CHECK(refused == 0);
    CHECK(blocks.valid());
}
