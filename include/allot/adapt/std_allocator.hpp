// An allocator for the standard library's containers, over a row manager, a local handle of one, a chunk arena,
// or an arena.
//
// It refers to its source, which must outlive the containers. Container copy, move and swap take it along.
// Cost: one pointer, and the source's. Threads: those of the source. Failure: std::bad_alloc.
#pragma once

#include <allot/adapt/bytes.hpp>
#include <allot/adapt/raise_refused.hpp>
#include <allot/core/units.hpp>

#include <cstddef>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// A standard allocator of T that refers to a Source.
template <class T, byte_source Source> class std_allocator {
  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    explicit std_allocator(Source& source) noexcept : source_(&source) {}
    template <class U> std_allocator(const std_allocator<U, Source>& other) noexcept : source_(&other.source()) {}

    ALLOT_ALWAYS_INLINE T* allocate(std::size_t n) {
        std::size_t bytes = 0;
        if (!allot::detail::checked_mul(n, sizeof(T), bytes))
            allot::detail::raise_refused("std_allocator", SIZE_MAX,
                                         detail::misused(SIZE_MAX, "more bytes than addresses"));
        return static_cast<T*>(adapt::allocate(*source_, bytes, alignof(T)));
    }
    ALLOT_ALWAYS_INLINE void deallocate(T* p, std::size_t n) noexcept {
        adapt::deallocate(*source_, p, n * sizeof(T), alignof(T));
    }

    Source& source() const noexcept { return *source_; }
    template <class U> friend bool operator==(const std_allocator& a, const std_allocator<U, Source>& b) noexcept {
        return &a.source() == &b.source();
    }

  private:
    Source* source_;
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
