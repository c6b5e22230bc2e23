// CUDA's error codes as failures of the seam. Runtime and driver use the same numbers.
//
// Three codes are no_device: a stub driver (34), a missing or too old driver (35), no GPU (100). After a failure the
// runtime's last error is cleared, so that the program does not take it for an error of its own calls. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/device/error.hpp>

#include <cuda_runtime_api.h>

namespace allot::inline ALLOT_ABI {
namespace device {
namespace detail {

/// The failure of a code of the CUDA runtime or driver.
constexpr failure failure_of_cuda(int code) noexcept {
    switch (code) {
    case 0: return failure::none;
    case 1: return failure::invalid_value;
    case 2: return failure::out_of_memory;
    case 4: return failure::shutting_down;
    case 34:
    case 35:
    case 100: return failure::no_device;
    case 101: return failure::invalid_device;
    case 201:
    case 400:
    case 709: return failure::invalid_handle; // context, handle, a context that ended
    case 800: return failure::not_permitted;
    case 801: return failure::not_supported;
    case 214:
    case 220:
    case 226: // memory and link errors
    case 700:
    case 702:
    case 710:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719: return failure::device_lost;
    default: return code >= 900 && code <= 908 ? failure::not_permitted_in_capture : failure::other;
    }
}

inline error cuda_error(int code, const char* call) noexcept {
    (void)cudaGetLastError();
    return {call, code, failure_of_cuda(code)};
}

} // namespace detail
} // namespace device
} // namespace allot::inline ALLOT_ABI
