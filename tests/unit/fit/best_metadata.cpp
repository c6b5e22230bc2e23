// fit::best when its metadata runs out, and what a run takes of it.
#include <support/catch.hpp>
#include <support/failing_metadata.hpp>

#include <allot/fit/best.hpp>

#include <cstdint>
#include <vector>

namespace {

constexpr std::uintptr_t base = 0x10'0000'0000;
using runs = allot::detail::best_fit_runs<>;

} // namespace

TEST_CASE("without metadata a call changes nothing, and releasing needs none", "[heap][fit]") {
    failing_metadata::state memory;
    {
        allot::detail::best_fit_runs<allot::detail::no_tag, failing_metadata> fit{256, {&memory}};
        for (long n = 0; !fit.add(base, 1 << 20, 0); ++n) { // each of its growths fails once
            REQUIRE(fit.bytes() == 0);
            REQUIRE(fit.valid());
            REQUIRE(n < 10);
            memory.left = n;
            memory.growths = 0;
        }
        CHECK(memory.growths > 0);
        memory.left = 0;
        CHECK_FALSE(fit.allocate(256, 256)); // no table of addresses yet
        CHECK(fit.release(base) == 0);
        CHECK(fit.valid());
        memory.left = 1;
        std::vector<std::uintptr_t> live;
        while (const auto r = fit.allocate(256, 256)) live.push_back(r.address); // the table does not grow, and serves
        CHECK((live.size() > 50 && live.size() < 4096));
        CHECK_FALSE(fit.prepare());
        CHECK_FALSE(fit.reserve(4096));
        CHECK(fit.free_bytes() == (4096 - live.size()) * 256); // there is memory, but no node
        CHECK(fit.valid());
        for (std::size_t i = 0; i < live.size(); i += 2)
            REQUIRE(fit.release(live[i]) == 256); // no neighbour: its own node
        CHECK(fit.valid());
        for (std::size_t i = 1; i < live.size(); i += 2) REQUIRE(fit.release(live[i]) == 256);
        CHECK(fit.free_runs(0) == 1);
        CHECK(fit.valid());

        memory.left = -1;
        CHECK(fit.reserve(4096));
        memory.left = 0;
        for (int i = 0; i < 4096; ++i) REQUIRE(fit.allocate(256, 256));
        CHECK(fit.free_bytes() == 0);
        for (std::uintptr_t i = 0; i < 4096; i += 2) REQUIRE(fit.release(base + i * 256));
        CHECK(memory.held == fit.metadata_bytes());
        CHECK(fit.valid());
    }
    CHECK(memory.held == 0);
}

TEST_CASE("without metadata nothing is shrunk and no part taken back", "[heap][fit]") {
    failing_metadata::state memory;
    allot::detail::best_fit_runs<allot::detail::no_tag, failing_metadata> fit{256, {&memory}};
    REQUIRE(fit.add(base, 1 << 20, 0));
    memory.left = 1;
    std::vector<std::uintptr_t> live;
    while (const auto r = fit.allocate(1024, 256)) live.push_back(r.address);
    REQUIRE(live.size() > 50);
    std::size_t shrunk = 0;
    while (shrunk < live.size() && fit.shrink(live[shrunk], 512)) ++shrunk;
    REQUIRE(shrunk < live.size());
    CHECK(fit.live_bytes() == live.size() * 1024 - shrunk * 512);
    CHECK(fit.bytes_of(live[shrunk]) == 1024);
    CHECK(fit.valid());
    const auto last = fit.largest();
    CHECK_FALSE(fit.remove(last, last.address + 4096, 4096));
    CHECK_FALSE(fit.add(base + (1 << 20), 4096, 0));
    CHECK(fit.bytes() == 1 << 20);
    CHECK(fit.largest().bytes == last.bytes);
    CHECK(fit.valid());
}

TEST_CASE("a run without a tag takes 32 bytes of metadata", "[heap][fit]") {
    STATIC_REQUIRE(sizeof(allot::detail::run_node<allot::detail::no_tag>) == 32);
    STATIC_REQUIRE(sizeof(runs::run) == 16);
    STATIC_REQUIRE(std::is_same_v<allot::fit::best::of<>, runs>);
}
