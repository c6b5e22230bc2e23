// Resize: a row gets another capacity, in place or at another address; how it is published, and refused.
#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/edge_sizes.hpp>
#include <support/filled.hpp>
#include <support/in_use.hpp>
#include <support/row_sets.hpp>

#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::charge_outcome;

namespace {

struct canaries : allot::policies<allot::guard::canary> {};
struct wiped : allot::policies<allot::guard::zero> {};
struct late : allot::policies<allot::guard::quarantine<16>, allot::slots::bitmap> {};
struct in_tree : allot::policies<allot::ledger::tree> {};
struct spilling : allot::policies<allot::ledger::tree, allot::spill::chain> {};
struct tenant : allot::policies<allot::page::of<allot::arena<>>> {};
struct uncounted_canaries : allot::with<tenant, allot::count::none, allot::guard::canary> {};

} // namespace

TEMPLATE_TEST_CASE("a row grows and shrinks, and keeps its bytes", "[row][resize]", sets::plain, sets::linked,
                   sets::scanning, sets::scanning_aside, sets::delayed, sets::packed, sets::uncounted, canaries, wiped,
                   late, in_tree, tenant) {
    allot::arena<> shared;
    auto rows = [&] {
        if constexpr (std::is_same_v<TestType, tenant>) return std::make_unique<allot::row_manager<tenant>>(shared);
        else return std::make_unique<allot::row_manager<TestType>>(allot::limit{64_MiB});
    }();
    void* row = rows->allocate(10);
    std::size_t held = 8;
    fill_row(row, 0, held);
    for (const std::size_t bytes :
         {16u, 100u, 1000u, 5000u, 20'000u, 70'000u, 300'000u, 1'000'000u, 5'000'000u, 900'000u, 30'000u, 3u}) {
        void* const was = row;
        const std::size_t had = rows->capacity(row);
        row = rows->resize(row, held, bytes);
        REQUIRE(row != nullptr);
        const std::size_t has = rows->capacity(row);
        CHECK(has >= bytes);
        if (bytes <= had && has == had) CHECK(row == was);
        held = std::min(held, has);
        CHECK(is_filled(row, held));
        fill_row(row, 0, has);
        held = has;
        CHECK(rows->live_rows() == 1);
        CHECK(rows->valid());
        if constexpr (!std::is_same_v<TestType, sets::uncounted>) CHECK_FALSE(rows->is_shared(row));
    }
    rows->release(row);
    CHECK(rows->live_rows() == 0);
    rows->trim();
    CHECK(rows->stats().charged == 0);
}

TEST_CASE("a row of a size class stays while it can, and never shrinks", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows;
    void* const row = rows.allocate(100);
    const std::size_t capacity = rows.capacity(row);
    for (std::size_t bytes = 0; bytes <= capacity; ++bytes) CHECK(rows.resize(row, 100, bytes) == row);
    void* const moved = rows.resize(row, 100, capacity + 1);
    CHECK(moved != row);
    CHECK(rows.resize(moved, 100, 0) == moved);
    CHECK(rows.capacity(moved) > capacity);
    rows.release(moved);
}

TEMPLATE_TEST_CASE("a small row that moves goes from cache to cache of its thread", "[row][resize]", sets::per_thread,
                   allot::use::containers) {
    allot::row_manager<TestType> rows{allot::limit{8_MiB}};
    for (int i = 0; i != 64; ++i) rows.release(rows.allocate(24)), rows.release(rows.allocate(76));
    void* const small = rows.allocate(24);
    void* const next = rows.allocate(76);
    rows.release(next);
    CHECK(rows.resize(small, 24, 76) == next);
    CHECK(rows.allocate(24) == small);
    rows.release(small);
    rows.release(next);
}

TEST_CASE("a larger row in the caches does not change what a resize refuses, moves and reports", "[row][resize]") {
    static int ended, moved;
    ended = moved = 0;
    constexpr auto end = [](void*) noexcept { ++ended; };
    static constexpr allot::row_type pinned{.name = "pinned", .relocate = &allot::relocate_never},
        owned{.name = "owned", .destroy = end},
        bytes{.name = "bytes", .destroy = end, .relocate = &allot::relocate_bytes},
        object{.name = "object", .destroy = end, .relocate = [](void* to, void* from) noexcept {
                   std::memcpy(to, from, 24);
                   ++moved;
               }};
    damage_log seen;
    allot::row_manager<canaries> rows{allot::limit{8_MiB}, seen.sink()};
    for (const allot::row_type* type : {&allot::untyped, &pinned, &owned, &bytes, &object})
        for (int i = 0; i != 64; ++i) rows.release(rows.allocate(24, *type)), rows.release(rows.allocate(76, *type));
    const auto refused = [&](void* row) {
        allot::charge_status why;
        return rows.try_resize(row, 24, 76, &why) == nullptr && why.outcome == charge_outcome::misused;
    };
    void* const shared = rows.allocate(24);
    rows.link(shared);
    CHECK(refused(shared));
    rows.release(shared);
    rows.release(shared);
    for (const allot::row_type* type : {&pinned, &owned}) {
        void* const row = rows.allocate(24, *type);
        CHECK(refused(row));
        rows.finalize(row);
        CHECK(refused(row));
        rows.release(row);
    }
    CHECK(ended == 1);
    for (const allot::row_type* type : {&bytes, &object}) {
        void* row = rows.allocate(24, *type);
        fill_row(row, 0, 24);
        rows.finalize(row);
        row = rows.resize(row, 24, 76);
        CHECK(is_filled(row, 24));
        CHECK(moved == (type == &object));
        rows.release(row);
        CHECK(ended == (type == &object ? 3 : 2)); // at its release
    }
    void* const damaged = rows.allocate(24);
    stray_change(static_cast<char*>(damaged) + rows.capacity(damaged));
    void* const larger = rows.resize(damaged, 24, 76);
    CHECK(seen.one(allot::misuse::overrun, damaged));
    rows.release(larger);
    CHECK(seen.none());
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("the capacity of a request is known before it", "[row][resize]") {
    std::deque<allot::row_type> types; // outlive the manager
    for (const std::size_t align : {0u, 4u, 8u, 16u, 32u, 64u, 4096u})
        for (const allot::row_check seal : {allot::row_check::none, allot::row_check::crc32c})
            types.push_back({.name = "aligned", .align = align, .check = seal});
    const auto check = [&](auto& rows) {
        for (const allot::row_type& type : types)
            for (const std::size_t bytes :
                 {0u,    1u,    8u,    15u,   16u,   17u,     63u,     64u,     100u,    500u,      1000u,
                  1016u, 1017u, 2047u, 4000u, 5000u, 16'000u, 40'000u, 65'000u, 66'000u, 1'000'000u}) {
                void* const row = rows.allocate(bytes, type);
                INFO(type.align << " " << bytes);
                CHECK(rows.capacity_for(bytes, type) == rows.capacity(row));
                rows.release(row);
            }
        CHECK(rows.capacity_for(SIZE_MAX) == 0);
        CHECK(rows.capacity_for(PTRDIFF_MAX) == 0); // it would be more than that
        const std::size_t all = rows.arena().page_count() * rows.arena().page_bytes();
        for (const std::size_t bytes : {all, all + 1, std::size_t{1} << 62, PTRDIFF_MAX - 1_MiB})
            CHECK(rows.capacity_for(bytes) == 0); // no address space for a row of it
        const std::size_t most = rows.capacity_for(all - 1_KiB);
        CHECK(most < all);
        CHECK(rows.capacity_for(most) == most);
        CHECK(rows.capacity_for(8, {.name = "odd", .align = 3}) == 0);
    };
    SECTION("plain") {
        allot::row_manager<allot::policies<>> rows;
        check(rows);
    }
    SECTION("canaries") {
        allot::row_manager<canaries> rows;
        check(rows);
    }
    SECTION("without counts") {
        allot::row_manager<allot::use::containers> rows;
        check(rows);
        CHECK(rows.capacity(nullptr) == 0);
        CHECK(rows.capacity(&rows) == 0);
    }
    SECTION("without counts, with canaries, and rows of another set in the arena") {
        allot::arena<> shared{allot::page_bytes{64_KiB}};
        allot::row_manager<uncounted_canaries> rows{shared};
        allot::row_manager<tenant> others{shared};
        check(rows);
        for (const std::size_t bytes : {1u, 40u, 100u, 1000u, 100'000u}) {
            void* const row = others.allocate(bytes);
            CHECK(rows.capacity(row) == others.capacity(row));
            others.release(row);
        }
    }
    SECTION("sizes of packed rows") {
        allot::row_manager<sets::packed> rows;
        check(rows);
    }
    SECTION("counts aside") {
        allot::row_manager<sets::scanning_aside> rows;
        check(rows);
    }
}

TEST_CASE("a huge row that grows step by step is copied seldom, also at the limit", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    void* row = rows.allocate(100'000);
    fill_row(row, 0, 100'000);
    int moves = 0;
    for (std::size_t bytes = 100'000; bytes < 63_MiB; bytes += 64_KiB) {
        void* const was = std::exchange(row, rows.resize(row, 100'000, bytes));
        moves += row != was;
        CHECK(rows.used() <= 64_MiB);
    }
    CHECK(moves < 8);
    CHECK(is_filled(row, 100'000));
    CHECK(rows.arena().valid());
    CHECK(rows.arena().stats().taken == support::in_use(rows));
    rows.release(row);
    CHECK(rows.arena().stats().taken == 0);
}

TEST_CASE("a huge row grows in place where pages behind it are free", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::limit{256_MiB}, allot::page_bytes{64_KiB}};
    void* row = rows.allocate(1_MiB);
    row = rows.resize(row, 0, 2_MiB); // moves to where it may grow
    void* const stays = row;
    for (std::size_t bytes = 2_MiB; bytes <= 12_MiB; bytes += 1_MiB) {
        fill_row(row, 0, bytes - 1_MiB);
        row = rows.resize(row, bytes - 1_MiB, bytes);
        CHECK(row == stays);
        CHECK(is_filled(row, bytes - 1_MiB));
        CHECK(rows.used() == rows.stats().charged);
        CHECK(support::in_use(rows) - bytes <= 64_KiB + 64);
    }
    rows.release(row);
    CHECK(support::in_use(rows) == 0);
}

TEST_CASE("a huge row that grows leaves room for what the limit allows", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB},
                                               allot::reserve_bytes{96_MiB}};
    void* a = rows.resize(rows.allocate(3_MiB), 0, 6_MiB);
    void* b = rows.resize(rows.allocate(3_MiB), 0, 6_MiB);
    const std::size_t left = rows.limit() - rows.used();
    void* const c = rows.try_allocate(left - 1_KiB);
    CHECK(c != nullptr);
    for (void* const row : {a, b, c}) rows.release(row);
}

TEST_CASE("a huge row shrinks in place, to a page at least", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}};
    void* const row = rows.allocate(1_MiB);
    fill_row(row, 0, 1_MiB);
    CHECK(rows.resize(row, 1_MiB, 500'000) == row);
    CHECK(rows.capacity(row) == rows.capacity_for(500'000));
    CHECK(support::in_use(rows) == 8 * 64_KiB);
    CHECK(rows.resize(row, 0, 0) == row);
    CHECK(support::in_use(rows) == 64_KiB);
    CHECK(is_filled(row, rows.capacity(row)));
    void* const other = rows.allocate(400'000); // the pages that were given back are free
    fill_row(other, 0, 400'000, 2);
    CHECK(is_filled(row, rows.capacity(row)));
    rows.release(other);
    rows.release(row);
}

TEST_CASE("a huge row at the limit moves into pages in front of it, else is refused", "[row][resize]") {
    std::vector<std::byte> memory(18 * 64_KiB + 64_KiB);
    struct lent : allot::policies<allot::page::borrowed> {};
    allot::row_manager<lent> rows{std::span{memory}, allot::page_bytes{64_KiB}};
    const std::size_t pages = rows.arena().page_count();
    void* const above = rows.allocate(5 * 64_KiB - 1000);
    void* row = rows.allocate(5 * 64_KiB - 1000); // below it
    REQUIRE(row < above);
    const std::size_t used = rows.used();
    fill_row(row, 0, 5 * 64_KiB - 1000);
    void* const was = row;
    row = rows.resize(row, 5 * 64_KiB - 1000, (pages - 5) * 64_KiB - 1000); // all the rest: no second run fits
    CHECK(row < was);
    CHECK(is_filled(row, 5 * 64_KiB - 1000));
    CHECK(rows.used() == pages * 64_KiB);
    CHECK(rows.used() > used);
    allot::charge_status why;
    CHECK(rows.try_resize(row, 0, rows.capacity(row) + 1, &why) == nullptr);
    CHECK_FALSE(why.charged());
    CHECK(is_filled(row, 5 * 64_KiB - 1000));
    CHECK_THROWS_AS(rows.resize(row, 0, rows.capacity(row) + 1), allot::out_of_memory);
    CHECK(rows.valid());
    rows.release(row);
    rows.release(above);
}

TEST_CASE("a refused resize leaves the row and the charge as they were", "[row][resize]") {
    allot::row_manager<in_tree> rows{allot::limit{1_MiB}};
    void* const small = rows.allocate(100);
    void* const huge = rows.allocate(300'000);
    fill_row(small, 0, 100), fill_row(huge, 0, 300'000);
    const std::size_t used = rows.used();
    for (void* const row : {small, huge})
        for (const std::size_t bytes : support::lawful_edge_sizes()) {
            if (bytes < 2_MiB) continue;
            allot::charge_status why;
            CHECK(rows.try_resize(row, 100, bytes, &why) == nullptr);
            CHECK(why.requested >= bytes / 2);
            CHECK(rows.used() == used);
        }
    CHECK(is_filled(small, 100));
    CHECK(is_filled(huge, 300'000));
    CHECK(rows.peak() <= 1_MiB);
    try {
        rows.resize(huge, 0, 3_MiB);
        FAIL("not refused");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(std::string(e.what()), ContainsSubstring("a resized row") && ContainsSubstring("over"));
    }
    rows.release(small);
    rows.release(huge);
}

TEST_CASE("a resize that a limit refuses asks reclaimers, of at most the cost of a cap", "[row][resize]") {
    allot::row_manager<spilling> rows{allot::limit{2_MiB}, allot::page_bytes{64_KiB}};
    void* const above = rows.allocate(60'000 * 2);
    void* row = rows.allocate(60'000 * 6);
    void* const below = rows.allocate(60'000 * 2); // the row cannot grow where it is
    fill_row(row, 0, 60'000);
    struct gives : allot::reclaimer {
        gives(allot::row_manager<spilling>& of, void* what) : reclaimer("gives", 3), rows(of), row(what) {}
        bool reclaim(const allot::shortage&) noexcept override {
            if (row == nullptr) return false;
            rows.release(std::exchange(row, nullptr));
            return true;
        }
        allot::row_manager<spilling>& rows;
        void* row;
    } held{rows, rows.allocate(60'000 * 12)};
    rows.account().add(held);
    {
        const allot::cost_cap cheap{2};
        CHECK(rows.try_resize(row, 60'000, 60'000 * 16) == nullptr); // it would evict
        CHECK(held.row != nullptr);
    }
    row = rows.resize(row, 60'000, 60'000 * 16);
    CHECK(held.row == nullptr);
    CHECK(is_filled(row, 60'000));
    rows.account().remove(held);
    for (void* const r : {above, row, below}) rows.release(r);
}

TEST_CASE("the reason names the type of a row that would have to move, else what is short", "[row][resize]") {
    static constexpr allot::row_type fixed{.name = "fixed", .relocate = &allot::relocate_never};
    allot::row_manager<allot::policies<>> rows{allot::limit{32_MiB}, allot::reserve_bytes{24_MiB}};
    void* const above = rows.allocate(1_MiB);
    void* const row = rows.allocate(1_MiB, fixed); // below it
    const auto refusal = [&](std::size_t bytes) {
        allot::charge_status why;
        CHECK(rows.try_resize(row, 1_MiB, bytes, &why) == nullptr);
        return why;
    };
    CHECK(refusal(2_MiB).outcome == charge_outcome::misused);
    CHECK(std::string_view{refusal(2_MiB).name} == "it would have to move, and cannot");
    CHECK(refusal(23_MiB).outcome == charge_outcome::misused);
    CHECK(refusal(25_MiB).outcome == charge_outcome::no_address_space); // nor would another row of that size
    try {
        rows.resize(row, 1_MiB, 2_MiB);
        FAIL("not refused");
    } catch (const allot::out_of_memory& e) {
        CHECK(e.why().outcome == charge_outcome::misused);
    }
    rows.release(above);
    rows.trim();
    rows.set_limit(3_MiB / 2);
    CHECK(refusal(2_MiB).outcome == charge_outcome::over_limit);
    rows.set_limit(32_MiB);
    CHECK(rows.try_resize(row, 1_MiB, 2_MiB) == row);
    rows.release(row);
}

TEST_CASE("rows with several links are not resized", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows;
    for (const std::size_t bytes : {100u, 300'000u}) {
        void* row = rows.allocate(bytes);
        rows.link(row);
        allot::charge_status why;
        CHECK(rows.try_resize(row, 100, 1_MiB, &why) == nullptr);
        CHECK(why.outcome == charge_outcome::misused);
        CHECK_THAT(std::string(why.name), ContainsSubstring("several links"));
        rows.release(row);
        row = rows.resize(row, 100, 1_MiB);
        rows.release(row);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("a publisher sees the new row while the old one is there", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}, allot::limit{64_MiB}};
    int calls = 0;
    for (const std::size_t bytes : {100u, 300'000u}) {
        void* const row = rows.allocate(bytes);
        fill_row(row, 0, bytes);
        allot::resized_row now;
        void* const got = rows.try_resize(row, bytes, 30 * bytes, [&](auto move) {
            ++calls;
            now = move();
            CHECK(is_filled(now.row, bytes));
            CHECK(rows.arena().is_taken(row)); // not freed before it is published
            CHECK(rows.live_rows() == (bytes == 100 ? 2u : 1u));
        });
        CHECK(now.row == got);
        CHECK((bytes == 100 || rows.arena().owner_of(row) == nullptr)); // its old pages hold no row
        CHECK(now.capacity == rows.capacity(got));
        CHECK(rows.try_resize(got, bytes, 30 * bytes, [&](auto) { ++calls; }) == got); // nothing to change
        rows.release(got);
    }
    CHECK(calls == 2);
    void* const row = rows.allocate(1_MiB);
    const auto* const last = static_cast<const std::byte*>(row) + 1_MiB - 1;
    rows.try_resize(row, 100, 1000, [&](auto move) {
        const allot::resized_row now = move();
        CHECK(now.capacity == rows.capacity_for(65'400));
        CHECK(rows.arena().is_taken(last)); // the smaller capacity is published first
    });
    CHECK_FALSE(rows.arena().is_taken(last));
    rows.release(row);
}

TEST_CASE("a second call of move() changes nothing", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}, allot::limit{64_MiB}};
    void* const neighbour = rows.allocate(300'000);
    for (const std::size_t from : {100u, 300'000u})
        for (const std::size_t to : {5000u, 2'000'000u}) {
            void* const row = rows.allocate(from);
            fill_row(row, 0, 100);
            void* const got = rows.try_resize(row, 100, to, [](auto move) {
                const allot::resized_row first = move(), second = move();
                CHECK(first.row == second.row);
                CHECK(first.capacity == second.capacity);
            });
            CHECK(is_filled(got, 100));
            rows.release(got);
            rows.trim();
            CHECK(rows.stats().charged == rows.arena().stats().taken);
            std::size_t huge = 0;
            rows.usage([&](const allot::heap_usage& u) { huge += u.slot_bytes == 0 ? u.bytes : 0; });
            CHECK(huge == 5 * 64_KiB); // the neighbour
        }
    rows.release(neighbour);
}

TEST_CASE("without a call of move() nothing changes", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}, allot::limit{64_MiB}};
    void* const neighbour = rows.allocate(200'000);
    void* const blocked = rows.allocate(200'000);                       // grows elsewhere
    void* const open = rows.resize(rows.allocate(200'000), 0, 400'000); // grows in place
    void* const small = rows.allocate(1000);
    rows.trim();
    const std::size_t used = rows.used();
    for (void* const row : {blocked, open, small})
        for (const std::size_t bytes : {600'000u, 10u}) {
            fill_row(row, 0, 1000);
            const std::size_t had = rows.capacity(row);
            allot::charge_status why;
            void* const got = rows.try_resize(row, 1000, bytes, [](auto) {}, &why);
            if (row != small || bytes > 1000) {
                CHECK(got == nullptr);
                CHECK_THAT(std::string(why.name), ContainsSubstring("not published"));
            }
            const auto refuse = [&] { rows.try_resize(row, 0, bytes, [](auto) { throw std::runtime_error("no"); }); };
            if (row != small || bytes > 1000) CHECK_THROWS_AS(refuse(), std::runtime_error);
            CHECK(rows.capacity(row) == had);
            CHECK(is_filled(row, 1000));
            rows.trim();
            CHECK(rows.used() == used);
        }
    void* moved = nullptr;
    const auto late_throw = [&] {
        rows.try_resize(blocked, 1000, 600'000, [&](auto move) {
            moved = move().row;
            throw std::runtime_error("after");
        });
    };
    CHECK_THROWS_AS(late_throw(), std::runtime_error); // then the row has moved
    CHECK(is_filled(moved, 1000));
    CHECK(rows.live_rows() == 4);
    for (void* const row : {neighbour, moved, open, small}) rows.release(row);
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("resizes by other threads' managers share an arena", "[row][resize]") {
    allot::arena<> shared{allot::limit{32_MiB}};
    allot::row_manager<tenant> a{shared}, b{shared};
    void* x = a.allocate(300'000);
    void* y = b.allocate(300'000);
    for (std::size_t bytes = 400'000; bytes < 6'000'000; bytes += 300'000) {
        x = a.resize(x, 300'000, bytes);
        y = b.resize(y, 300'000, bytes);
    }
    CHECK(a.try_resize(x, 0, 40_MiB) == nullptr);
    CHECK(shared.stats().taken == a.used() + b.used());
    CHECK(shared.valid());
    a.release(x);
    b.release(y);
    CHECK(shared.stats().taken == 0);
}
