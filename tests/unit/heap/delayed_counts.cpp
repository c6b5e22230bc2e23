// Heaps whose slots are marked (`scanning`) and counted later (`delay_release`): how far they look, what is counted
// when, and that all memory comes back.
#include <support/catch.hpp>
#include <support/one_heap.hpp>

#include <allot/slots/bitmap.hpp>
#include <allot/slots/delay_release.hpp>
#include <allot/slots/linked.hpp>
#include <allot/slots/scanning.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using searching = std::tuple<allot::slots::scanning, allot::slots::delay_release>;
using delayed = one_heap<allot::slots::delay_release>;

template <class Heap, class Cache> std::byte* take(Heap& heap, Cache& cache) {
    std::byte* row = nullptr;
    allot::detail::memory_request asked{heap.config().row_bytes};
    return cache.pop(row) ? row : heap.refill(cache, asked);
}
template <class Heap, class Cache> void give(Heap& heap, Cache& cache, std::byte* row) {
    if (cache.push(row)) return;
    heap.spill(cache, cache.batch);
    cache.push(row);
}

} // namespace

TEMPLATE_LIST_TEST_CASE("no allocation looks at a page of slots, at any occupancy and in any order", "[heap]",
                        searching) {
    using scanning = allot::slots::scanning;
    for (int by = 0; by < 3; ++by) // random, last released first, oldest first
        for (const unsigned percent : {10u, 50u, 80u, 94u, 99u, 100u}) {
            one_heap<TestType> h(32, 1_MiB); // 16 pages, all of them held
            typename one_heap<TestType>::cache_type cache;
            h.heap->adopt(cache, cache.capacity);
            std::vector<std::byte*> live;
            while (std::byte* const row = take(*h.heap, cache)) live.push_back(row);
            std::mt19937 random(percent);
            std::size_t oldest = 0;
            const auto release = [&] {
                std::size_t at = live.size() - 1;
                if (by == 0) at = random() % live.size();
                if (by == 2) at = oldest++ % live.size();
                std::swap(live[at], live.back());
                give(*h.heap, cache, live.back());
                live.pop_back();
            };
            for (std::size_t keep = live.size() * percent / 100; live.size() > keep;) release();
            const auto before = h.heap->usage();
            std::size_t furthest = 0, last = before.scanned_slots, failed = 0;
            for (int i = 0; i < 20000; ++i) {
                if (i % 1000 < 500 && !live.empty()) release();
                else if (std::byte* const row = take(*h.heap, cache)) live.push_back(row);
                else ++failed;
                const std::size_t now = h.heap->usage().scanned_slots;
                furthest = std::max(furthest, now - last);
                last = now;
            }
            const auto after = h.heap->usage();
            const std::size_t looked = after.scanned_slots - before.scanned_slots,
                              found = after.found_slots - before.found_slots;
            INFO(percent << " % full, order " << by << ": " << looked << " looks, " << found << " found, at most "
                         << furthest);
            CHECK(failed == 0);
            CHECK(found != 0);
            CHECK(looked <= found * scanning::group);
            CHECK(furthest <= scanning::scan_limit + 3 * scanning::group);
            for (std::byte* row : live) give(*h.heap, cache, row);
            h.heap->flush(cache);
            CHECK(h.heap->usage().live_rows == 0);
            CHECK(h.heap->valid());
            h.provider.heaps().reclaim(true);
            CHECK(h.ledger.used() == 0);
            CHECK(h.arena.trim() > 0);
            CHECK(h.arena.stats().committed == 0);
            h.heap->leave(cache);
        }
}

TEST_CASE("a policy that does not search reports no searches, and keeps no room for them", "[heap]") {
    one_heap<allot::slots::bitmap> h(64);
    h.heap->push(h.pop());
    CHECK(h.heap->usage().scanned_slots == 0);
    CHECK(h.heap->usage().found_slots == 0);
    STATIC_REQUIRE(sizeof(allot::detail::slot_cache<64>) ==
                   sizeof(allot::detail::slot_cache_base) + 64 * sizeof(void*));
    STATIC_REQUIRE(sizeof(one_heap<allot::slots::bitmap>::heap_type) ==
                   sizeof(one_heap<allot::slots::linked>::heap_type));
    STATIC_REQUIRE(sizeof(one_heap<allot::slots::linked>::heap_type) <=
                   sizeof(one_heap<allot::slots::scanning>::heap_type));
    STATIC_REQUIRE(sizeof(allot::detail::deferred_frees) == 520);
}

TEST_CASE("slots that are not counted yet are reported as cached, not as rows", "[heap]") {
    delayed h(16);
    delayed::cache_type cache;
    h.heap->adopt(cache, cache.capacity);
    std::vector<std::byte*> rows;
    for (int i = 0; i < 1000; ++i) rows.push_back(take(*h.heap, cache));
    h.locked([&] {
        for (int i = 0; i < 70; ++i) give(*h.heap, cache, rows[static_cast<std::size_t>(i)]);
    });
    CHECK(cache.deferred.pending() > 0);
    CHECK(h.heap->usage().live_rows == 930);
    CHECK(h.heap->usage().cached_rows == cache.size() + cache.deferred.pending());
    CHECK(h.heap->valid());
    h.heap->flush(cache);
    CHECK(cache.deferred.pending() == 0);
    CHECK(h.heap->usage().live_rows == 930);
    CHECK(h.heap->usage().cached_rows == 0);
    for (std::size_t i = 70; i < rows.size(); ++i) h.heap->push(rows[i]);
    h.heap->leave(cache);
}

TEST_CASE("a cache reports what it knows before it asks for another page", "[heap]") {
    delayed h(16, 64_KiB);
    delayed::cache_type cache;
    h.heap->adopt(cache, cache.capacity);
    std::vector<std::byte*> rows;
    while (std::byte* const row = take(*h.heap, cache)) rows.push_back(row);
    CHECK(rows.size() == h.per_page());
    h.locked([&] {
        for (std::size_t i = 0; i < 40; ++i) give(*h.heap, cache, rows[i * 50]);
        h.heap->spill(cache, cache.size());
    });
    CHECK(cache.deferred.pending() > 0); // and these are all there are
    std::set<std::byte*> again;
    for (std::size_t i = 0; i < 40; ++i) {
        std::byte* const row = take(*h.heap, cache);
        REQUIRE(row != nullptr);
        again.insert(row);
    }
    CHECK(again.size() == 40);
    CHECK(take(*h.heap, cache) == nullptr);
    for (std::size_t i = 0; i < 40; ++i) CHECK(again.count(rows[i * 50]) == 1);
    for (std::byte* row : rows) h.heap->push(row);
    h.heap->leave(cache);
}

TEST_CASE("slots claimed before they are counted take the count below zero, and nothing is lost", "[heap]") {
    delayed h(16, 64_KiB);
    delayed::cache_type one, two;
    h.heap->adopt(one, one.capacity);
    h.heap->adopt(two, two.capacity);
    std::vector<std::byte*> rows;
    while (std::byte* const row = h.pop()) rows.push_back(row);
    const std::size_t all = rows.size();
    h.locked([&] {
        for (std::size_t i = 0; i < 30; ++i) give(*h.heap, one, rows[i]);
        h.heap->spill(one, one.size()); // marked, not counted
    });
    CHECK(one.deferred.pending() == 30);
    for (std::size_t i = 30; i < 38; ++i) give(*h.heap, two, rows[i]);
    h.heap->flush(two); // counted
    std::vector<std::byte*> got;
    while (std::byte* const row = take(*h.heap, two)) got.push_back(row);
    CHECK(got.size() > 8); // also those that are not counted
    CHECK(h.heap->usage().live_rows == all - 38 + got.size());
    CHECK(h.heap->valid());
    h.heap->flush(one);
    while (std::byte* const row = take(*h.heap, two)) got.push_back(row);
    CHECK(got.size() == 38);
    CHECK(std::set<std::byte*>(got.begin(), got.end()).size() == 38);
    for (std::size_t i = 38; i < all; ++i) got.push_back(rows[i]);
    for (std::byte* row : got) h.heap->push(row);
    h.heap->leave(one);
    h.heap->leave(two);
    h.provider.heaps().reclaim(true);
    CHECK(h.ledger.used() == 0);
}

TEST_CASE("a page is not returned before all its slots are counted", "[heap]") {
    delayed h(16);
    delayed::cache_type cache;
    h.heap->adopt(cache, cache.capacity);
    std::vector<std::byte*> rows;
    for (std::size_t i = 0; i < 2 * h.per_page(); ++i) rows.push_back(take(*h.heap, cache));
    for (std::byte* row = nullptr; cache.pop(row);) rows.push_back(row);
    std::sort(rows.begin(), rows.end());
    h.locked([&] {
        for (std::byte* row : rows) give(*h.heap, cache, row);
        h.heap->spill(cache, cache.size());
    });
    const std::size_t held = h.heap->pages();
    CHECK(cache.deferred.pending() > 0);
    h.provider.heaps().reclaim(true);
    CHECK(h.heap->pages() >= 1); // the page with the last ones, at least
    CHECK(h.heap->pages() < held);
    CHECK(h.heap->usage().live_rows == 0);
    CHECK(h.heap->valid());
    h.heap->leave(cache); // tells the rest
    h.provider.heaps().reclaim(true);
    CHECK(h.heap->pages() == 0);
}

TEST_CASE("a cache that releases page after page holds back few of them", "[heap]") {
    delayed h(16, 4_MiB);
    delayed::cache_type cache;
    h.heap->adopt(cache, cache.capacity);
    std::vector<std::byte*> rows;
    for (std::size_t i = 0; i < 60 * h.per_page(); ++i) rows.push_back(take(*h.heap, cache));
    std::sort(rows.begin(), rows.end());
    h.locked([&] {
        for (std::byte* row : rows) give(*h.heap, cache, row);
    });
    h.provider.heaps().reclaim(true);
    CHECK(h.heap->pages() <= 3);
    h.heap->leave(cache);
}

TEST_CASE("pages that are dropped are forgotten by the tallies of the shared caches", "[heap]") {
    delayed h(16);
    auto other = h.make(400);
    for (int round = 0; round < 3; ++round) {
        std::vector<std::byte*> rows;
        for (int i = 0; i < 2000; ++i) rows.push_back(h.pop());
        h.locked([&] { // else they would be counted at once
            for (int i = 0; i < 70; ++i) h.heap->push(rows[static_cast<std::size_t>(i * 20)]);
        });
        CHECK(h.heap->drop_pages() > 0);
        CHECK(h.heap->usage().cached_rows == 0);
        std::byte* const row = h.pop_of(*other); // in a page that was dropped
        h.begin(*other, row);
        std::memset(row, 0x5a, 400);
        h.provider.heaps().reclaim(true);
        CHECK(other->valid());
        CHECK(h.heap->valid());
        other->push(row);
        other->drop_pages();
    }
}

TEST_CASE("threads that release into the same pages lose no slot", "[heap][threads]") {
    delayed h(16, 1_MiB);
    for (int round = 0; round < (ALLOT_TSAN ? 3 : 20); ++round) {
        std::vector<std::byte*> rows;
        while (std::byte* const row = h.pop()) rows.push_back(row);
        std::vector<std::thread> all;
        for (std::size_t t = 0; t < 3; ++t)
            all.emplace_back([&, t] {
                delayed::cache_type cache;
                h.heap->adopt(cache, cache.capacity);
                for (std::size_t i = t; i < rows.size(); i += 3) {
                    give(*h.heap, cache, rows[i]);
                    if (i % 7 != 0) continue;
                    if (std::byte* const row = take(*h.heap, cache)) give(*h.heap, cache, row);
                }
                h.heap->leave(cache);
            });
        for (auto& thread : all) thread.join();
        CHECK(h.heap->usage().live_rows == 0);
        CHECK(h.heap->valid());
        h.provider.heaps().reclaim(true);
        CHECK(h.ledger.used() == 0);
    }
}
