// The fixed properties of a device, and its free memory now (memory_stats).
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace device {

/// Properties that do not change.
struct properties {
    char name[64]{};             // NUL-terminated
    std::size_t total_bytes = 0; // of device memory
    std::size_t granularity = 0; // of virtual memory, in bytes; 0: no virtual memory
    int multiprocessors = 0;
    int warp_size = 32;
    int compute_major = 0; // compute capability
    int compute_minor = 0;
    bool virtual_memory = false; // reserve, create, map
    bool memory_pools = false;   // allocate_async
};

/// Memory of a device now, for all processes.
struct memory_stats {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
};

} // namespace device
} // namespace allot::inline ALLOT_ABI
