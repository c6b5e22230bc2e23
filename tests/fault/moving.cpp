// Rows that move, while each system call and each page request fails, and those behind it, as a request is tried again:
// a resize that fails leaves its row as it was, an array leaves the row to its caller, and a compaction never fails.
#include <support/catch.hpp>
#include <support/in_use.hpp>

#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace allot::literals;
namespace fault = allot::detail::sys::fault;

namespace {

struct plain : allot::policies<allot::oom::null> {};
struct in_tree : allot::policies<allot::oom::null, allot::ledger::tree> {};

// Grows and shrinks huge and small rows, drops most rows of an array, compacts the rest. Refusals are counted.
template <class Rows> std::size_t moving_scene(Rows& rows) {
    using set = typename Rows::set;
    std::size_t refused = 0;
    {
        allot::row_array<set> array{rows};
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t i = 0; i != 3000; ++i) {
            void* const row = rows.try_allocate(100);
            if (row == nullptr) {
                ++refused;
                continue;
            }
            *static_cast<std::uint64_t*>(row) = i;
            if (i % 10 != 0 || !array.try_push_back(row)) {
                refused += i % 10 == 0;
                rows.release(row);
            } else {
                numbers.push_back(i);
            }
        }
        for (const std::size_t first : {50u, 300'000u}) {
            void* row = rows.try_allocate(first);
            refused += row == nullptr;
            if (row == nullptr) continue;
            std::memset(row, 7, 50);
            for (const std::size_t bytes : {5000u, 400'000u, 2'000'000u, 100'000u, 3'000'000u, 10u}) {
                const std::size_t had = rows.capacity(row), used = rows.used();
                if (void* const now = rows.try_resize(row, 50, bytes)) {
                    row = now;
                    CHECK(rows.capacity(row) >= bytes);
                } else {
                    ++refused;
                    CHECK(rows.capacity(row) == had);
                    CHECK(rows.used() <= used);
                }
                for (int i = 0; i != 50; ++i) REQUIRE(static_cast<char*>(row)[i] == 7);
                CHECK(rows.valid());
                CHECK(rows.arena().valid());
            }
            rows.release(row);
        }
        {
            const auto hold = array.lock();
            const allot::compaction done = rows.compact(hold.rows());
            CHECK(done.moved + done.kept == hold.rows().size());
        }
        std::size_t i = 0;
        for (void* const row : array.read()) REQUIRE(*static_cast<std::uint64_t*>(row) == numbers[i++]);
        CHECK(i == numbers.size());
        rows.trim();
    }
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(support::in_use(rows) == 0);
    return refused;
}

struct refuses_nth final : allot::detail::injector {
    explicit refuses_nth(std::uint64_t n) : nth(n) {}
    bool refuses(const allot::account&, std::size_t) noexcept override { return ++seen >= nth && seen < nth + 12; }
    const std::uint64_t nth;
    std::uint64_t seen = 0;
};

} // namespace

TEST_CASE("rows move while each call to the system fails, and those behind it", "[fault][moving]") {
    std::uint64_t n = 1, refused = 0;
    for (;; ++n) {
        allot::row_manager<plain> rows{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
        fault::fail_nth(n, 100);
        refused += moving_scene(rows);
        const bool has_failed = fault::has_failed();
        fault::fail_nth(0);
        if (!has_failed) break;
        REQUIRE(n < 1000);
    }
    CHECK(n > 10);
    CHECK(refused != 0);
}

TEST_CASE("rows move while each page request fails, and those behind it", "[fault][moving]") {
    std::uint64_t n = 1, refused = 0;
    for (;; ++n) {
        allot::oom::arbiter tasks;
        allot::account query{allot::name{"query"}, allot::limit{16_MiB}, tasks};
        refuses_nth fault{n};
        {
            allot::row_manager<in_tree> rows{query, allot::page_bytes{64_KiB}};
            allot::detail::add(query.node(), fault);
            refused += moving_scene(rows);
            allot::detail::remove(query.node(), fault);
        }
        CHECK(query.used() == 0);
        if (fault.seen < n) break;
        REQUIRE(n < 2000);
    }
    CHECK(n > 10);
    CHECK(refused != 0);
}
