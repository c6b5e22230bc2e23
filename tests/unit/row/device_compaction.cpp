// Compaction of rows on a device: copies on a stream, old slots that are free behind them.
#include <support/catch.hpp>
#include <support/simulated_machine.hpp>

#include <allot/device_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace allot::literals;
using allot::device::execution;

namespace {

struct on_device : allot::policies<allot::page::on_device<allot::device::simulated>> {};
struct uncounted : allot::policies<allot::page::on_device<allot::device::simulated>, allot::count::none> {};

template <class Set> struct fixture {
    explicit fixture(execution how, std::uint64_t seed = 1)
        : gpu{{.total_bytes = std::size_t{256} << 20, .execution = how, .seed = seed}},
          rows{gpu.api, allot::limit{64_MiB}, allot::page_bytes{64_KiB}}, lent{rows, gpu.api}, s{gpu.make_stream()} {}
    ~fixture() {
        CHECK(lent.drain());
        for (void* const row : live) rows.release(row);
        CHECK(rows.live_rows() == 0);
        CHECK(rows.valid());
        CHECK(gpu.api.destroy_stream(s));
        CHECK(gpu.sim.hazards() == 0);
    }
    void write(void* row, std::uint64_t value) {
        REQUIRE(gpu.sim.launch(s, {}, {{row, 8}}, [=] { *static_cast<std::uint64_t*>(row) = value; }, "write"));
    }
    // Rows of their numbers, of which a tenth stays.
    void fill(std::size_t n, std::size_t bytes = 100) {
        std::mt19937 random{5};
        for (std::uint64_t i = 0; i != n; ++i) {
            void* const row = rows.allocate(bytes);
            write(row, i);
            if (random() % 10 == 0) {
                live.push_back(row);
                numbers.push_back(i);
            } else {
                gone.push_back(row);
            }
        }
        REQUIRE(lent.release_after(s, {gone.data(), gone.size()}));
        REQUIRE(lent.drain());
        rows.trim();
    }
    // Kernels on the stream read each number.
    std::size_t wrong() {
        std::vector<std::uint64_t> seen(live.size());
        for (std::size_t i = 0; i != live.size(); ++i)
            REQUIRE(gpu.sim.launch(
                s, {{live[i], 8}}, {}, [row = live[i], &seen, i] { seen[i] = *static_cast<std::uint64_t*>(row); },
                "read"));
        REQUIRE(gpu.api.synchronize(s));
        std::size_t n = 0;
        for (std::size_t i = 0; i != live.size(); ++i) n += seen[i] != numbers[i];
        return n;
    }
    std::size_t pages() const { return rows.used() / 64_KiB; }

    simulated_machine gpu;
    allot::row_manager<Set> rows;
    allot::rows_in_flight<allot::row_manager<Set>, allot::device::simulated> lent;
    simulated_machine::stream s;
    std::vector<void*> live, gone;
    std::vector<std::uint64_t> numbers;
};

} // namespace

TEMPLATE_TEST_CASE("rows on a device move by copies on a stream", "[row][device][compaction]", on_device, uncounted) {
    for (const execution how : {execution::immediate, execution::delayed})
        for (std::uint64_t seed = 1; seed != 5; ++seed) {
            fixture<TestType> f{how, seed};
            f.fill(6000);
            const std::size_t before = f.pages();
            const allot::compaction done = f.lent.compact(f.s, f.live);
            CHECK(done.moved > f.live.size() / 2);
            CHECK(done.moved + done.kept == f.live.size());
            CHECK(f.wrong() == 0); // at their new addresses
            CHECK(f.lent.drain());
            f.rows.trim();
            CHECK(f.rows.live_rows() == f.live.size());
            const std::size_t slots = 64_KiB / 112;
            CHECK(f.pages() <= f.live.size() / slots + 1);
            CHECK(f.pages() < before / 5);
        }
}

TEST_CASE("old slots on a device are used again behind their copies only", "[row][device][compaction]") {
    fixture<on_device> f{execution::delayed, 3};
    f.fill(4000);
    const std::size_t before = f.rows.live_rows();
    const allot::compaction done = f.lent.compact(f.s, f.live);
    CHECK(f.rows.live_rows() == before + done.moved); // old ones and new ones
    CHECK(f.lent.pending() == done.moved);
    std::vector<void*> more;
    for (int i = 0; i != 2000; ++i) { // would be found as a hazard in a slot that is still read
        more.push_back(f.rows.allocate(100));
        const auto other = more.back();
        REQUIRE(f.gpu.sim.launch(f.s, {}, {{other, 8}}, [=] { *static_cast<std::uint64_t*>(other) = 1; }, "other"));
    }
    CHECK(f.wrong() == 0);
    REQUIRE(f.lent.release_after(f.s, {more.data(), more.size()}));
}

TEST_CASE("rows on a device stay where the device refuses copies", "[row][device][compaction]") {
    for (const std::uint64_t nth : {1u, 2u, 30u, 61u, 100u}) {
        fixture<on_device> f{execution::immediate};
        f.fill(3000);
        const std::vector<void*> was = f.live;
        f.gpu.sim.fail(allot::device::call::copy,
                       {.nth = nth, .kind = allot::device::failure::out_of_memory, .times = 1});
        const allot::compaction done = f.lent.compact(f.s, f.live);
        CHECK(done.moved <= nth);
        CHECK(done.moved + done.kept == f.live.size());
        std::size_t moved = 0;
        for (std::size_t i = 0; i != was.size(); ++i) moved += f.live[i] != was[i];
        CHECK(moved == done.moved);
        CHECK(f.wrong() == 0);
        CHECK(f.lent.drain());
        CHECK(f.rows.live_rows() == f.live.size());
    }
}

TEST_CASE("shared rows on a device, and types that need the host, stay", "[row][device][compaction]") {
    fixture<on_device> f{execution::immediate};
    f.fill(3000);
    static constexpr allot::row_type by_hook{.name = "hook", .relocate = [](void*, void*) noexcept {}};
    for (int i = 0; i != 10; ++i) {
        f.live.push_back(f.rows.allocate(100, by_hook));
        f.write(f.live.back(), 7);
        f.numbers.push_back(7);
    }
    for (std::size_t i = 0; i != 20; ++i) f.rows.link(f.live[i]);
    const std::vector<void*> was = f.live;
    const allot::compaction done = f.lent.compact(f.s, f.live, {.rows = 50});
    CHECK(done.moved == 50);
    CHECK(done.shared == 20);
    CHECK(done.pinned == 10);
    for (std::size_t i = 0; i != 20; ++i) {
        CHECK(f.live[i] == was[i]);
        f.rows.release(f.live[i]);
    }
    CHECK(f.wrong() == 0);
}

TEST_CASE("dead rows on a device are ignored, with and without counts", "[row][device][compaction]") {
    const auto ignores = [](auto& f) {
        f.fill(3000);
        const std::size_t live = f.live.size(), dead = f.gone.size();
        f.live.insert(f.live.end(), f.gone.begin(), f.gone.end());
        const allot::compaction done = f.lent.compact(f.s, f.live);
        f.live.resize(live);
        CHECK(done.ignored == dead);
        CHECK(done.moved != 0);
        REQUIRE(f.lent.drain());
        CHECK(f.rows.live_rows() == live);
        CHECK(f.wrong() == 0);
    };
    fixture<on_device> counted{execution::immediate};
    ignores(counted);
    fixture<uncounted> bare{execution::immediate};
    ignores(bare);
}
