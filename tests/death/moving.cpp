// Rows that move, in checked builds: what aborts, and names itself, and what must not.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>
#include <support/row_sets.hpp>

#include <allot/row/row_array.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdint>

using namespace allot::literals;

namespace {

struct fixture {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}, allot::name{"orders"}, allot::page_bytes{64_KiB}};
    allot::row_manager<sets::plain> others{allot::limit{8_MiB}};
};

} // namespace

TEST_CASE("a resize of what is no row of the manager is told", "[death]") {
    dies_telling<fixture>([](fixture& f) { f.rows.try_resize(nullptr, 0, 10); }, {"sets::plain", "orders"});
    dies_telling<fixture>([](fixture& f) { f.rows.try_resize(f.others.allocate(10), 0, 10); }, {"orders"});
    dies_telling<fixture>(
        [](fixture& f) {
            void* const row = f.rows.allocate(10);
            f.rows.release(row);
            f.rows.try_resize(row, 0, 1000);
        },
        {"orders"});
    dies_telling<fixture>([](fixture& f) { f.rows.try_resize(f.rows.allocate(10), 0, SIZE_MAX); }, {"orders"});
}

TEST_CASE("an array that grows under a view of its writer is told", "[death]") {
    dies_telling<fixture>(
        [](fixture& f) {
            allot::row_array<sets::plain> array{f.rows};
            const auto alone = array.lock();
            array.push_back(f.rows.allocate(10));
        },
        {"in a view that lives"});
}

TEST_CASE("addresses that are no rows are ignored in the span of a compaction", "[death]") {
    allot::row_manager<sets::plain> rows{allot::page_bytes{64_KiB}};
    auto* const huge = static_cast<std::byte*>(rows.allocate(300'000));
    void* const dead = rows.allocate(100);
    rows.release(dead);
    rows.release_empty_pages();
    void* span[] = {dead, huge + 8, huge + 200'000, huge};
    const allot::compaction done = rows.compact(span);
    CHECK(done.ignored == 3);
    CHECK(done.pinned == 1);
    rows.release(huge);
}
