// The simulated device answers as every model of the seam does, however its work runs, and the suite, a correct
// program, has neither hazards nor leaks. The suite on a GPU: tests/cuda/.
#include <support/catch.hpp>

#include <conform/device_api.hpp>

#include <allot/core/units.hpp>
#include <allot/device/simulated.hpp>

using namespace allot::literals;
namespace device = allot::device;

TEST_CASE("device: simulated, work runs in the call", "[device]") {
    device::simulator sim{{.devices = 3}};
    for (int d = 0; d != 3; ++d) CHECK(conform::device_api{device::simulated{sim}, {d}}.run() == 0);
    CHECK(sim.hazards() == 0);
    CHECK(sim.leaks() == 0);
}

TEST_CASE("device: simulated, work is delayed", "[device]") {
    for (std::uint64_t seed = 1; seed != 9; ++seed) {
        device::simulator sim{{.devices = 2, .execution = device::execution::delayed, .seed = seed}};
        CHECK(conform::device_api{device::simulated{sim}, {0}}.run() == 0);
        CHECK(conform::device_api{device::simulated{sim}, {1}}.run() == 0);
        CHECK(sim.hazards() == 0);
        CHECK(sim.leaks() == 0);
    }
}

TEST_CASE("device: simulated, nothing runs", "[device]") {
    device::simulator sim{{.devices = 2, .total_bytes = 100_TiB, .execution = device::execution::none}};
    CHECK(conform::device_api{device::simulated{sim}, {1}, false}.run() == 0);
    CHECK(sim.hazards() == 0);
    CHECK(sim.leaks() == 0);
}

TEST_CASE("device: simulated, without virtual memory, pools and peers", "[device]") {
    device::simulator sim{{.devices = 2, .virtual_memory = false, .memory_pools = false, .peers = false}};
    const device::simulated api{sim};
    CHECK(conform::device_api{api, {0}}.run() == 0);
    const auto refused = device::failure::not_supported;
    CHECK(api.granularity({0}).kind() == refused);
    CHECK(api.reserve({0}, 2_MiB, 0).kind() == refused);
    CHECK(api.create({0}, 2_MiB).kind() == refused);
    CHECK(api.allocate_async(64, api.legacy_stream()).kind() == refused);
    CHECK(api.enable_peer({0}, {1}).kind() == refused);
    CHECK_FALSE(api.can_access_peer({0}, {1}).value_or(true));
}
