// Slots that move between caches and pages as words of bits: in order, in part, at a page's end, and in no order.
#include <support/catch.hpp>
#include <support/one_heap.hpp>

#include <allot/slots/bitmap.hpp>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace {

using heap_of_bits = one_heap<allot::slots::bitmap>;
using cache_type = heap_of_bits::cache_type;

struct used_heap : heap_of_bits {
    cache_type cache;
    explicit used_heap(std::size_t row_bytes) : heap_of_bits(row_bytes) { heap->adopt(cache, cache.capacity); }
    ~used_heap() { heap->leave(cache); }

    std::byte* take() {
        std::byte* row = nullptr;
        return cache.pop(row) ? row : refill(cache);
    }
    void give(std::byte* row) {
        if (!cache.push(row) && !cache.push_to_group(row)) heap->push_apart(cache, row);
    }
    std::vector<std::byte*> take(std::size_t n) {
        std::vector<std::byte*> rows(n);
        for (std::byte*& row : rows) REQUIRE((row = take()) != nullptr);
        return rows;
    }
    // Every slot is a row's or free, once.
    void check(std::size_t live) {
        CHECK(heap->usage().live_rows == live);
        CHECK(heap->valid());
    }
};

} // namespace

TEST_CASE("slots of any size come and go in every order, over page ends", "[heap]") {
    for (const std::size_t bytes : std::initializer_list<std::size_t>{8, 16, 24, 64, 100, 600, 3000, 9000}) {
        for (const int order : {0, 1, 2}) {
            used_heap h(bytes);
            const std::size_t n = std::min<std::size_t>(h.per_page() * 3, 5000);
            for (int round = 0; round != 3; ++round) {
                std::vector<std::byte*> rows = h.take(n);
                CHECK(std::set<std::byte*>(rows.begin(), rows.end()).size() == n);
                h.check(n);
                if (order == 1) std::reverse(rows.begin(), rows.end());
                if (order == 2) std::shuffle(rows.begin(), rows.end(), std::mt19937(5));
                for (std::size_t i = 0; i != n; ++i) {
                    h.give(rows[i]);
                    if (i % 997 == 0) h.check(n - i - 1);
                }
                h.check(0);
            }
            h.heap->flush(h.cache);
            CHECK(h.cache.count() == 0);
            h.provider.heaps().reclaim(true);
            CHECK(h.heap->pages() == 0);
        }
    }
}

TEST_CASE("released in order of addresses, slots pass in whole groups", "[heap]") {
    used_heap h(64);
    REQUIRE(h.cache.group_slots == 64);
    const std::vector<std::byte*> rows = h.take(512);
    for (std::size_t i = 1; i != rows.size(); ++i) CHECK(rows[i] == rows[i - 1] + (rows[1] - rows[0]));
    for (std::byte* row : rows) h.give(row);
    CHECK(h.cache.count() >= 64); // the stack, and what the last group has
    CHECK(h.cache.count() <= 128);
    const std::vector<std::byte*> again = h.take(512);
    CHECK(std::set<std::byte*>(again.begin(), again.end()) == std::set<std::byte*>(rows.begin(), rows.end()));
    h.check(512);
    for (std::byte* row : again) h.give(row);
}

TEST_CASE("a group of which few slots are free is taken slot by slot, and together with others", "[heap]") {
    used_heap h(64);
    std::vector<std::byte*> rows = h.take(64 * 40);
    h.heap->flush(h.cache);
    std::vector<std::byte*> freed;
    for (std::size_t i = 0; i < rows.size(); i += 32) freed.push_back(rows[i]); // two of each group
    for (std::byte* row : freed) h.heap->push(row);
    h.heap->reclaim(true); // empties the shared caches
    std::vector<std::byte*> fresh;
    while (h.heap->pages() == 3 || fresh.size() < 2 * h.per_page()) { // until the untouched slots are used up
        fresh.push_back(h.take());
        if (std::find(freed.begin(), freed.end(), fresh.back()) != freed.end()) break;
    }
    std::byte* next = h.take();
    CHECK(std::find(freed.begin(), freed.end(), next) != freed.end());
    CHECK(h.cache.size() > 16); // a batch of them, of many groups
    h.give(next);
    for (std::byte* row : fresh) h.give(row);
    for (std::byte* row : rows)
        if (std::find(freed.begin(), freed.end(), row) == freed.end()) h.give(row);
    h.check(0);
}

TEST_CASE("while another thread holds the lock, groups are freed without it", "[heap]") {
    used_heap h(64);
    const std::vector<std::byte*> rows = h.take(1000);
    h.locked([&] {
        for (std::byte* row : rows) h.give(row);
    });
    h.check(0);
    const std::vector<std::byte*> again = h.take(1000);
    CHECK(std::set<std::byte*>(again.begin(), again.end()).size() == 1000);
    for (std::byte* row : again) h.give(row);
    h.check(0);
}

TEST_CASE("a heap that is cut anew has no group of its former slots", "[heap]") {
    used_heap h(40);
    const std::vector<std::byte*> rows = h.take(h.per_page());
    for (std::size_t i = rows.size(); i-- != 0;) h.give(rows[i]); // the last group is at the page's start
    h.heap->leave(h.cache);
    h.heap->reclaim(true);
    REQUIRE(h.heap->pages() == 0);
    auto plan = h.heap->config();
    plan.row_bytes = 1000;
    REQUIRE(h.heap->configure(plan));
    h.heap->adopt(h.cache, h.cache.capacity);
    std::size_t in_group = 0;
    std::vector<std::byte*> others(h.per_page());
    for (auto& row : others) row = h.pop(); // by another cache
    for (std::byte* row : others) in_group += h.cache.push_to_group(row);
    for (std::byte* row : others) h.heap->push(row);
    CHECK(in_group == 0);
    h.check(0);
}

namespace {

// The entry of a cache that others keep its user out of: at the k-th time where bit k is set, and never from the 6th
// on.
struct kept_out {
    unsigned times;
    bool enter() noexcept { return (std::exchange(times, times / 2) & 1) == 0; }
    void leave() noexcept {}
};

} // namespace

TEST_CASE("a user who is kept out of a cache with slots and then let in loses none", "[heap]") {
    for (const std::size_t cached : {0u, 1u, 34u, 64u, 65u, 100u})
        for (const bool are_freed : {false, true})
            for (unsigned times = 0; times != 64; ++times) {
                used_heap h(64);
                std::vector<std::byte*> rows = h.take(700);
                if (are_freed) // the pages have freed slots
                    for (int i = 0; i != 300; ++i) h.heap->push(rows.back()), rows.pop_back();
                h.heap->reclaim(true);
                h.heap->flush(h.cache);
                for (std::size_t i = 0; i != cached; ++i) h.give(rows.back()), rows.pop_back();
                h.check(rows.size());
                kept_out entry{times};
                std::byte* const row = h.request([&](auto& asked) { return h.heap->refill(h.cache, entry, asked); });
                REQUIRE(row != nullptr);
                CHECK(std::find(rows.begin(), rows.end(), row) == rows.end());
                rows.push_back(row);
                h.check(rows.size());
                for (std::byte* const each : rows) h.give(each);
                h.check(0);
            }
}
