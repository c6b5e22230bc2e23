// Bytes from a row manager, a chunk arena or an arena, for the adaptors of the standard library.
//
// A row manager provides rows without sharing, aligned to at most 4096 bytes; a chunk arena blocks, and an arena whole
// pages, both aligned to at most a page.
// Cost: that of the source; alignments of 32 and more take its slow path. Threads: those of the source.
#pragma once

#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/row_type.hpp>

#include <array>
#include <cstddef>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// A row manager, or a local handle of one.
template <class Source>
concept row_source = requires(Source& source, void* p, std::size_t n, const row_type& type) {
    source.try_allocate(n, type, static_cast<charge_status*>(nullptr));
    source.allocate(n, type);
    source.release(p);
};
/// A chunk arena.
template <class Source>
concept block_source = requires(Source& source, void* p, std::size_t n) {
    source.allocate(n, n).address;
    source.deallocate(p, n, n);
};
/// An arena.
template <class Source>
concept page_source = requires(Source& source, std::byte* p, std::size_t n) {
    source.take(n);
    source.give(p, n);
    source.page_shift();
};

namespace detail {

// Bytes aligned to 32, 64, .. 4096.
inline constexpr std::array<row_type, 8> aligned_bytes = [] {
    std::array<row_type, 8> all{};
    for (std::size_t i = 0; i != all.size(); ++i) all[i] = {"bytes", nullptr, std::size_t{32} << i};
    return all;
}();
static_assert(aligned_bytes.back().align == row_type::max_align);

constexpr charge_status misused(std::size_t bytes, const char* what) noexcept {
    return {.outcome = charge_outcome::misused, .requested = bytes, .name = what};
}
// After a refusal that did not say why: makes the request once more.
template <class Source>
ALLOT_COLD void* allocate_row_or_raise(Source& source, std::size_t bytes, const row_type& type) {
    charge_status why;
    void* const row = source.try_allocate(bytes, type, &why);
    return row != nullptr ? row : (raise_refused("the row manager", bytes, why), nullptr);
}
template <class Source>
ALLOT_ALWAYS_INLINE void* allocate_row(Source& source, std::size_t bytes, const row_type& type) {
    void* const row = source.allocate(bytes, type);
    return ALLOT_LIKELY(row != nullptr) ? row : allocate_row_or_raise(source, bytes, type);
}
// These are compiled apart: they need a frame, and most requests do not.
template <class Source> ALLOT_NOINLINE void* allocate_row_of_16(Source& source, std::size_t bytes) {
    return allocate_row(source, bytes, allot::detail::untyped_of_16);
}
template <class Source>
ALLOT_NOINLINE void* allocate_over_aligned_row(Source& source, std::size_t bytes, std::size_t align) {
    if (align > row_type::max_align || !is_power_of_two(align))
        raise_refused("the row manager", bytes, misused(bytes, "the alignment is no power of two up to 4096"));
    return allocate_row(source, bytes, aligned_bytes[log2_floor(align) - 5]);
}

template <class Source> ALLOT_NOINLINE void release_aligned_row(Source& source, void* p) noexcept {
    source.release(p); // finds the class of the row's page
}

template <class Source>
ALLOT_COLD void* allocate_block_or_raise(Source& source, std::size_t bytes, std::size_t align, bool served) {
    charge_status why = misused(bytes, "the alignment is no power of two up to a page");
    void* const p = served ? source.try_allocate(bytes, align, &why).address : nullptr;
    return p != nullptr ? p : (raise_refused("the chunk arena", bytes, why), nullptr);
}

template <class Source> std::size_t pages_for(Source& source, std::size_t bytes) noexcept {
    const std::size_t page = std::size_t{1} << source.page_shift();
    return bytes > SIZE_MAX - page ? SIZE_MAX / page : ceil_div(bytes == 0 ? 1 : bytes, page);
}

} // namespace detail

/// Allocates `bytes`: a row of a row manager, a block of a chunk arena, or whole pages of an arena.
/// Requires: align is a power of two.
/// Throws: out_of_memory, a std::bad_alloc; the source's own one where its policy is oom::raise.
template <row_source Source> ALLOT_ALWAYS_INLINE void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    if (ALLOT_LIKELY(align <= 8)) return detail::allocate_row(source, bytes, untyped);
    if (ALLOT_LIKELY(align == 16)) return detail::allocate_row_of_16(source, bytes);
    return detail::allocate_over_aligned_row(source, bytes, align);
}
/// Frees bytes of allocate(), of the same source, size and alignment. Null is ignored.
template <row_source Source>
ALLOT_ALWAYS_INLINE void deallocate(Source& source, void* p, [[maybe_unused]] std::size_t bytes,
                                    [[maybe_unused]] std::size_t align) noexcept {
    if constexpr (requires { source.release(p, bytes); }) {
        if (ALLOT_LIKELY(align <= 8)) return source.release(p, bytes);
        detail::release_aligned_row(source, p);
    } else {
        source.release(p);
    }
}

template <block_source Source> void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    const bool served = is_power_of_two(align) && align <= source.arena().page_bytes();
    void* const p = ALLOT_LIKELY(served) ? source.allocate(bytes, align).address : nullptr;
    return ALLOT_LIKELY(p != nullptr) ? p : detail::allocate_block_or_raise(source, bytes, align, served);
}
template <block_source Source> void deallocate(Source& source, void* p, std::size_t bytes, std::size_t align) noexcept {
    if (ALLOT_LIKELY(p != nullptr)) source.deallocate(p, bytes, align);
}

template <page_source Source>
    requires(!row_source<Source>)
void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    const bool served = is_power_of_two(align) && align <= std::size_t{1} << source.page_shift();
    charge_status why = detail::misused(bytes, "the alignment is no power of two up to a page");
    std::byte* const p = served ? source.take(detail::pages_for(source, bytes), &why) : nullptr;
    if (p == nullptr) raise_refused("the arena", bytes, why);
    return p;
}
template <page_source Source>
    requires(!row_source<Source>)
void deallocate(Source& source, void* p, std::size_t bytes, std::size_t) noexcept {
    if (p != nullptr) source.give(static_cast<std::byte*>(p), detail::pages_for(source, bytes));
}

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
