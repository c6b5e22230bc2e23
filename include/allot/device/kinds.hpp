// The enumerations that calls of the device seam take, in CUDA's terms.
#pragma once

#include <allot/config.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace device {

/// A blocking stream is ordered with the legacy default stream, both ways; a non-blocking one is not.
enum class stream_kind : std::uint8_t { blocking, non_blocking };

/// What a device may do with mapped memory.
enum class access : std::uint8_t { none, read, read_write };

/// Which unsafe calls (plain allocations, synchronisation, event queries) are refused while a capture is active: those
/// of every thread, those of the capturing thread, or none.
enum class capture_mode : std::uint8_t { global, one_thread, relaxed };

/// Whether a stream is being captured. invalidated: a call was made that is not permitted, so end_capture() will fail.
enum class capture_state : std::uint8_t { none, active, invalidated };

} // namespace device
} // namespace allot::inline ALLOT_ABI
