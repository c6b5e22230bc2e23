// Heaps whose handles have ended: they serve the next ones, and nothing walks over those that were.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/row/row_access.hpp>

#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

// Heaps that page requests, live_rows() and reports walk over.
template <class Rows> std::size_t walked(Rows& rows) {
    std::size_t n = 0;
    allot::detail::row_access::core(rows).heaps().for_each([&](allot::detail::heap_base&) { ++n; });
    return n;
}

} // namespace

TEST_CASE("closed heaps disappear with their last rows, whatever their kind", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    rows.release(rows.allocate(8));
    const std::size_t before = walked(rows);
    std::list<allot::row_type> types;
    std::set<const void*> seen;
    const auto passes = [&](auto open) {
        seen.clear();
        for (std::size_t i = 0; i < 3000; ++i) {
            types.push_back({.name = "passing"});
            void* row = nullptr;
            {
                auto heap = open(16 + i % 500, types.back());
                seen.insert(&heap.heap());
                row = heap.allocate();
                heap.release(heap.allocate());
            }
            CHECK(rows.live_rows() == 1);
            rows.release(row);
            rows.trim();
        }
        CHECK(seen.size() == 1);
        CHECK(walked(rows) == before);
        CHECK(rows.used() == 0);
    };
    passes([&](std::size_t n, const auto& t) { return rows.heap(allot::as<allot::heap::unique>, n, t); });
    passes([&](std::size_t n, const auto& t) { return rows.heap(allot::as<allot::size::packed>, n, t); });
    passes([&](std::size_t n, const auto& t) { return rows.heap(allot::as<allot::heap::shared_by<4>>, n, t); });
    passes([&](std::size_t n, const auto& t) {
        return rows.heap(allot::as<allot::heap::unique, allot::refill::blocked<16>>, n, t);
    });
    passes([&](std::size_t n, const auto& t) {
        return rows.heap(allot::as<allot::heap::unique, allot::guard::quarantine<8>>, n, t);
    });
    CHECK(rows.valid());
}

TEST_CASE("a page request finds closed heaps whose rows have gone", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{256_MiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> left;
    for (int i = 0; i < 2000; ++i) {
        auto heap = rows.heap(allot::as<allot::heap::unique>, 100);
        left.push_back(heap.allocate());
    }
    CHECK(rows.live_rows() == 2000);
    CHECK(walked(rows) == 2000);
    for (void* row : left) rows.release(row);
    left.assign(1, rows.allocate(8));
    CHECK(walked(rows) == 1); // that of the row
    CHECK(rows.used() - rows.stats().idle == 64_KiB);
    CHECK(rows.live_rows() == 1);
    rows.release(left[0]);
}

TEST_CASE("many handles of one shared heap, and many heaps open at once", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    std::list<allot::row_type> types;
    using handle = decltype(rows.heap(allot::as<allot::size::packed>, 40));
    std::vector<std::pair<handle, handle>> open;
    for (std::size_t i = 0; i < 1000; ++i) {
        types.push_back({.name = "type"});
        open.emplace_back(rows.heap(allot::as<allot::size::packed>, 40, types.back()),
                          rows.heap(allot::as<allot::size::packed>, 40, types.back()));
        CHECK(&open.back().first.heap() == &open.back().second.heap());
    }
    CHECK(walked(rows) == 1000);
    auto& [first, second] = open[500];
    const auto* const heap = &first.heap();
    void* const row = first.allocate();
    {
        const auto gone = std::move(first);
    }
    CHECK(second.live_rows() == 1);
    {
        const auto gone = std::move(second);
    }
    CHECK(walked(rows) == 1000); // its row lives
    auto again = rows.heap(allot::as<allot::size::packed>, 40, *std::next(types.begin(), 500));
    CHECK(&again.heap() == heap);
    again.release(row);
    again.release(again.allocate());
    open.clear();
    CHECK(walked(rows) == 1);
    CHECK(again.live_rows() == 0);
}

TEST_CASE("a local handle keeps a closed heap until it ends", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    {
        std::optional heap{rows.heap(allot::as<allot::heap::unique>, 100)};
        auto local = heap->local();
        const auto* const at = &heap->heap();
        heap.reset();
        auto other = rows.heap(allot::as<allot::heap::unique>, 200);
        CHECK(&other.heap() != at);
        void* const row = local.allocate();
        CHECK(allot::capacity(row) >= 100);
        CHECK(allot::capacity(row) < 200);
        local.release(row);
    }
    rows.release(rows.allocate(8));
    rows.trim();
    CHECK(walked(rows) == 1);
}

TEST_CASE("heaps open and close while other threads release their rows and count", "[row_heap][threads]") {
    struct waiting : allot::policies<allot::guard::quarantine<16>> {};
    const auto run = [](auto set, bool reclaims) {
        allot::row_manager<decltype(set)> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
        std::mutex lock;
        std::vector<void*> left; // released by another thread
        std::vector<std::thread> all;
        std::atomic<unsigned> busy{3};
        for (unsigned t = 0; t < 3; ++t)
            all.emplace_back([&, t] {
                for (std::size_t i = 0; i < (ALLOT_TSAN ? 200 : 1000); ++i) {
                    auto one = rows.heap(allot::as<allot::heap::unique>, 16 + (i + t) % 300);
                    auto two = rows.heap(allot::as<allot::size::packed>, 40);
                    std::vector<void*> mine;
                    for (int k = 0; k < 20; ++k) {
                        mine.push_back(one.allocate());
                        two.release(two.allocate());
                    }
                    const std::lock_guard hold(lock);
                    left.swap(mine);
                    for (void* row : mine) rows.release(row);
                }
                --busy;
            });
        while (busy != 0) {
            if (reclaims) rows.trim();
            static_cast<void>(rows.live_rows());
            rows.usage([](const allot::heap_usage& u) { CHECK(u.slot_bytes != 0); });
        }
        for (auto& t : all) t.join();
        for (void* row : left) rows.release(row);
        CHECK(rows.live_rows() == 0);
        rows.release(rows.allocate(8));
        CHECK(walked(rows) == 1); // without any reclaim under pressure
        rows.trim();
        CHECK(rows.used() == 0);
        CHECK(walked(rows) == 1);
        CHECK(rows.valid());
    };
    for (const bool reclaims : {false, true}) {
        run(sets::plain{}, reclaims);
        run(sets::delayed{}, reclaims);
        run(waiting{}, reclaims);
    }
}
