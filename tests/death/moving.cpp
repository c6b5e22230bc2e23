// Rows that move, in checked builds: what aborts, and names itself, and what must not.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>
#include <support/row_sets.hpp>

#include <allot/page/arena.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row/moving/row_compactor.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdint>

using namespace allot::literals;

namespace {

struct tenant : allot::policies<allot::page::of<allot::arena<>>> {};

struct fixture {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}, allot::name{"orders"}, allot::page_bytes{64_KiB}};
    allot::row_manager<sets::plain> others{allot::limit{8_MiB}};
};

} // namespace

TEST_CASE("a resize of what is no row of the manager is reported", "[death]") {
    dies_telling<fixture>([](fixture& f) { f.rows.try_resize(nullptr, 0, 10); }, {"sets::plain", "orders"});
    dies_telling<fixture>([](fixture& f) { f.rows.try_resize(f.others.allocate(10), 0, 10); }, {"orders"});
    dies_telling<fixture>(
        [](fixture& f) {
            void* const row = f.rows.allocate(10);
            f.rows.release(row);
            f.rows.try_resize(row, 0, 1000);
        },
        {"used after its last release", "orders", "heap rows", "row type row"});
    dies_telling<fixture>([](fixture& f) { f.rows.try_resize(f.rows.allocate(10), 0, SIZE_MAX); }, {"orders"});
    struct uncounted {
        allot::row_manager<sets::uncounted> rows{allot::name{"orders"}};
    };
    dies_telling<uncounted>(
        [](uncounted& u) { u.rows.try_resize(static_cast<std::byte*>(u.rows.allocate(100)) + 8, 0, 1000); },
        {"inside of a row", "sets::uncounted"});
    dies_telling<uncounted>( // its slot is in its page
        [](uncounted& u) {
            void *const row = u.rows.allocate(100), *const other = u.rows.allocate(100);
            u.rows.release(row);
            u.rows.release_empty_pages(); // not that of the other
            u.rows.resize(other, 0, 10);
            u.rows.try_resize(row, 0, 1000);
        },
        {"used after its last release", "orders"});
    dies_telling<uncounted>( // in a cache of the thread, or of a handle
        [](uncounted& u) {
            for (int i = 0; i != 64; ++i) u.rows.release(u.rows.allocate(100));
            void* const row = u.rows.allocate(100);
            u.rows.release(row);
            u.rows.try_resize(row, 0, 10);
        },
        {"used after its last release", "sets::uncounted", "orders"});
    dies_telling<uncounted>(
        [](uncounted& u) {
            void* const row = u.rows.allocate(100);
            auto local = u.rows.local();
            local.release(row);
            u.rows.try_resize(row, 0, 1000);
        },
        {"used after its last release", "sets::uncounted", "orders"});
}

TEST_CASE("a resize of another manager's row in the same arena is reported", "[death]") {
    struct tenants {
        allot::arena<> pages{allot::limit{8_MiB}};
        allot::row_manager<tenant> rows{pages, allot::name{"orders"}}, others{pages};
    };
    constexpr const char* not_its_own = "not of this object's memory";
    dies_telling<tenants>([](tenants& t) { t.rows.try_resize(t.others.allocate(10), 0, 1000); },
                          {not_its_own, "orders"});
    dies_telling<tenants>([](tenants& t) { t.rows.try_resize(t.others.allocate(300'000), 0, 1); }, {not_its_own});
}

TEST_CASE("an array, or a compactor, that ends before they are parted is reported", "[death]") {
    using packs = allot::row_compactor<sets::plain>;
    dies_telling<fixture>( // the one that does not end here is never destroyed
        [](fixture& f) {
            allot::row_array<sets::plain> array{f.rows};
            (new packs{f.rows})->add(array);
        },
        {"before it is removed", "orders"});
    dies_telling<fixture>([](fixture& f) { packs{f.rows}.add(*new allot::row_array<sets::plain>{f.rows}); },
                          {"before it is removed", "orders"});
}

TEST_CASE("more rows than an array has are reported", "[death]") {
    dies_telling<fixture>(
        [](fixture& f) {
            allot::row_array<sets::plain> array{f.rows};
            array.push_back(f.rows.allocate(10));
            array.lock().take_front(2);
        },
        {"row_array", "orders"});
}

TEST_CASE("an array that grows under a view of its writer is reported", "[death]") {
    dies_telling<fixture>(
        [](fixture& f) {
            allot::row_array<sets::plain> array{f.rows};
            const auto alone = array.lock();
            array.push_back(f.rows.allocate(10));
        },
        {"in a view that lives"});
    dies_telling<fixture>(
        [](fixture& f) {
            allot::row_array<sets::plain> array{f.rows};
            const auto alone = array.lock();
            const auto too = array.read();
        },
        {"in a view that lives"});
}

TEST_CASE("addresses that are no rows are ignored in the span of a compaction", "[death]") {
    allot::row_manager<sets::plain> rows{allot::page_bytes{64_KiB}};
    auto* const huge = static_cast<std::byte*>(rows.allocate(300'000));
    void* const dead = rows.allocate(100);
    rows.release(dead);
    rows.trim();
    void* span[] = {dead, huge + 8, huge + 200'000, huge};
    const allot::compaction done = rows.compact(span);
    CHECK(done.ignored == 3);
    CHECK(done.pinned == 1);
    rows.release(huge);
}
