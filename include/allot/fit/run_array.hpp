// Metadata of a fit: an array on the host that grows in place of its elements, or says no.
//
// Elements are trivially copyable and named by their number, so the array may move. It begins a cache line, so that
// elements of 32 bytes lie in one. Cost: doubles, so O(1) an element over time; one growth copies all: reserve ahead
// where a pause matters. A growth that fails changes nothing. Threads: one at a time.
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

/// Where a fit has its metadata from, unless told otherwise: like realloc, aligned to 64. Null when there is none, and
/// then `old` is as before; `to` = 0 frees.
struct host_metadata {
    void* resize(void* old, std::size_t from, std::size_t to) noexcept {
        void* const now = to == 0 ? nullptr : std::aligned_alloc(64, align_up(to, 64));
        if (now != nullptr && old != nullptr) std::memcpy(now, old, from < to ? from : to);
        if (now != nullptr || to == 0) std::free(old);
        return now;
    }
};

namespace detail {

template <class T, class Memory> class run_array {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

  public:
    static constexpr std::size_t most = (std::size_t{1} << 32) - 16; // elements: 32 bits and some values to spare

    run_array() = default;
    run_array(const run_array&) = delete;
    run_array& operator=(const run_array&) = delete;

    void free(Memory& memory) noexcept {
        if (data_ != nullptr) memory.resize(data_, capacity_ * sizeof(T), 0);
        data_ = nullptr;
        capacity_ = 0;
    }
    // Room for n elements; those that are new hold nothing yet.
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
