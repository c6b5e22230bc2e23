// rows_view: a list of row addresses in device memory, passed to kernels by value. It holds no links.
//
// Cost: 16 bytes; a load per address. Threads: any, on host and device; at(), to_write() and for_each() on the device
// only, if the list is in device memory. Source: pointer arrays of batched kernels, as in cuBLAS.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// A list of rows for kernels; rows_in_flight::upload makes one.
/// Requires: the launcher keeps the rows and the list until the kernels are done.
struct rows_view {
    const void* const* list = nullptr;
    std::size_t count = 0;

    ALLOT_HOST_DEVICE constexpr std::size_t size() const noexcept { return count; }
    ALLOT_HOST_DEVICE constexpr bool empty() const noexcept { return count == 0; }
    /// Returns: the i-th row as a const T*. Requires: i < count; the row holds a T.
    template <class T = void> ALLOT_HOST_DEVICE const T* at(std::size_t i) const noexcept {
        return static_cast<const T*>(list[i]);
    }
    /// The same, for writing. Requires: nothing else uses the row while the kernel runs.
    template <class T> ALLOT_HOST_DEVICE T* to_write(std::size_t i) const noexcept {
        return static_cast<T*>(const_cast<void*>(list[i]));
    }
    /// Calls visit(const T&) for the rows first, first + step, ... In a kernel: a thread's index in the grid, and the
    /// grid's number of threads; 0 and 1 for all rows. Requires: step != 0.
    template <class T, class Visit>
    ALLOT_HOST_DEVICE void for_each(std::size_t first, std::size_t step, Visit visit) const {
        for (std::size_t i = first; i < count; i += step) visit(*at<T>(i));
    }
};

static_assert(std::is_trivially_copyable_v<rows_view> && sizeof(rows_view) == 2 * sizeof(void*));

} // namespace allot::inline ALLOT_ABI
