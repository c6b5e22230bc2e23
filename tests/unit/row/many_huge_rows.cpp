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
    using manager = allot::row_manager<plain>;
    manager rows{allot::page_bytes{64_KiB}, allot::reserve_bytes{4_GiB}};
    manager empty{allot::page_bytes{64_KiB}, allot::reserve_bytes{4_GiB}};
    std::vector<void*> held;
    for (int i = 0; i != 10'000; ++i) held.push_back(rows.allocate(70'000));
    const auto pairs = [](manager& of) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i != 50; ++i) of.release(of.allocate(70'000));
        return std::chrono::steady_clock::now() - begin;
    };
    auto alone = std::chrono::steady_clock::duration::max(), beside = alone;
    for (int round = 0; round != 40; ++round) // in turn, the quickest of each: the machine has other work
        alone = std::min(alone, pairs(empty)), beside = std::min(beside, pairs(rows));
    CAPTURE(alone.count(), beside.count());
    CHECK(beside < 8 * alone);
    CHECK(rows.live_rows() == held.size());
    CHECK(rows.valid());
    for (std::size_t i = 0; i != held.size(); i += 2) rows.release(held[i]);
    for (std::size_t i = 0; i != held.size(); i += 2) held[i] = rows.allocate(70'000);
    CHECK(rows.live_rows() == held.size());
    for (void* const row : held) rows.release(row);
    CHECK(rows.live_rows() == 0);
    CHECK(support::in_use(rows) == 0);
}
