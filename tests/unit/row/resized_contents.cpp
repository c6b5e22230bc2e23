// Resize: what is in a row stays what it is: objects, alignment, seals, canaries, wiped bytes.
#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/filled.hpp>
#include <support/row_sets.hpp>

#include <allot/core/units.hpp>
#include <allot/row_manager.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

using namespace allot::literals;

namespace {

struct canaries : allot::policies<allot::guard::canary> {};
struct wiped : allot::policies<allot::guard::zero> {};

int made = 0, ended = 0;
struct self_pointer { // must be moved by its constructor
    static constexpr allot::relocation row_relocation = allot::relocation::moved;
    explicit self_pointer(int v) noexcept : value(v) { ++made; }
    self_pointer(self_pointer&& other) noexcept : value(other.value) { ++made; }
    ~self_pointer() { ++ended; }
    bool good(int v) const { return self == this && value == v; }
    const self_pointer* self = this;
    int value;
    std::array<std::byte, 40> rest{};
};
struct rooted {
    explicit rooted(int v) noexcept : value(v) {}
    ~rooted() { ++ended; }
    int value;
};

} // namespace

TEMPLATE_TEST_CASE("a resized row keeps its alignment", "[row][resize]", sets::plain, sets::uncounted, sets::packed) {
    allot::row_manager<TestType> rows{allot::page_bytes{64_KiB}};
    static constexpr allot::row_type aligned[] = {
        {.name = "16", .align = 16}, {.name = "64", .align = 64}, {.name = "4096", .align = 4096}};
    std::vector<void*> held;
    for (const allot::row_type& type : aligned)
        for (int i = 0; i != 10; ++i) {
            void* row = rows.allocate(100, type);
            for (const std::size_t bytes : {300u, 5000u, 100'000u, 400'000u}) {
                row = rows.resize(row, 100, bytes);
                CHECK(reinterpret_cast<std::uintptr_t>(row) % type.align == 0);
            }
            held.push_back(row);
        }
    for (void* const row : held) rows.release(row);
}

TEST_CASE("bytes behind an object move with it", "[row][resize]") {
    made = ended = 0;
    allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}};
    constexpr std::size_t tail = 100, all = sizeof(self_pointer) + tail;
    void* row = rows.allocate(all, allot::row_type_of<self_pointer>);
    ::new (row) self_pointer(3);
    rows.finalize(row);
    std::memset(static_cast<char*>(row) + sizeof(self_pointer), 9, tail);
    for (const std::size_t bytes : {1000u, 300'000u, 2'000'000u, 10'000'000u}) {
        row = rows.resize(row, all, bytes);
        CHECK(static_cast<self_pointer*>(row)->good(3));
        int wrong = 0;
        for (std::size_t i = 0; i != tail; ++i) wrong += static_cast<char*>(row)[sizeof(self_pointer) + i] != 9;
        CHECK(wrong == 0);
    }
    rows.release(row);
    CHECK(made == ended);
}

TEST_CASE("objects are moved by what their type says, and destroyed once", "[row][resize]") {
    made = ended = 0;
    {
        allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}};
        auto kept = rows.make<self_pointer>(7);
        void* row = kept.get();
        rows.link(row);
        kept = {};
        for (const std::size_t bytes : {1000u, 300'000u, 2'000'000u, 10'000'000u}) {
            row = rows.resize(row, 0, bytes); // objects move whole
            CHECK(static_cast<self_pointer*>(row)->good(7));
            CHECK(made - ended == 1);
        }
        rows.release(row);
        CHECK(made == ended);
    }
    made = ended = 0;
    {
        allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}};
        auto pinned = rows.make<rooted>(8);
        allot::charge_status why;
        const std::size_t has = rows.capacity(pinned.get());
        CHECK(rows.try_resize(pinned.get(), 0, has, &why) == pinned.get());
        CHECK(rows.try_resize(pinned.get(), 0, has + 1, &why) == nullptr);
        CHECK_THAT(std::string(why.name), ContainsSubstring("does not move"));
        CHECK(ended == 0);
    }
    CHECK(ended == 1);
}

TEST_CASE("a huge row whose type cannot move grows in place alone", "[row][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}, allot::limit{64_MiB}};
    static constexpr allot::row_type stays{.name = "stays", .relocate = &allot::relocate_never};
    void* const first = rows.allocate(300'000);
    void* const row = rows.allocate(300'000, stays); // below it
    CHECK(rows.try_resize(row, 0, 1_MiB) == nullptr);
    rows.release(first);
    CHECK(rows.try_resize(row, 0, 500'000) == row);
    rows.release(row);
}

TEMPLATE_TEST_CASE("a resize drops the seal, and reports damage", "[row][resize]", sets::plain, canaries) {
    damage_log log;
    allot::row_manager<TestType> rows{log.sink(), allot::page_bytes{64_KiB}};
    static constexpr allot::row_type sealed{.name = "sealed", .check = allot::row_check::crc32c};
    for (const std::size_t bytes : {100u, 300'000u})
        for (const bool is_broken : {false, true}) {
            void* row = rows.allocate(bytes, sealed);
            std::memset(row, 1, rows.capacity(row));
            allot::seal(row);
            if (is_broken) static_cast<char*>(row)[50] = 2;
            void* const was = row;
            row = rows.resize(row, bytes, 20 * bytes);
            CHECK((is_broken ? log.one(allot::misuse::broken_seal, was) : log.none()));
            static_cast<char*>(row)[3] = 5; // not sealed any more
            CHECK(allot::check(row));
            rows.release(row);
            CHECK(log.none());
        }
    if constexpr (std::is_same_v<TestType, canaries>)
        for (const std::size_t to : {1_MiB, 10_KiB}) { // grows, shrinks
            void* row = rows.allocate(300'000);
            void* const was = row;
            stray_change(static_cast<char*>(row) + rows.capacity(row));
            row = rows.resize(row, 10, to);
            CHECK(log.one(allot::misuse::overrun, was));
            CHECK(allot::check(row));
            CHECK(rows.valid());
            rows.release(row);
            CHECK(log.none());
        }
    if constexpr (std::is_same_v<TestType, canaries>) { // a row of a class, in a callback that holds a lock
        void* const row = rows.allocate(64);
        stray_change(static_cast<char*>(row) + rows.capacity(row));
        bool before = false;
        void* const now = rows.try_resize(row, 64, 1000, [&](auto move) {
            before = log.one(allot::misuse::overrun, row);
            move();
        });
        CHECK(before);
        rows.release(now);
        CHECK(log.none()); // once
    }
}

TEST_CASE("under guard::zero what a huge row gains reads as zero", "[row][resize]") {
    allot::row_manager<wiped> rows{allot::page_bytes{64_KiB}, allot::limit{16_MiB}};
    for (int round = 0; round != 3; ++round) {
        void* row = rows.allocate(200'000);
        fill_row(row, 0, rows.capacity(row));
        for (const std::size_t bytes : {500'000u, 1'500'000u, 100'000u, 3'000'000u}) {
            const std::size_t had = rows.capacity(row);
            row = rows.resize(row, had, bytes);
            const std::size_t has = rows.capacity(row);
            CHECK(is_filled(row, std::min(had, has)));
            const auto* const at = static_cast<const unsigned char*>(row);
            std::size_t dirty = 0;
            for (std::size_t i = had; i < has; ++i) dirty += at[i] != 0;
            CHECK(dirty == 0);
            fill_row(row, 0, has);
        }
        rows.release(row);
    }
}

TEST_CASE("under guard::zero a checksum does not become contents", "[row][resize]") {
    allot::row_manager<wiped> rows{allot::page_bytes{64_KiB}, allot::limit{16_MiB}};
    static constexpr allot::row_type sealed{.name = "sealed", .check = allot::row_check::crc32c};
    void* row = rows.allocate(200'000, sealed);
    std::memset(row, 1, rows.capacity(row));
    row = rows.resize(row, 200'000, 100'000);
    const std::size_t had = rows.capacity(row);
    allot::seal(row);
    row = rows.resize(row, SIZE_MAX, 300'000);
    int dirty = 0;
    for (std::size_t i = had; i != rows.capacity(row); ++i) dirty += static_cast<char*>(row)[i] != 0;
    CHECK(dirty == 0);
    rows.release(row);
}
