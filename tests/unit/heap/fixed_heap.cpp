// A heap of slots by itself: batches, caches, pages that come and go, and the limit they share.
#include <support/catch.hpp>
#include <support/one_heap.hpp>

#include <allot/slots/bitmap.hpp>
#include <allot/slots/delay_release.hpp>
#include <allot/slots/linked.hpp>
#include <allot/slots/scanning.hpp>

#include <cstring>
#include <set>
#include <tuple>
#include <vector>

namespace {

using policies =
    std::tuple<allot::slots::linked, allot::slots::bitmap, allot::slots::scanning, allot::slots::delay_release>;

} // namespace

TEMPLATE_LIST_TEST_CASE("a heap hands out each slot once and takes no more pages than it needs", "[heap]", policies) {
    one_heap<TestType> h(100);
    std::set<std::byte*> all;
    const std::size_t n = h.per_page() * 3;
    for (std::size_t i = 0; i < n; ++i) {
        std::byte* const p = h.pop();
        REQUIRE(p != nullptr);
        h.begin(*h.heap, p);
        std::memset(p, 1, 100);
        all.insert(p);
    }
    CHECK(all.size() == n);
    CHECK(h.heap->pages() == 3);
    CHECK(h.heap->usage().live_rows == n);
    CHECK(h.heap->valid());
    for (std::byte* p : all) h.heap->push(p);
    CHECK(h.heap->usage().live_rows == 0);
    CHECK(h.heap->valid());
    CHECK(h.ledger.used() == 3 * 64_KiB);
    h.provider.heaps().reclaim(true);
    CHECK(h.ledger.used() == 0);
    CHECK(h.ledger.peak() == 3 * 64_KiB);
}

TEMPLATE_LIST_TEST_CASE("unforced, one empty page stays with its heap", "[heap]", policies) {
    one_heap<TestType> h(1000);
    std::vector<std::byte*> all;
    for (std::size_t i = 0; i < h.per_page() * 5; ++i) all.push_back(h.pop());
    CHECK(h.heap->pages() == 5);
    for (std::byte* p : all) h.heap->push(p);
    for (int i = 0; i < 3; ++i) h.provider.heaps().collect();
    CHECK(h.heap->pages() >= 1);
    CHECK(h.heap->pages() <= 3); // what a shared cache holds in its stack and in its group keeps pages, too
    CHECK(h.provider.heaps().reclaim(true) >= 1);
    CHECK(h.heap->pages() == 0);
}

TEMPLATE_LIST_TEST_CASE("a request returns the empty pages of other heaps before it fails", "[heap]", policies) {
    one_heap<TestType> h(500, 256_KiB);
    auto other = h.make(3000);
    std::vector<std::byte*> all;
    while (std::byte* const p = h.pop()) all.push_back(p);
    CHECK(h.ledger.used() == 256_KiB);
    CHECK(all.size() == 4 * h.per_page());
    CHECK(h.pop_of(*other) == nullptr);
    for (std::byte* p : all) h.heap->push(p);
    all.clear();
    while (std::byte* const p = h.pop_of(*other)) all.push_back(p);
    CHECK(all.size() == 4 * other->cut().capacity);
    CHECK(h.heap->pages() == 0);
    for (std::byte* p : all) other->push(p);
    other->drop_pages();
}

TEMPLATE_LIST_TEST_CASE("at the limit every single free slot is found", "[heap]", policies) {
    one_heap<TestType> h(200, 256_KiB);
    std::vector<std::byte*> all;
    while (std::byte* const p = h.pop()) all.push_back(p);
    for (std::size_t i = 0; i < all.size(); i += 97) h.heap->push(all[i]); // far below a page's threshold
    for (std::size_t i = 0; i < all.size(); i += 97) {
        all[i] = h.pop();
        REQUIRE(all[i] != nullptr);
    }
    CHECK(h.pop() == nullptr);
    CHECK(std::set<std::byte*>(all.begin(), all.end()).size() == all.size());
    for (std::byte* p : all) h.heap->push(p);
}

TEMPLATE_LIST_TEST_CASE("a cache joins, works in batches and leaves without a trace", "[heap]", policies) {
    one_heap<TestType> h(64);
    {
        typename one_heap<TestType>::cache_type cache;
        h.heap->adopt(cache, cache.capacity);
        CHECK(h.heap->users() == 1);
        CHECK(cache.limit == 2 * cache.batch);
        std::byte* p = h.refill(cache);
        REQUIRE(p != nullptr);
        CHECK(cache.size() >= cache.batch - 1);
        CHECK(h.heap->usage().cached_rows == cache.count());
        CHECK(h.heap->usage().live_rows == 1);
        std::vector<std::byte*> out{p};
        while (cache.pop(p)) out.push_back(p);
        for (std::size_t i = 1; i < out.size(); ++i) CHECK(out[i] > out[i - 1]); // in the order of addresses
        for (std::byte* row : out) CHECK(cache.push(row));
        REQUIRE((cache.pop(p) && p == out.back())); // the last one released first
        cache.push(out.back());
        while (cache.size() < cache.limit) cache.push(h.pop());
        CHECK_FALSE(cache.push(out[0]));
        h.heap->spill(cache, cache.batch);
        CHECK(cache.size() == cache.limit - cache.batch);
        h.heap->leave(cache);
        CHECK(cache.size() == 0);
    }
    CHECK(h.heap->users() == 0);
    h.provider.heaps().reclaim(true);
    CHECK(h.heap->pages() == 0);
    CHECK(h.heap->valid());
}

TEMPLATE_LIST_TEST_CASE("large rows are not hoarded: caches hold half of a page of 64 KiB", "[heap]", policies) {
    for (const auto& [bytes, batch] : {std::pair{5000, 3U}, {10000, 1U}, {30000, 1U}, {1000, 16U}, {300, 32U}}) {
        one_heap<TestType> h(static_cast<std::size_t>(bytes));
        typename one_heap<TestType>::cache_type cache;
        h.heap->adopt(cache, cache.capacity);
        CHECK(cache.batch == batch);
        CHECK(cache.limit == 2 * batch);
        h.heap->leave(cache);
    }
}

TEMPLATE_LIST_TEST_CASE("an orphan keeps nothing, and serves again once it is empty", "[heap]", policies) {
    one_heap<TestType> h(300);
    std::byte* const p = h.pop();
    std::byte* const q = h.pop();
    CHECK_FALSE(h.heap->is_idle());
    h.heap->set_abandoned(true);
    h.heap->reclaim(true);
    CHECK_FALSE(h.heap->is_idle());
    h.heap->push(p);
    h.heap->push(q);
    h.provider.heaps().collect();
    CHECK(h.heap->pages() == 0);
    CHECK(h.heap->is_idle());
    h.heap->set_abandoned(false);
    CHECK_FALSE(h.heap->is_idle()); // it has an owner now
    h.heap->push(h.pop());
}

TEST_CASE("a row that fits no page has no heap", "[heap]") {
    allot::detail::heap_config plan;
    plan.row_bytes = 70000;
    CHECK(allot::detail::fixed_heap<allot::slots::linked>::rows_per_page(plan, 65536) == 0);
    plan.row_bytes = 60000;
    CHECK(allot::detail::fixed_heap<allot::slots::linked>::rows_per_page(plan, 65536) == 1);
}
