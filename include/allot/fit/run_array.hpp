// The metadata of a fit: a growing array on the host.
//
// Elements are trivially copyable and named by number, so the array may move. It begins a cache line, so that an
// element of 32 bytes is in one line. A growth that fails changes nothing.
// Cost: O(1) amortized per element; one growth copies all, so reserve where a pause matters. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// The default source of a fit's metadata: host memory from std::aligned_alloc.
struct host_metadata {
    /// As realloc, from `from` to `to` bytes, aligned to 64; `to` = 0 frees.
    /// Returns: null on lack of memory, and `old` is as before.
    void* resize(void* old, std::size_t from, std::size_t to) noexcept {
        void* const now = to == 0 ? nullptr : std::aligned_alloc(64, align_up(to, 64));
        if (now != nullptr && old != nullptr) std::memcpy(now, old, from < to ? from : to);
        if (now != nullptr || to == 0) std::free(old);
        return now;
    }
};

template <class T, class Memory> class run_array {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

  public:
    static constexpr std::size_t most = (std::size_t{1} << 32) - 16; // elements: numbers have 32 bits, some are marks

    run_array() = default;
    run_array(const run_array&) = delete;
    run_array& operator=(const run_array&) = delete;

    void free(Memory& memory) noexcept {
        if (data_ != nullptr) memory.resize(data_, capacity_ * sizeof(T), 0);
        data_ = nullptr;
        capacity_ = 0;
    }
    // Grows to n elements or more; new ones are uninitialized. False: no memory.
    bool reserve(Memory& memory, std::size_t n) noexcept {
        if (ALLOT_LIKELY(n <= capacity_)) return true;
        std::size_t to = capacity_ == 0 ? 64 : 2 * capacity_;
        if (to < n) to = n;
        if (to > most) to = most;
        return n <= to && resize(memory, to);
    }
    bool resize(Memory& memory, std::size_t to) noexcept {
        void* const p = memory.resize(data_, capacity_ * sizeof(T), to * sizeof(T));
        if (p == nullptr) return false;
        data_ = static_cast<T*>(p);
        capacity_ = to;
        return true;
    }
    void swap(run_array& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(capacity_, other.capacity_);
    }
    T* data() const noexcept { return data_; }
    T& operator[](std::size_t i) const noexcept { return data_[i]; }
    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t bytes() const noexcept { return capacity_ * sizeof(T); }

  private:
    T* data_ = nullptr;
    std::size_t capacity_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
