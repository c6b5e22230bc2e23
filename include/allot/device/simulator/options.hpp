// The options of a simulator; each has a default.
#pragma once

#include <allot/config.hpp>
#include <allot/device/simulator/hazard.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace device {

/// How queued work runs. Order is checked in all three modes, from the clocks alone.
enum class execution : std::uint8_t {
    none,      // not at all, and addresses have no memory, for long runs; event queries return random results
    immediate, // inside the call
    delayed,   // later, interleaving streams at random where nothing orders them: wrong order also shows in the bytes
};

/// What a simulated machine has and how it runs.
struct simulator_options {
    int devices = 1;                                 // 1 to 64
    std::size_t total_bytes = std::size_t{16} << 30; // of each device; allocations beyond it fail: out of memory
    std::size_t granularity = std::size_t{2} << 20;  // of virtual memory, in bytes
    bool virtual_memory = true;                      // false: reserve(), create(), ... fail: not supported
    bool memory_pools = true;                        // false: allocate_async() fails: not supported
    bool peers = true;                               // devices can access each other
    device::execution execution = execution::immediate;
    std::uint64_t seed = 1;            // equal seeds and calls give equal runs
    bool poison = true;                // freed memory is overwritten, in stream order
    std::size_t longest_queue = 64;    // delayed: with more queued work, each call runs some of it
    std::size_t max_events = SIZE_MAX; // live at a time; beyond it create_event() fails: out of memory
    bool abort_on_hazard = false;
    hazard_sink sink{};
};

/// The byte that freed memory is overwritten with.
inline constexpr unsigned char poison_byte = 0xDB;

} // namespace device
} // namespace allot::inline ALLOT_ABI
