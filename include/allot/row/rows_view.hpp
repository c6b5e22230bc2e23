// rows_view: rows as a kernel sees them: a list of their addresses in device memory. Passed to kernels by value.
//
// It holds no links: whoever launches the kernel keeps the rows, and the list, until the kernel is done
// (row/rows_in_flight.hpp makes views and does that). Trivially copyable; no atomics, nothing of the manager. Cost: 16
// bytes; a load for each address.
// Threads: any, on host and device; at() of device memory on the device only. Source: pointer arrays of batched
// kernels, as in cuBLAS.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

struct rows_view {
    const void* const* list = nullptr;
    std::size_t count = 0;

    ALLOT_HOST_DEVICE constexpr std::size_t size() const noexcept { return count; }
    ALLOT_HOST_DEVICE constexpr bool empty() const noexcept { return count == 0; }
    /// The address of a row, of what it holds: T is told by whoever knows.
    template <class T = void> ALLOT_HOST_DEVICE const T* at(std::size_t i) const noexcept {
        return static_cast<const T*>(list[i]);
    }
    /// The same for a row that the kernel alone uses.
    template <class T> ALLOT_HOST_DEVICE T* to_write(std::size_t i) const noexcept {
        return static_cast<T*>(const_cast<void*>(list[i]));
    }
    /// Visits every step-th row from the first on: a grid's stride, or 0 and 1 for all.
    template <class T, class Visit>
    ALLOT_HOST_DEVICE void for_each(std::size_t first, std::size_t step, Visit visit) const {
        for (std::size_t i = first; i < count; i += step) visit(*at<T>(i));
    }
};

static_assert(std::is_trivially_copyable_v<rows_view> && sizeof(rows_view) == 2 * sizeof(void*));

} // namespace allot::inline ALLOT_ABI
