// Row arrays: rows that one thread appends, and others read, take or pack.
#include <support/catch.hpp>
#include <support/evictor.hpp>
#include <support/row_sets.hpp>

#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row/moving/row_compactor.hpp>
#include <allot/row_manager.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

struct spilling : allot::policies<allot::ledger::tree, allot::spill::chain> {};

std::uint64_t& number(void* row) { return *static_cast<std::uint64_t*>(row); }
template <class Set> void* numbered_row(allot::row_manager<Set>& rows, std::uint64_t n, std::size_t bytes = 16) {
    void* const row = rows.allocate(bytes);
    number(row) = n;
    return row;
}

} // namespace

TEMPLATE_TEST_CASE("an array holds rows in order while it grows", "[row][array]", sets::plain, sets::uncounted,
                   sets::packed, spilling) {
    allot::row_manager<TestType> rows{allot::limit{64_MiB}};
    {
        allot::row_array<TestType> array{rows};
        CHECK(array.empty());
        CHECK(array.capacity() == 0);
        constexpr std::uint64_t n = 200'000;
        int growths = 0;
        for (std::uint64_t i = 0; i != n; ++i) {
            const std::size_t had = array.capacity();
            REQUIRE(array.push_back(numbered_row(rows, i)));
            growths += array.capacity() != had;
        }
        CHECK(array.size() == n);
        CHECK(array.capacity() < n + n / 3);
        CHECK(growths < 40); // each by a quarter, but the first ones
        std::uint64_t next = 0, wrong = 0;
        for (void* const row : array.read()) wrong += number(row) != next++;
        CHECK(next == n);
        CHECK(wrong == 0);
        CHECK(rows.live_rows() == n + 1); // the slots
        CHECK(array.shrink_to_fit());
        CHECK(array.capacity() - n < 9000);
        {
            const auto hold = array.lock();
            std::sort(hold.begin(), hold.end(), [](void* a, void* b) { return number(a) > number(b); });
        }
        CHECK(number(*array.read().begin()) == n - 1);
        array.clear();
        CHECK(array.empty());
        CHECK(rows.live_rows() == 1);
        CHECK(array.push_back(numbered_row(rows, 5)));
        CHECK(array.try_reserve(1000));
        CHECK(number(*array.read().begin()) == 5);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("rows are taken from the front, and their slots are used again", "[row][array]") {
    allot::row_manager<allot::policies<>> rows;
    allot::row_array<allot::policies<>> array{rows};
    std::uint64_t in = 0, out = 0;
    for (; in != 1000; ++in) array.push_back(numbered_row(rows, in));
    const std::size_t capacity = array.capacity();
    for (int round = 0; round != 500; ++round) {
        {
            auto hold = array.lock();
            for (void* const row : hold.rows().first(300)) {
                CHECK(number(row) == out++);
                rows.release(row);
            }
            hold.take_front(300);
            CHECK(hold.rows().size() == 700);
        }
        for (int i = 0; i != 300; ++i, ++in) array.push_back(numbered_row(rows, in));
    }
    CHECK(array.capacity() <= capacity * 2);
    CHECK(array.size() == 1000);
    CHECK(rows.live_rows() == 1001);
    {
        auto hold = array.lock();
        for (void* const row : hold) rows.release(row);
        hold.take_front(hold.rows().size());
        CHECK(hold.rows().empty());
    }
    CHECK(array.empty());
    array.push_back(numbered_row(rows, 1));
    CHECK(array.size() == 1);
}

TEST_CASE("a row_ptr gives its link to an array; rows in the middle are taken", "[row][array]") {
    allot::row_manager<allot::policies<>> rows{allot::limit{256_KiB}, allot::page_bytes{16_KiB}};
    allot::row_array<allot::policies<>> array{rows};
    CHECK(array.reserve(100));
    CHECK_THROWS_AS(array.reserve(1'000'000), allot::out_of_memory);
    for (std::uint64_t i = 0; i != 100; ++i) {
        auto row = rows.make<std::uint64_t>(i);
        CHECK(array.push_back(std::move(row)));
        CHECK_FALSE(row);
    }
    {
        auto hold = array.lock();
        const auto kept =
            std::stable_partition(hold.begin(), hold.end(), [](void* row) { return number(row) % 3 != 0; });
        const auto n = static_cast<std::size_t>(kept - hold.begin());
        for (void* const row : hold.rows().first(n)) rows.release(row);
        hold.take_front(n);
    }
    std::uint64_t next = 0;
    for (void* const row : array.read()) CHECK(number(row) == 3 * next++);
    CHECK(next == 34);
    const auto fill = [&] {
        for (;;) {
            auto row = rows.make<std::uint64_t>(1u);
            try {
                array.push_back(std::move(row));
            } catch (const allot::out_of_memory&) {
                CHECK(row); // still the caller's
                throw;
            }
        }
    };
    CHECK_THROWS_AS(fill(), allot::out_of_memory);
    CHECK(rows.live_rows() == array.size() + 1);
}

template <class Array>
concept gives_rows_without_their_lock =
    requires(Array& array) { array.read().rows(); } || requires(Array& array) { array.lock().rows(); };
static_assert(!gives_rows_without_their_lock<allot::row_array<allot::policies<>>>);

TEST_CASE("a compactor packs its arrays on call", "[row][array][compaction]") {
    allot::row_manager<allot::policies<>> rows{allot::page_bytes{64_KiB}};
    allot::row_array<allot::policies<>> array{rows};
    allot::row_compactor<allot::policies<>> packs{rows};
    packs.add(array);
    std::vector<void*> all;
    for (std::uint64_t i = 0; i != 10'000; ++i) all.push_back(numbered_row(rows, i, 100));
    for (std::uint64_t i = 0; i != 10'000; ++i)
        if (i % 10 == 0) array.push_back(all[i]);
        else rows.release(all[i]);
    CHECK(packs.compact({.rows = 3}).moved == 3);
    const allot::compaction done = packs.compact();
    CHECK(done.moved > 500);
    CHECK(done.pages_after * 5 < done.pages_before);
    CHECK(packs.last().moved == done.moved);
    packs.add(array); // is in it
    {
        allot::row_compactor<allot::policies<>> other{rows};
        other.add(array); // stays in the first
        other.remove(array);
        CHECK(other.compact().kept == 0);
    }
    CHECK(packs.compact().kept == array.size());
    packs.remove(array);
    packs.remove(array);
    CHECK(packs.compact().kept == 0);
}

TEST_CASE("an array that finds no memory for slots leaves the row to the caller", "[row][array]") {
    allot::row_manager<allot::policies<>> rows{allot::limit{1_MiB}};
    allot::row_array<allot::policies<>> array{rows};
    void* const row = rows.allocate(8);
    allot::charge_status why;
    CHECK_FALSE(array.try_reserve(1'000'000, &why));
    CHECK_FALSE(why.charged());
    for (const std::size_t n : {std::size_t{1} << 31, SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX})
        CHECK_FALSE(array.try_reserve(n, &why));
    CHECK(array.capacity() == 0);
    while (array.try_push_back(row)) rows.link(row);
    CHECK(array.size() > 50'000);
    const std::size_t held = array.size();
    CHECK_FALSE(array.try_reserve(held + 1)); // what was left, was used
    CHECK_THROWS_AS(array.push_back(row), allot::out_of_memory);
    CHECK(array.size() == held);
    {
        auto hold = array.lock(); // at the limit, any slot of a row that was taken is used again
        for (void* const taken : hold.rows().first(3)) rows.release(taken);
        hold.take_front(3);
    }
    for (int i = 0; i != 3; ++i) {
        rows.link(row);
        CHECK(array.try_push_back(row));
    }
    CHECK_FALSE(array.try_push_back(row));
    rows.release(row);
    array.clear();
    CHECK(rows.live_rows() == 1);
}

TEST_CASE("an array does not evict its own rows to grow", "[row][array]") {
    allot::row_manager<spilling> rows{allot::limit{4_MiB}};
    allot::row_array<spilling> array{rows};
    evictor<spilling> evicts{array, rows};
    rows.account().add(evicts);
    void* const row = rows.allocate(8);
    std::size_t n = 0;
    for (; n != 1'000'000 && array.try_push_back(row); ++n) rows.link(row);
    CHECK(evicts.evicted == 0);
    CHECK(evicts.declined != 0);
    CHECK(array.size() == n);
    void* const others = rows.try_allocate(3_MiB); // but another request may
    CHECK(evicts.evicted != 0);
    CHECK(array.size() < n);
    if (others != nullptr) rows.release(others);
    rows.account().remove(evicts);
    rows.release(row);
}

TEST_CASE("a growth cost spares what is dearer", "[row][array]") {
    allot::row_manager<spilling> rows{allot::limit{4_MiB}};
    allot::row_array<spilling> victim{rows}, array{rows, 4};
    evictor<spilling> evicts{victim, rows};
    rows.account().add(evicts);
    while (rows.used() < 2_MiB) victim.push_back(rows.allocate(1000));
    const std::size_t kept = victim.size();
    void* const row = rows.allocate(8);
    while (array.try_push_back(row)) rows.link(row);
    CHECK(victim.size() == kept);
    rows.account().remove(evicts);
    rows.release(row);
}

TEST_CASE("compaction of arrays serves a request before rows are evicted", "[row][array][compaction]") {
    allot::row_manager<spilling> rows{allot::limit{8_MiB}, allot::page_bytes{64_KiB}};
    allot::row_array<spilling> first{rows}, second{rows};
    evictor<spilling> evicts{first, rows};
    allot::row_compactor<spilling> packs{rows};
    rows.account().add(evicts);
    rows.account().add(packs);
    packs.add(first);
    packs.add(second);
    std::vector<void*> all;
    while (rows.used() < 7_MiB) all.push_back(numbered_row(rows, all.size(), 100));
    std::mt19937 random{3};
    std::vector<std::uint64_t> numbers[2];
    for (void* const row : all) {
        if (random() % 10 != 0) {
            rows.release(row);
            continue;
        }
        auto& array = random() % 2 == 0 ? first : second;
        numbers[&array == &second].push_back(number(row));
        array.push_back(row);
    }
    rows.trim();
    CHECK(rows.used() > 6_MiB); // sparse
    void* const large = rows.try_allocate(5_MiB);
    REQUIRE(large != nullptr);
    CHECK(evicts.evicted == 0); // packed, not evicted
    CHECK(packs.last().moved != 0);
    CHECK(packs.last().shared + packs.last().pinned + packs.last().ignored == 0);
    CHECK(packs.freed() >= 4_MiB);
    for (auto* array : {&first, &second}) {
        std::size_t i = 0, wrong = 0;
        for (void* const row : array->read()) wrong += number(row) != numbers[array == &second][i++];
        CHECK(wrong == 0);
        CHECK(i == numbers[array == &second].size());
    }
    CHECK(rows.valid());

    const std::size_t before = packs.calls();
    void* const larger = rows.try_allocate(3_MiB); // packing would not do
    CHECK(packs.calls() > before);
    CHECK(evicts.evicted != 0);
    if (larger != nullptr) rows.release(larger);
    rows.release(large);
    packs.remove(first);
    packs.remove(second);
    rows.account().remove(packs);
    rows.account().remove(evicts);
}

TEST_CASE("an out_of_memory names the compaction that was tried", "[row][array][compaction]") {
    allot::row_manager<spilling> rows{allot::limit{2_MiB}, allot::page_bytes{64_KiB}};
    allot::row_compactor<spilling> packs{rows};
    rows.account().add(packs);
    try {
        rows.allocate(3_MiB);
        FAIL("not refused");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(std::string(e.report()), ContainsSubstring("compaction of rows"));
    }
    rows.account().remove(packs);
}
