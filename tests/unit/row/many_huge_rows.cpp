// Huge rows are many where pages are small: one more costs the same, however many live.
#include <support/catch.hpp>
#include <support/in_use.hpp>

#include <allot/row_manager.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

using namespace allot::literals;

namespace {

struct plain : allot::policies<> {};

} // namespace

TEST_CASE("a huge row costs the same beside ten thousand others", "[row]") {
    allot::row_manager<plain> rows{allot::page_bytes{64_KiB}, allot::reserve_bytes{4_GiB}};
    const auto nanoseconds = [&] { // of a pair, at best
        auto best = std::chrono::nanoseconds::max();
        for (int round = 0; round != 20; ++round) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i != 50; ++i) rows.release(rows.allocate(70'000));
            best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begin);
        }
        return static_cast<double>(best.count()) / 50;
    };
    const double alone = nanoseconds();
    std::vector<void*> held;
    for (int i = 0; i != 10'000; ++i) held.push_back(rows.allocate(70'000));
    const double beside = nanoseconds();
    CHECK(beside < 8 * alone + 1000);
    CHECK(rows.live_rows() == held.size());
    CHECK(rows.valid());
    for (std::size_t i = 0; i != held.size(); i += 2) rows.release(held[i]);
    for (std::size_t i = 0; i != held.size(); i += 2) held[i] = rows.allocate(70'000);
    CHECK(rows.live_rows() == held.size());
    for (void* const row : held) rows.release(row);
    CHECK(rows.live_rows() == 0);
    CHECK(support::in_use(rows) == 0);
}
