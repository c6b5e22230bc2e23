#include <support/catch.hpp>
#include <support/in_use.hpp>
#include <support/row_sets.hpp>

#include <optional>
#include <vector>

using namespace allot::literals;

TEST_CASE("packed unique rows of 64 bytes cost at most 68.3", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{256_MiB}, allot::page_bytes{1_MiB}};
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::size::packed, allot::guard::none>, 64);
    std::vector<void*> all;
    for (int i = 0; i < 1000000; ++i) all.push_back(heap.allocate());
    CHECK(heap.usage().slot_bytes == 68);
    CHECK(static_cast<double>(rows.used()) / 1e6 <= 68.3 + 1.05); // a last page that is not full
    CHECK(static_cast<double>(heap.usage().pages - 1) * 1048576 / 1e6 <= 68.3);
    for (void* p : all) heap.release(p);
    CHECK(heap.live_rows() == 0);
}

TEST_CASE("release_all destroys the finalized rows and returns the pages and their charge", "[row_heap]") {
    counted_row::alive = 0;
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    auto heap = rows.heap(allot::as<allot::heap::unique>, sizeof(counted_row), allot::row_type_of<counted_row>);
    for (int round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < 10000; ++i) static_cast<void>(heap.make<counted_row>(i).detach());
        for (int i = 0; i < 100; ++i) static_cast<void>(heap.allocate());
        CHECK(counted_row::alive == 10000);
        CHECK(heap.live_rows() == 10100);
        CHECK(rows.used() > 0);
        CHECK(heap.release_all() > 0);
        CHECK(counted_row::alive == 0);
        CHECK(heap.live_rows() == 0);
        CHECK(support::in_use(rows) == 0);
    }
}

TEST_CASE("rows outlive the handle of their unique heap, and its pages go with the last", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    std::vector<void*> left;
    {
        auto heap = rows.heap(allot::as<allot::heap::unique>, 100);
        for (int i = 0; i < 5000; ++i) left.push_back(heap.allocate());
    }
    CHECK(rows.live_rows() == 5000);
    for (void* p : left) rows.release(p);
    CHECK(rows.live_rows() == 0);
    rows.release(rows.allocate(8)); // a page request collects what became empty
    CHECK(support::in_use(rows) == rows.arena().stats().taken);
    CHECK(support::in_use(rows) <= 128_KiB);
    allot::release(nullptr);
    std::size_t heaps = 0;
    rows.usage([&](const allot::heap_usage&) { ++heaps; });
    CHECK(heaps == 1);
}

TEST_CASE("unique heaps made and dropped many times leave nothing behind", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    const allot::row_type type{"passing"};
    const void* first = nullptr;
    for (int i = 0; i < 2000; ++i) {
        auto heap = rows.heap(allot::as<allot::heap::unique>, 48, type);
        if (i == 0) first = &heap.heap();
        CHECK(&heap.heap() == first);
        heap.release(heap.allocate());
    }
    rows.trim();
    CHECK(rows.used() == 0);
}

TEST_CASE("a local handle allocates and releases rows that others may also release", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{32_MiB}};
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::slots::linked>, 48);
    std::vector<void*> all;
    {
        auto local = heap.local();
        for (int i = 0; i < 1000; ++i) all.push_back(local.allocate());
        for (int i = 0; i < 300; ++i) {
            local.release(all.back());
            all.pop_back();
        }
        for (int i = 0; i < 300; ++i) {
            allot::release(all.back());
            all.pop_back();
        }
        void* const other = rows.allocate(48);
        local.link(other);
        local.release(other);
        local.release(other);
        CHECK(heap.live_rows() == all.size());
    }
    CHECK(heap.live_rows() == all.size());
    for (void* p : all) rows.release(p);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("a local handle puts a row of another heap back into that heap", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    auto orders = rows.heap(allot::as<allot::heap::unique>, 48);
    auto items = rows.heap(allot::as<allot::heap::unique>, 48);
    auto local = orders.local();
    void* const own = local.allocate();
    void* const other = items.allocate();
    local.release(other);
    CHECK(items.live_rows() == 0);
    CHECK(orders.live_rows() == 1);
    void* const next = local.allocate();
    CHECK(next != other);
    local.release(next);
    local.release(own);
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("heaps of one size are shared, packed ones by type", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    const allot::row_type a{"a"}, b{"b"};
    auto one = rows.heap(40, a);
    auto two = rows.heap(40, b);
    CHECK(&one.heap() == &two.heap());
    auto three = rows.heap(allot::as<allot::size::packed>, 40, a);
    auto four = rows.heap(allot::as<allot::size::packed>, 40, a);
    auto five = rows.heap(allot::as<allot::size::packed>, 40, b);
    CHECK(&three.heap() == &four.heap());
    CHECK(&three.heap() != &five.heap());
    auto six = rows.heap(allot::as<allot::heap::unique>, 40, a);
    auto seven = rows.heap(allot::as<allot::heap::unique>, 40, a);
    CHECK(&six.heap() != &seven.heap());
}

TEST_CASE("rows.local() serves every size and gives its slots back", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{32_MiB}};
    {
        auto local = rows.local();
        std::vector<void*> all;
        for (std::size_t i = 0; i < 5000; ++i) all.push_back(local.allocate(i % 700));
        all.push_back(local.allocate(3_MiB));
        CHECK(rows.live_rows() == all.size());
        for (void* p : all) local.release(p);
        CHECK(rows.live_rows() == 0);
    }
    rows.trim();
    CHECK(rows.used() == 0);
}

TEST_CASE("a handle that is given a row's bytes puts it where they say, and is not misled by wrong ones",
          "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{32_MiB}};
    auto fixed = rows.heap(allot::as<allot::heap::unique>, 100);
    {
        auto local = rows.local();
        void* const first = local.allocate(100);
        local.release(first, 100);
        CHECK(local.allocate(100) == first);
        local.release(first, 2000); // wrong: found by its page
        CHECK(local.allocate(100) == first);
        local.release(first, SIZE_MAX);
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{700}, 600_KiB, 3_MiB}) {
            void* const row = local.allocate(bytes);
            local.release(row, bytes);
            local.release(fixed.allocate(), bytes); // of another heap
            local.release(&rows, bytes);            // of none
        }
        CHECK(rows.live_rows() == 0);
        rows.release(local.allocate(64), 64);
        CHECK(rows.live_rows() == 0);
    }
    rows.trim();
    CHECK(rows.used() == 0);
    CHECK(rows.valid());
}

TEST_CASE("a blocked handle takes slots in batches and gives them back", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    const allot::row_type type{"blocked"};
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::refill::blocked<16>>, 48, type);
    void* const p = heap.allocate();
    CHECK(heap.usage().cached_rows == 15);
    CHECK(heap.live_rows() == 1);
    auto moved = std::move(heap);
    moved.release(p);
    CHECK(moved.live_rows() == 0);
    for (int i = 0; i < 500; ++i) static_cast<void>(moved.allocate());
    CHECK(moved.live_rows() == 500);
    CHECK(moved.release_all() > 0);
    CHECK(support::in_use(rows) == 0);
    moved.release(moved.allocate());
}

TEST_CASE("handles of one thread make typed rows", "[row_heap]") {
    counted_row::alive = 0;
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    auto heap = rows.heap(allot::as<allot::heap::unique>, sizeof(counted_row), allot::row_type_of<counted_row>);
    {
        auto of_heap = heap.local();
        auto of_all = rows.local();
        auto a = of_heap.make<counted_row>(1u);
        auto b = of_all.make<counted_row>(2u);
        CHECK(a->value + b->value == 3);
        CHECK(counted_row::alive == 2);
    }
    CHECK(counted_row::alive == 0);
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("a handle that is assigned to itself keeps its heap", "[row_heap]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    const auto keeps = [&](auto heap) {
        auto& same = heap;
        void* const row = heap.allocate();
        heap = std::move(same);
        CHECK(heap.live_rows() == 1);
        heap.release(row);
        heap.release(heap.allocate());
    };
    keeps(rows.heap(allot::as<>, 48));
    keeps(rows.heap(allot::as<allot::heap::unique>, 48));
    keeps(rows.heap(allot::as<allot::heap::unique, allot::refill::blocked<16>>, 48));
}

TEST_CASE("flush() of a heap's local handle returns its slots", "[row_heap]") {
    const auto returns = [](auto set) {
        allot::row_manager<decltype(set)> rows{allot::limit{8_MiB}};
        auto heap = rows.heap(allot::as<allot::heap::unique>, 48);
        auto local = heap.local();
        local.release(local.allocate());
        CHECK(heap.usage().cached_rows > 0);
        local.flush();
        CHECK(heap.usage().cached_rows == 0);
        rows.trim();
        CHECK(rows.used() == 0);
        local.release(local.allocate()); // it goes on
        CHECK(rows.live_rows() == 0);
    };
    returns(sets::plain{});
    returns(sets::delayed{});
}
