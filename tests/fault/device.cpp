// Every system call of the simulated device fails once: the call of the seam that needed it says "out of memory", and
// nothing is taken and nothing left behind.
#include <support/catch.hpp>

#include <allot/core/units.hpp>
#include <allot/device/simulated.hpp>

using namespace allot::literals;
namespace device = allot::device;
namespace fault = allot::detail::sys::fault;

namespace {

// Takes what it can get, and gives it back. False where something was refused.
bool scene(device::simulator& sim) {
    const device::simulated api{sim};
    bool all = true;
    const auto got = [&](const auto& r) {
        if (!r) CHECK(r.kind() == device::failure::out_of_memory);
        all = all && r;
        return static_cast<bool>(r);
    };
    const auto plain = api.allocate({0}, 1_MiB);
    if (got(plain)) CHECK(api.deallocate({0}, *plain));
    const auto space = api.reserve({0}, 4_MiB, 0);
    const auto memory = api.create({0}, 2_MiB);
    const bool has_space = got(space), has_memory = got(memory); // both are asked
    if (has_space && has_memory) {
        if (got(api.map(*space, *memory, 2_MiB))) {
            if (got(api.set_access(*space, 2_MiB, {0}, device::access::read_write))) {
                CHECK(api.fill_async(*space, 1, 2_MiB, api.legacy_stream()));
                CHECK(api.synchronize(api.legacy_stream()));
            }
            CHECK(api.unmap(*space, 2_MiB));
        }
    }
    if (memory) CHECK(api.release(*memory));
    if (space) CHECK(api.free_address(*space, 4_MiB));
    CHECK(api.memory_of({0})->free_bytes == sim.options().total_bytes);
    CHECK(sim.leaks() == 0);
    CHECK(sim.hazards() == 0);
    return all;
}

} // namespace

TEST_CASE("the simulated device when a system call fails", "[device]") {
    std::uint64_t n = 1;
    for (bool has_failed = true; has_failed; ++n) {
        INFO("call " << n);
        device::simulator sim{};
        fault::fail_nth(n);
        const bool all = scene(sim);
        has_failed = fault::has_failed();
        fault::fail_nth(0);
        CHECK(all == !has_failed);
        CHECK(scene(sim)); // it goes on
        REQUIRE(n < 100);
    }
    CHECK(n > 7);
}
