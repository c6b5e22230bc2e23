// Slots given back under the heap's lock: counted by plain operations, told to the page's state word late, and never
// so late that a page is forgotten.
#include <support/one_heap.hpp>

#include <allot/slots/bitmap.hpp>
#include <allot/slots/linked.hpp>
#include <allot/slots/scanning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace {

using policies = std::tuple<allot::slots::bitmap, allot::slots::linked, allot::slots::scanning>;

template <class Slots> struct held_heap : one_heap<Slots> {
    using base = one_heap<Slots>;
    using page = typename base::heap_type::page;

    typename base::cache_type cache;

    explicit held_heap(std::size_t row_bytes, std::size_t limit = 4_MiB) : base(row_bytes, limit) {
        this->heap->adopt(cache, cache.capacity);
    }
    ~held_heap() { this->heap->leave(cache); }

    std::vector<std::byte*> take(std::size_t n) {
        std::vector<std::byte*> rows(n);
        for (std::byte*& row : rows)
            if (!cache.pop(row)) REQUIRE((row = this->refill(cache)) != nullptr);
        return rows;
    }
    // Through the cache, so under the heap's lock, if that is free; nothing stays in it.
    void give(const std::vector<std::byte*>& rows) {
        for (std::byte* row : rows) {
            if (cache.push(row)) continue;
            this->heap->spill(cache, cache.batch);
            cache.push(row);
        }
        this->heap->spill(cache, cache.size());
    }
    page& page_of_row(std::byte* row) {
        return *reinterpret_cast<page*>(allot::detail::page_of(row, this->arena.page_mask()));
    }
};

} // namespace

TEMPLATE_LIST_TEST_CASE("held counts: a heap of one thread leaves the state word alone", "[heap]", policies) {
    held_heap<TestType> h(64);
    auto rows = h.take(h.per_page());
    auto& page = h.page_of_row(rows[0]);
    const std::vector<std::byte*> some(rows.begin(), rows.begin() + 20);
    h.give(some);
    CHECK(page.locked_frees.slots == 20);
    CHECK(page.state.freed() == 0);
    CHECK(page.freed() == 20);
    CHECK(h.heap->usage().live_rows == rows.size() - 20);
    CHECK(h.heap->valid());
    const auto again = h.take(20); // of them, for there are no others
    CHECK(h.heap->pages() == 1);
    CHECK(page.locked_frees.slots == 0);
    CHECK(std::is_permutation(again.begin(), again.end(), some.begin(), some.end()));
    h.give(rows);
}

TEMPLATE_LIST_TEST_CASE("held counts: an empty page is reported at once", "[heap]", policies) {
    held_heap<TestType> h(64);
    const auto rows = h.take(3 * h.per_page());
    REQUIRE(h.heap->pages() == 3);
    h.give(rows);
    CHECK(h.heap->usage().live_rows == 0);
    h.provider.heaps().collect();
    CHECK(h.heap->pages() == 1); // one is kept
    CHECK(h.heap->valid());
}

TEMPLATE_LIST_TEST_CASE("held counts: with slots that came back without the lock, a page is empty and found", "[heap]",
                        policies) {
    held_heap<TestType> h(64);
    const auto rows = h.take(h.per_page());
    h.give({rows.begin(), rows.end() - 1}); // one slot short of what would be told
    auto& page = h.page_of_row(rows[0]);
    REQUIRE(page.locked_frees.slots == rows.size() - 1);
    h.heap->set_abandoned(true); // slots go straight to their page now, without the lock
    h.heap->push(rows.back());
    CHECK_FALSE(page.state.is_noted()); // nobody could see that it is empty
    h.provider.heaps().collect();
    CHECK(h.heap->pages() == 0);
}

TEMPLATE_LIST_TEST_CASE("held counts: a full heap finds what was not reported to it", "[heap]", policies) {
    held_heap<TestType> h(600, 10_MiB);
    const std::size_t most = allot::detail::pages_with_locked_frees<typename held_heap<TestType>::page>::capacity;
    const auto rows = h.take((most + 8) * h.per_page()); // more pages than may owe
    std::vector<std::byte*> given, kept;
    for (std::size_t i = 0; i < rows.size(); ++i) (i % (h.per_page() / 2) == 0 ? given : kept).push_back(rows[i]);
    h.give(given);
    CHECK(h.heap->usage().live_rows == kept.size());
    CHECK(h.heap->valid());
    std::size_t owing = 0;
    for (std::size_t i = 0; i < rows.size(); i += h.per_page()) owing += h.page_of_row(rows[i]).locked_frees.slots != 0;
    CHECK(owing == most);
    // So few of each page that none is listed: only at the limit are they looked for.
    const std::size_t room = h.ledger.limit() / h.provider.page_bytes();
    const auto more = h.take((room - h.heap->pages()) * h.per_page() + given.size());
    CHECK(h.heap->pages() == room);
    CHECK(h.heap->usage().live_rows == kept.size() + more.size());
    h.give(more);
    h.give(kept);
    CHECK(h.heap->usage().live_rows == 0);
}

TEMPLATE_LIST_TEST_CASE(
    "held counts: slots of which each count is too low to be reported are used before another page is taken", "[heap]",
    policies) {
    held_heap<TestType> h(64);
    const auto rows = h.take(h.per_page());
    h.take(1);
    REQUIRE(h.heap->pages() == 2);
    h.heap->flush(h.cache);
    auto& first = h.page_of_row(rows[0]);
    const std::size_t each = first.threshold - 8;
    h.give({rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(each)});
    h.locked([&] { h.give({rows.begin() + 100, rows.begin() + 100 + static_cast<std::ptrdiff_t>(each)}); });
    REQUIRE(first.locked_frees.slots == each);
    REQUIRE(first.state.freed() == static_cast<std::int64_t>(each));
    CHECK_FALSE(first.state.is_listed());
    h.take(h.per_page() - 1 + each);
    CHECK(h.heap->pages() == 2);
    CHECK(h.ledger.peak() == 2 * h.provider.page_bytes()); // nor was one taken and given back
}

TEMPLATE_LIST_TEST_CASE("held counts: a page that was used up is listed again at its threshold", "[heap]", policies) {
    held_heap<TestType> h(64);
    const auto rows = h.take(h.per_page());
    auto& page = h.page_of_row(rows[0]);
    const auto of_page = [&](std::size_t from, std::size_t to) {
        return std::vector<std::byte*>(rows.begin() + static_cast<std::ptrdiff_t>(from),
                                       rows.begin() + static_cast<std::ptrdiff_t>(to));
    };
    h.give(of_page(0, 100));
    REQUIRE(page.state.is_listed());
    h.give(h.take(1)); // its next check is that it is empty
    h.take(100 + h.per_page());
    REQUIRE(h.heap->pages() == 2);
    CHECK_FALSE(page.state.is_listed());
    h.give(of_page(100, 200));
    CHECK(page.state.is_listed());
    h.take(100);
    CHECK(h.heap->pages() == 2);
}

TEMPLATE_LIST_TEST_CASE("held counts: releases in random order over very many pages count at once, and displace few",
                        "[heap]", policies) {
    held_heap<TestType> h(600, 16_MiB);
    const std::size_t most = allot::detail::pages_with_locked_frees<typename held_heap<TestType>::page>::capacity;
    const std::size_t pages = 2 * most - 56;
    const auto rows = h.take(pages * h.per_page());
    std::vector<std::byte*> one_of_each;
    for (std::size_t i = 0; i < rows.size(); i += h.per_page()) one_of_each.push_back(rows[i]);
    h.give(one_of_each);
    std::size_t first_still_owing = 0, counted = 0;
    for (std::size_t i = 0; i < pages; ++i) {
        auto& page = h.page_of_row(one_of_each[i]);
        CHECK(page.freed() == 1);
        first_still_owing += i < most && page.locked_frees.slots == 1;
        counted += page.state.freed() == 1;
    }
    CHECK(counted == pages - most);
    CHECK(first_still_owing == most - (pages - most) / 8);
    CHECK(h.heap->valid());
    std::vector<std::byte*> others;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (i % h.per_page() != 0) others.push_back(rows[i]);
    h.give(others);
    CHECK(h.heap->usage().live_rows == 0);
    h.provider.heaps().collect();
    CHECK(h.heap->pages() == 1);
}
