// Kernels read rows through a view, and keep them by links that are dropped behind their stream's work. What comes of a
// release that does not wait for the kernel is planted here, and must be found.
#include <support/catch.hpp>
#include <support/simulated_machine.hpp>

#include <allot/device_rows.hpp>

#include <cstdint>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::device::execution;

namespace {

struct on_device : allot::policies<allot::page::on_device<allot::device::simulated>> {};
using manager = allot::row_manager<on_device>;
using in_flight = allot::rows_in_flight<manager, allot::device::simulated>;

struct fixture {
    explicit fixture(execution how, std::uint64_t seed = 1)
        : gpu{{.total_bytes = std::size_t{256} << 20, .execution = how, .seed = seed}},
          rows{gpu.api, allot::limit{64_MiB}, allot::page_bytes{64_KiB}}, lent{rows, gpu.api} {}
    simulated_machine gpu;
    manager rows;
    in_flight lent;
};

// What kernels do to rows of one number: by the view alone, as on a device.
void write_kernel(fixture& f, simulated_machine::stream s, void* row, std::uint64_t value) {
    CHECK_ON_THREAD(f.gpu.sim.launch(s, {}, {{row, 8}}, [=] { *static_cast<std::uint64_t*>(row) = value; }, "write"));
}
void sum_kernel(fixture& f, simulated_machine::stream s, allot::rows_view view, const std::vector<void*>& rows,
                std::uint64_t& sum) {
    REQUIRE(f.gpu.sim.launch(
        s, {{view.list, view.size() * 8}, {rows.front(), 8}, {rows.back(), 8}}, {},
        [=, &sum] {
            for (std::size_t lane = 0; lane < 32; ++lane)
                view.for_each<std::uint64_t>(lane, 32, [&](std::uint64_t v) { sum += v; });
        },
        "sum"));
}

// Two streams by turns, each round with rows of its own; `waits` false: the bug.
std::uint64_t hazards_of(bool waits, std::uint64_t seed, std::uint64_t& wrong) {
    fixture f{execution::delayed, seed};
    const simulated_machine::stream streams[] = {f.gpu.make_stream(), f.gpu.make_stream()};
    std::vector<std::uint64_t> sums(100);
    for (std::uint64_t round = 0; round < sums.size(); ++round) {
        const auto s = streams[round % 2];
        const std::vector<void*> list{f.rows.allocate(8), f.rows.allocate(8)};
        for (void* row : list) write_kernel(f, s, row, round);
        const auto view = f.lent.upload(s, {list.data(), list.size()});
        REQUIRE(view);
        sum_kernel(f, s, *view, list, sums[round]);
        REQUIRE(f.lent.release_list_after(s, *view));
        if (waits) REQUIRE(f.lent.release_after(s, {list.data(), list.size()}));
        else
            for (void* row : list) f.rows.release(row);
        f.lent.poll();
    }
    REQUIRE(f.lent.drain());
    CHECK(f.lent.pending() == 0);
    CHECK(f.rows.live_rows() == 0);
    wrong = 0;
    for (std::uint64_t round = 0; round < sums.size(); ++round) wrong += sums[round] != 2 * round;
    for (const auto s : streams) REQUIRE(f.gpu.api.destroy_stream(s));
    return f.gpu.sim.hazards();
}

} // namespace

TEST_CASE("kernels read rows through a view", "[device]") {
    fixture f{execution::immediate};
    const auto s = f.gpu.make_stream();
    std::vector<void*> list;
    std::uint64_t expected = 0, sum = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        list.push_back(f.rows.allocate(8));
        write_kernel(f, s, list.back(), i * i);
        expected += i * i;
    }
    const auto view = f.lent.upload(s, {list.data(), list.size()});
    REQUIRE(view);
    CHECK(view->size() == 1000);
    sum_kernel(f, s, *view, list, sum);
    CHECK(sum == expected);
    REQUIRE(f.lent.release_list_after(s, *view));
    REQUIRE(f.lent.release_after(s, {list.data(), list.size()}));
    CHECK(f.rows.live_rows() == 1001);
    CHECK(f.lent.poll() == 1001);
    CHECK(f.rows.live_rows() == 0);
    CHECK(f.gpu.sim.count(allot::device::call::record) <= 1001 / 60 + 1);
    CHECK(f.lent.upload(s, {})->empty());
    REQUIRE(f.gpu.api.destroy_stream(s));
    CHECK(f.gpu.sim.hazards() == 0);
}

TEST_CASE("rows released behind their kernels are safe to use again; at once they are not, and that is found",
          "[device]") {
    std::uint64_t wrong = 0, found = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        CHECK(hazards_of(true, seed, wrong) == 0);
        CHECK(wrong == 0);
        const std::uint64_t hazards = hazards_of(false, seed, wrong);
        CHECK(hazards > 0);
        found += wrong;
    }
    CHECK(found > 0); // it shows in the bytes, too
}

TEST_CASE("a release behind a kernel never waits", "[device]") {
    fixture f{execution::none};
    const auto s = f.gpu.make_stream();
    std::vector<void*> list;
    for (int i = 0; i < 500; ++i) list.push_back(f.rows.allocate(100));
    for (void* row : list) {
        REQUIRE(f.gpu.sim.launch(s, {{row, 8}}, {}));
        REQUIRE(f.lent.release_after(s, row));
        f.lent.poll();
    }
    using allot::device::call;
    for (const call c : {call::synchronize_stream, call::synchronize_device, call::synchronize_event})
        CHECK(f.gpu.sim.count(c) == 0);
    CHECK(f.rows.live_rows() == f.lent.pending());
    REQUIRE(f.lent.drain());
    CHECK(f.rows.live_rows() == 0);
    REQUIRE(f.gpu.api.destroy_stream(s));
}

TEST_CASE("rows of a stream that went wait for the device, also when another stream has its handle", "[device]") {
    fixture f{execution::delayed};
    const auto s = f.gpu.make_stream();
    void* const row = f.rows.allocate(8);
    write_kernel(f, s, row, 1);
    REQUIRE(f.lent.release_after(s, row));
    REQUIRE(f.gpu.api.destroy_stream(s));
    const auto next = f.gpu.make_stream();
    CHECK(f.lent.poll() == 0);
    CHECK(f.lent.pending() == 1);
    CHECK_FALSE(f.lent.release_after(s, row)); // not a stream now, or the next one: never filed under the one that went
    REQUIRE(f.lent.drain());
    CHECK(f.rows.live_rows() == 0);
    REQUIRE(f.gpu.api.destroy_stream(next));
    CHECK(f.gpu.sim.hazards() == 0);
}

TEST_CASE("a per-thread stream is another one in each thread: its rows wait for their own", "[device]") {
    fixture f{execution::delayed};
    const auto mine = allot::device::simulated::per_thread_stream();
    void* const row = f.rows.allocate(8);
    std::thread([&] {
        write_kernel(f, mine, row, 1);
        CHECK_ON_THREAD(f.lent.release_after(mine, row));
    }).join();
    CHECK(f.lent.poll() == 0);
    f.gpu.sim.run_all();
    CHECK(f.lent.poll() == 0); // no event of this thread's stream tells that the other's work is done
    REQUIRE(f.lent.drain());
    CHECK(f.rows.live_rows() == 0);
}

TEST_CASE("a trim waits for kernels that use rows which were released too early", "[device]") {
    fixture f{execution::delayed};
    const auto s = f.gpu.make_stream();
    void* const row = f.rows.allocate(8);
    write_kernel(f, s, row, 1);
    f.rows.release(row); // the bug of the caller
    CHECK(f.rows.trim() != 0);
    CHECK(f.gpu.sim.hazards() == 0);
    REQUIRE(f.gpu.api.destroy_stream(s));
}

TEST_CASE("rows stay linked as long as the device refuses events", "[device]") {
    fixture f{execution::immediate};
    const auto s = f.gpu.make_stream();
    f.gpu.sim.fail(allot::device::call::create_event, {.times = 3});
    for (int i = 0; i < 70; ++i) REQUIRE(f.lent.release_after(s, f.rows.allocate(8)));
    CHECK(f.lent.poll() == 0);
    CHECK(f.rows.live_rows() == 70);
    CHECK(f.lent.poll() == 70);
    f.gpu.sim.fail(allot::device::call::copy, {});
    void* const row = f.rows.allocate(8);
    CHECK_FALSE(f.lent.upload(s, {&row, 1}));
    CHECK(f.rows.live_rows() == 1); // the list was given back
    REQUIRE(f.lent.release_after(s, row));
    REQUIRE(f.gpu.api.destroy_stream(s));
}
