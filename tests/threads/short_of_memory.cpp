// Requests under a limit that all threads together never reach, and what others see while memory is reclaimed.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <atomic>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

template <std::size_t Rows> struct waiting : allot::policies<allot::guard::quarantine<Rows>> {};

// Threads that hold a few rows each, of far fewer than fit: no request may be refused. Returns refusals.
// `sizes`: each request is for the next of so many classes, so that pages go from heap to heap.
template <class Set>
std::size_t refusals(std::size_t bytes, std::size_t limit, unsigned threads, std::size_t held, unsigned sizes = 1) {
    std::atomic<std::size_t> refused{0};
    for (int round = 0; round < (ALLOT_TSAN ? 20 : 40); ++round) {
        allot::row_manager<Set> rows{allot::limit{limit}, allot::page_bytes{64_KiB}};
        std::atomic<unsigned> ready{0};
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                ready.fetch_add(1);
                while (ready.load() != threads) {
                }
                std::vector<void*> mine;
                for (unsigned i = 0; i < 500; ++i) {
                    if (void* const row = rows.try_allocate(bytes + 500 * ((i + t) % sizes))) mine.push_back(row);
                    else refused.fetch_add(1);
                    if (mine.size() < held) continue;
                    for (void* row : mine) rows.release(row);
                    mine.clear();
                }
                for (void* row : mine) rows.release(row);
            });
        for (auto& t : all) t.join();
        CHECK(rows.live_rows() == 0);
        rows.trim();
        CHECK(rows.used() == 0);
    }
    return refused.load();
}

template <class... Ps> struct shared : allot::policies<allot::page::of<allot::arena<>>, allot::heap::shared, Ps...> {};
struct shared_waiting : shared<allot::guard::quarantine<64>> {};
struct shared_plain : shared<> {};
struct shared_delayed : shared<allot::slots::delay_release> {};

// A manager at rest, whose arena another manager asks for pages: it has `live` rows at each moment.
template <class Set> void counts_exactly() {
    allot::arena<> shared{allot::limit{256_KiB}, allot::page_bytes{64_KiB}};
    allot::row_manager<Set> rows{shared};
    allot::row_manager<shared_plain> other{shared};
    constexpr std::size_t live = 100;
    std::size_t wrong = 0;
    for (int round = 0; round < 100; ++round) {
        std::vector<void*> mine;
        for (std::size_t i = 0; i < 600; ++i) mine.push_back(rows.allocate(100));
        while (mine.size() > live) {
            rows.release(mine.back());
            mine.pop_back();
        }
        std::atomic<bool> done{false};
        std::thread asker([&] {
            for (int i = 0; i < 4; ++i)
                CHECK_ON_THREAD(other.try_allocate(1_MiB) == nullptr); // asks the arena's clients
            done = true;
        });
        while (!done)
            if (rows.live_rows() != live) ++wrong;
        asker.join();
        for (void* row : mine) rows.release(row);
    }
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("threads that together stay far below the limit are never refused", "[threads]") {
    CHECK(refusals<sets::plain>(1000, 64_KiB, 4, 1) == 0);
    CHECK(refusals<sets::plain>(1000, 128_KiB, 2, 1, 4) == 0);
    CHECK(refusals<waiting<64>>(100, 64_KiB, 8, 1) == 0);
    CHECK(refusals<waiting<4096>>(100, 64_KiB, 8, 4) == 0);
    CHECK(refusals<sets::delayed>(1000, 64_KiB, 4, 1) == 0);
    CHECK(refusals<sets::plain>(300000, 2_MiB, 4, 1) == 0); // huge rows
}

TEST_CASE("rows are counted exactly while another manager of the arena asks for pages", "[threads]") {
    counts_exactly<shared_plain>();
    counts_exactly<shared_waiting>();
    counts_exactly<shared_delayed>();
}
