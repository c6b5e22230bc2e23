// fit::runs: slots of slabs and runs of quanta, class by class.
#include <support/catch.hpp>
#include <support/failing_metadata.hpp>

#include <allot/chunk/block_size_classes.hpp>
#include <allot/fit/runs.hpp>

#include <cstdint>
#include <vector>

namespace {

constexpr std::uintptr_t base = 0x7000'0000'0000;
constexpr std::size_t unit = 64, range = std::size_t{4} << 20;
using classes = allot::detail::block_size_classes<unit, 4>;

} // namespace

TEST_CASE("a block is of the class of its size, whatever that is", "[runs]") {
    allot::detail::slab_runs<> fit{unit};
    REQUIRE(fit.add(base, range, 0));
    for (std::size_t n = 1; n <= range; n += n < 5000 ? 1 : n / 61) {
        const auto r = fit.allocate(n, 1);
        REQUIRE(r);
        const std::size_t size = classes::bytes_of(classes::class_of(n));
        const std::size_t whole = size <= fit.max_slot ? size : allot::detail::align_up(size, fit.quantum);
        REQUIRE(r.bytes == whole);
        REQUIRE(fit.release(r.address) == whole);
        REQUIRE(fit.slabs() == 0);
    }
    CHECK(fit.valid());
    CHECK(fit.largest().bytes == range);
}

TEST_CASE("a slab is the fewest quanta that its class divides, and lost no byte", "[runs]") {
    for (unsigned c = 0; classes::bytes_of(c) <= allot::detail::slab_runs<>::max_slot; ++c) {
        const std::size_t size = classes::bytes_of(c);
        allot::detail::slab_runs<> fit{unit};
        REQUIRE(fit.add(base, range, 0));
        const auto first = fit.allocate(size, 1);
        REQUIRE(fit.slabs() == 1);
        std::vector<std::uintptr_t> all{first.address};
        std::size_t slab = fit.quantum;
        while (slab % size != 0) slab += fit.quantum;
        CHECK(fit.largest().bytes == range - slab);
        while (all.size() != slab / size) {
            const auto r = fit.allocate(size, 1);
            REQUIRE(r.address == all.back() + size);
            all.push_back(r.address);
        }
        REQUIRE(fit.slabs() == 1);
        REQUIRE(fit.valid());
        const auto more = fit.allocate(size, 1);
        REQUIRE(fit.slabs() == 2);
        for (const std::uintptr_t a : all) {
            REQUIRE(fit.bytes_of(a) == size);
            REQUIRE(fit.release(a + unit / 2) == 0); // inside it
            REQUIRE(fit.release(a) == size);
            REQUIRE(fit.release(a) == 0);
        }
        REQUIRE(fit.slabs() == 1); // empty slabs are free quanta
        REQUIRE(fit.release(more.address) == size);
        REQUIRE(fit.largest().bytes == range);
    }
}

TEST_CASE("where a whole slab finds no quanta, a shorter one serves", "[runs]") {
    allot::detail::slab_runs<> fit{unit};
    REQUIRE(fit.add(base, fit.quantum, 0));
    const auto a = fit.allocate(5120, 1); // wants 40 KiB: eight of them
    REQUIRE(a);
    CHECK_FALSE(fit.allocate(5120, 1));
    CHECK(fit.valid());
    CHECK(fit.release(a.address) == 5120);
    CHECK(fit.largest().bytes == fit.quantum);
}

TEST_CASE("runs grow into what is free behind them, slots do not", "[runs]") {
    allot::detail::slab_runs<> fit{unit};
    REQUIRE(fit.add(base, range, 0));
    const auto run = fit.allocate(64 << 10, 1);
    CHECK(fit.grow(run.address, 200 << 10));
    CHECK(fit.bytes_of(run.address) == 224 << 10);
    CHECK(fit.live_bytes() == 224 << 10);
    CHECK(fit.shrink(run.address, 64 << 10));
    CHECK(fit.bytes_of(run.address) == 64 << 10);
    const auto slot = fit.allocate(1000, 1);
    CHECK(fit.grow(slot.address, 1024));
    CHECK_FALSE(fit.grow(slot.address, 1025));
    CHECK_FALSE(fit.shrink(slot.address, 10));
    CHECK(fit.shrink(slot.address, 1000));
    CHECK_FALSE(fit.grow(base + 1, 1));
    CHECK(fit.valid());
}

TEST_CASE("alignments are met, by slots up to a quantum", "[runs]") {
    allot::detail::slab_runs<> fit{unit};
    REQUIRE(fit.add(base + (8 << 10), range, 0));
    for (std::size_t align = 1; align <= 256 << 10; align *= 2)
        for (const std::size_t n : {1U, 100U, 3000U, 9000U, 70'000U}) {
            const auto r = fit.allocate(n, align);
            REQUIRE((r && r.address % align == 0 && r.bytes >= n));
            CHECK(fit.release(r.address) == r.bytes);
        }
    CHECK(fit.valid());
    CHECK(fit.largest().bytes == range);
}

TEST_CASE("a call without metadata changes nothing", "[runs][fault]") {
    failing_metadata::state memory;
    long failures = 0;
    for (bool done = false; !done; ++failures) {
        memory.left = failures;
        allot::detail::slab_runs<failing_metadata> fit{unit, {&memory}};
        if (fit.add(base, range, 0)) {
            const auto slot = fit.allocate(100, 1), run = fit.allocate(100'000, 1);
            done = slot && run;
            REQUIRE(fit.valid());
            REQUIRE(fit.live_runs() == std::size_t{slot ? 1U : 0U} + (run ? 1 : 0));
            if (slot) REQUIRE(fit.release(slot.address) == 128);
            if (run) REQUIRE(fit.release(run.address) == 114'688);
            REQUIRE(fit.largest().bytes == range);
        } else {
            REQUIRE(fit.bytes() == 0);
        }
        REQUIRE(failures < 50);
    }
    CHECK(failures > 4);
    CHECK(memory.held == 0);
}
