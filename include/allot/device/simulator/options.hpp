// What a simulated machine is like. Every member has a default; a test names what it wants to differ.
#pragma once

#include <allot/config.hpp>
#include <allot/device/simulator/hazard.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace device {

/// How queued work runs. Ordering is checked in all three, from the clocks alone.
enum class execution : std::uint8_t {
    none,      // not at all, and no memory stands behind addresses: for long runs. Whether an event is done is drawn
    immediate, // inside the call
    delayed,   // later, streams interleaved at random, as far as they are not ordered: wrong order shows in the bytes
};

struct simulator_options {
    int devices = 1;
    std::size_t total_bytes = std::size_t{16} << 30; // of each device; what is allocated beyond is out of memory
    std::size_t granularity = std::size_t{2} << 20;  // of virtual memory
    bool virtual_memory = true;                      // false: reserve, create, ... are not supported
    bool memory_pools = true;                        // false: allocate_async is not supported
    bool peers = true;                               // devices can access each other
    device::execution execution = execution::immediate;
    std::uint64_t seed = 1;             // same seed, same calls: same run
    bool poison = true;                 // freed memory is overwritten, in stream order
    std::size_t longest_queue = 64;     // delayed: beyond it, calls run work
    std::size_t most_events = SIZE_MAX; // more at a time is out of memory
    bool abort_on_hazard = false;
    hazard_sink sink{};
};

inline constexpr unsigned char poison_byte = 0xDB;

} // namespace device
} // namespace allot::inline ALLOT_ABI
