// Row checking: a row's seal, checks, and what its last release finds.
#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/row_sets.hpp>
#include <support/sets_home.hpp>

#include <cstring>
#include <tuple>
#include <vector>

using namespace allot::literals;

namespace {

using allot::misuse;
using allot::row_check;

const allot::row_type summed{"summed", nullptr, 0, row_check::sum16};
const allot::row_type coded{"coded", nullptr, 0, row_check::crc32c};
int ended = 0;
const allot::row_type ending{"ending", [](void*) noexcept { ++ended; }, 0, row_check::crc32c};
const allot::row_type unchecked{"unchecked"};

struct sealed_aside : allot::policies<allot::count::links_out_of_band> {};
struct sealed_packed : allot::policies<allot::size::packed, allot::guard::canary> {};
struct sealed_zero : allot::policies<allot::guard::all<allot::guard::zero, allot::guard::quarantine<4>>> {};
using sealing = std::tuple<sets::plain, sealed_aside, sealed_packed, sealed_zero, sets::per_thread>;

unsigned char* bytes(void* p) { return static_cast<unsigned char*>(p); }

} // namespace

TEMPLATE_LIST_TEST_CASE("a sealed row that was changed is reported by check and by its last release", "[seal]",
                        sealing) {
    damage_log log;
    sets::home<TestType> home{log.sink()};
    auto& rows = home.rows;
    for (const auto* type : {&summed, &coded}) {
        auto heap = rows.heap(allot::as<allot::heap::unique>, 53, *type);
        auto local = heap.local();
        auto any = rows.local();
        for (int way = 0; way < 6; ++way)
            for (const int at : {0, 1, 2}) { // first byte, last one, the check itself
                INFO(type->name << ", way " << way << ", at " << at);
                void* const p = way == 0   ? heap.allocate()
                                : way == 1 ? local.allocate()
                                : way == 2 ? any.allocate(1000, *type)
                                : way == 3 ? rows.allocate(70, *type)
                                : way == 4 ? rows.allocate(1_MiB, *type)
                                           : rows.allocate(0, *type);
                const std::size_t n = allot::capacity(p);
                REQUIRE(n >= (way < 2 ? 53u : way == 2 ? 1000u : way == 3 ? 70u : way == 4 ? 1_MiB : 0u));
                std::memset(p, 0x5a, n);
                CHECK(allot::check(p)); // not sealed: nothing to say
                allot::seal(p);
                CHECK(allot::check(p));
                rows.link(p);
                CHECK(rows.is_shared(p));
                rows.release(p);
                CHECK_FALSE(rows.is_shared(p));
                CHECK(log.none());
                unsigned char* const byte = at == 2 || n == 0 ? bytes(p) + n + 1 : bytes(p) + (at == 0 ? 0 : n - 1);
                *byte ^= 0x10;
                CHECK_FALSE(allot::check(p));
                CHECK(log.one(misuse::broken_seal, p));
                CHECK(log.last.type == type->name);
                CHECK(log.last.heap == (way < 2 ? type->name : way == 4 ? "huge" : "rows"));
                if (way == 1) local.release(p);
                else if (way == 2) any.release(p);
                else if (way == 3) allot::release(p);
                else rows.release(p);
                CHECK(log.one(misuse::broken_seal, p));
            }
        CHECK(rows.live_rows() == 0);
        CHECK(rows.valid());
    }
}

TEST_CASE("a row that was not sealed is not checked, and one may be sealed anew", "[seal]") {
    damage_log log;
    sets::home<sets::plain> home{log.sink()};
    auto heap = home.rows.heap(allot::as<allot::heap::unique>, 40, coded);
    auto local = heap.local();
    for (int i = 0; i < 200; ++i) { // slots that held sealed rows, too
        void* const p = local.allocate();
        std::memset(p, i, 40);
        if (i % 3 != 0) allot::seal(p);
        if (i % 3 == 2) {
            std::memset(p, i + 1, 40);
            allot::seal(p);
        }
        CHECK(allot::check(p));
        local.release(p);
    }
    CHECK(log.none());
    void* const p = home.rows.allocate(40, unchecked);
    const std::size_t n = allot::capacity(p);
    std::memset(p, 1, n);
    allot::seal(p); // its type has no check
    bytes(p)[n - 1] = 2;
    CHECK(allot::check(p));
    home.rows.release(p);
    CHECK(log.none());
    static const char constant[] = "constant";
    CHECK(allot::check(constant));
    CHECK(allot::check(nullptr));
}

TEST_CASE("a seal is checked before the destructor, by release_all too", "[seal]") {
    damage_log log;
    sets::home<sets::plain> home{log.sink()};
    auto heap = home.rows.heap(allot::as<allot::heap::unique>, 40, ending);
    ended = 0;
    for (int round = 0; round < 2; ++round) {
        void* const good = heap.allocate();
        void* const bad = heap.allocate();
        void* const open = heap.allocate();
        for (void* p : {good, bad, open}) {
            std::memset(p, 3, 40);
            if (p != open) allot::seal(p);
            allot::finalize(p);
        }
        bytes(bad)[7] = 4;
        if (round == 0)
            for (void* p : {good, bad, open}) heap.release(p);
        else heap.release_all();
        CHECK(ended == 3 * (round + 1));
        CHECK(log.one(misuse::broken_seal, bad));
    }
}

TEST_CASE("a type's check takes nothing from other types", "[seal]") {
    sets::home<sets::plain> home;
    void* const a = home.rows.allocate(56, unchecked);
    void* const b = home.rows.allocate(52, coded);
    CHECK(allot::capacity(a) == allot::capacity(b) + 4);
    home.rows.release(a);
    home.rows.release(b);
    auto with = home.rows.heap(allot::as<allot::heap::unique, allot::size::packed>, 60, coded);
    auto without = home.rows.heap(allot::as<allot::heap::unique, allot::size::packed>, 60, unchecked);
    CHECK(with.usage().slot_bytes == without.usage().slot_bytes + 4);
    // A T must fit beside the check.
    struct sixty {
        char at[60];
    };
    struct more {
        char at[64];
    };
    auto row = with.make<sixty>();
    CHECK(allot::capacity(row.get()) == 60);
#if !ALLOT_CHECKED && ALLOT_EXCEPTIONS
    CHECK_THROWS_AS(with.make<more>(), allot::out_of_memory);
#endif
    static_cast<void>(sizeof(more));
}

TEST_CASE("types with a check have numbers of their own, and run out by themselves", "[seal]") {
    allot::detail::type_table table;
    std::vector<allot::row_type> plain(3000), checked(allot::detail::type_table::max_checked + 10, coded);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const auto a = table.number(plain[i]);
        REQUIRE(a < allot::detail::type_table::first_checked);
        REQUIRE(table[a] == &plain[i]);
    }
    for (std::size_t i = 0; i < checked.size(); ++i) {
        const auto b = table.number(checked[i]);
        if (i < allot::detail::type_table::max_checked)
            REQUIRE((b >= allot::detail::type_table::first_checked && table[b] == &checked[i]));
        else REQUIRE(b == allot::detail::type_table::none);
    }
    CHECK(table[table.number(plain[17])] == &plain[17]);
    CHECK(table[table.number(checked[17])] == &checked[17]);
}
