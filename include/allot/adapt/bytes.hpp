// Bytes from a row manager, a chunk arena or an arena, for the adaptors of other libraries.
//
//   allocate, deallocate                for callers that catch exceptions and keep size and alignment, as std::pmr does
//   try_allocate, release, try_resize   for callers of malloc(), calloc(), free() and realloc()
//
// A row manager provides rows without sharing, a chunk arena blocks, and an arena whole pages. Alignments go up to 16
// MiB. Rows have at most 4096, and pages that of a page: bytes that are aligned to more are inside larger ones, whose
// address is in front of them:
//
//   | ...... | address 8 | bytes, aligned ......... |
//
// Cost: that of the source; alignments of 32 and more take its slow path, and those that it has not cost their own bytes
// too. Threads: those of the source.
#pragma once

#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category.hpp>
#include <allot/core/error.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/product.hpp>
#include <allot/core/row_type.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

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
    Source::max_align;
};
/// An arena.
template <class Source>
concept page_source = requires(Source& source, std::byte* p, std::size_t n) {
    source.take(n);
    source.give(p, n);
    source.page_shift();
};
/// Any of these.
template <class Source> concept byte_source = row_source<Source> || block_source<Source> || page_source<Source>;

namespace detail {

inline constexpr std::size_t max_align = std::size_t{1} << 24;

constexpr charge_status misused(std::size_t bytes, const char* what) noexcept {
    return {.outcome = charge_outcome::misused, .requested = bytes, .name = what};
}
// Whether a source may be asked, whose checked builds report other requests as misuse. Else `why`, if it is not null.
inline bool may_ask(std::size_t bytes, std::size_t align, std::size_t most_align, charge_status* why) noexcept {
    const bool is_aligned = allot::detail::is_power_of_two(align) && align <= most_align;
    if (ALLOT_LIKELY(is_aligned && bytes <= static_cast<std::size_t>(PTRDIFF_MAX))) return true;
    if (why != nullptr)
        *why = misused(bytes, is_aligned ? text_of(misuse::size_too_large).data() : "the alignment is not served");
    return false;
}
// Checked builds of a source report this size as misuse; from the standard library it is none.
ALLOT_ALWAYS_INLINE void check_size([[maybe_unused]] std::string_view by, [[maybe_unused]] std::size_t bytes) {
    if constexpr (ALLOT_CHECKED != 0)
        if (bytes > static_cast<std::size_t>(PTRDIFF_MAX))
            allot::detail::raise_refused(by, bytes, misused(bytes, text_of(misuse::size_too_large).data()));
}
// Bytes inside larger ones, which larger(n) allocates, and which are aligned to 16 at least.
template <class Larger>
ALLOT_NOINLINE void* allocate_inside(std::string_view by, std::size_t bytes, std::size_t align, Larger larger) {
    if (!allot::detail::is_power_of_two(align) || align > max_align)
        allot::detail::raise_refused(by, bytes, misused(bytes, "the alignment is no power of two up to 16 MiB"));
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - align)
        allot::detail::raise_refused(by, bytes, misused(bytes, text_of(misuse::size_too_large).data()));
    void* const whole = larger(bytes + align);
    auto* const p =
        reinterpret_cast<std::byte*>(allot::detail::align_up(reinterpret_cast<std::uintptr_t>(whole) + 16, align));
    std::memcpy(p - sizeof whole, &whole, sizeof whole);
    return p;
}
// The larger bytes around those of allocate_inside().
inline void* whole_around(const void* p) noexcept {
    void* whole = nullptr;
    std::memcpy(&whole, static_cast<const std::byte*>(p) - sizeof whole, sizeof whole);
    return whole;
}

// After a refusal that did not say why: makes the request once more.
template <class Source>
ALLOT_COLD void* allocate_row_or_raise(Source& source, std::size_t bytes, const row_type& type) {
    charge_status why;
    void* const row = source.try_allocate(bytes, type, &why);
    return row != nullptr ? row : (allot::detail::raise_refused("the row manager", bytes, why), nullptr);
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
    if (ALLOT_LIKELY(align <= row_type::max_align && allot::detail::is_power_of_two(align)))
        return allocate_row(source, bytes, allot::detail::bytes_aligned_to(align));
    return allocate_inside("the row manager", bytes, align,
                           [&](std::size_t n) { return allocate_row(source, n, allot::detail::untyped_of_16); });
}
template <class Source> ALLOT_NOINLINE void release_row_around(Source& source, void* p) noexcept {
    if (p != nullptr) source.release(whole_around(p));
}
// Whether a release by the size is faster: in a handle of one thread, and where each thread has caches.
template <class Source> constexpr bool is_released_by_size() {
    if constexpr (requires { typename Source::set; })
        return allot::detail::resolved<typename Source::set,
                                       product::row_manager>::template answer<category::heap>::by_thread;
    else return requires(Source& source, void* p) { source.release(p, std::size_t{}); };
}

template <class Source>
ALLOT_COLD void* allocate_block_or_raise(Source& source, std::size_t bytes, std::size_t align, bool served) {
    charge_status why = misused(bytes, "the alignment is no power of two up to 16 MiB");
    void* const p = served ? source.try_allocate(bytes, align, &why).address : nullptr;
    return p != nullptr ? p : (allot::detail::raise_refused("the chunk arena", bytes, why), nullptr);
}

template <class Source> std::size_t pages_for(Source& source, std::size_t bytes) noexcept {
    const std::size_t page = std::size_t{1} << source.page_shift();
    return bytes > SIZE_MAX - page ? SIZE_MAX / page : allot::detail::ceil_div(bytes == 0 ? 1 : bytes, page);
}
template <class Source> void* take_pages(Source& source, std::size_t bytes) {
    charge_status why;
    std::byte* const p = source.take(pages_for(source, bytes), &why);
    return p != nullptr ? p : (allot::detail::raise_refused("the arena", bytes, why), nullptr);
}

} // namespace detail

/// Allocates `bytes`: a row of a row manager, a block of a chunk arena, or whole pages of an arena.
/// Requires: align is a power of two, 16 MiB at most; any other is refused.
/// Throws: out_of_memory, a std::bad_alloc; the source's own one where its policy is oom::raise; what the arbiter decides
/// where it is oom::state_machine.
template <row_source Source> ALLOT_ALWAYS_INLINE void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    detail::check_size("the row manager", bytes);
    if (ALLOT_LIKELY(align <= 8)) return detail::allocate_row(source, bytes, untyped);
    if (ALLOT_LIKELY(align == 16)) return detail::allocate_row_of_16(source, bytes);
    return detail::allocate_over_aligned_row(source, bytes, align);
}
/// Frees bytes of allocate(), of the same source, size and alignment. Null is ignored.
template <row_source Source>
ALLOT_ALWAYS_INLINE void deallocate(Source& source, void* p, [[maybe_unused]] std::size_t bytes,
                                    std::size_t align) noexcept {
    if constexpr (detail::is_released_by_size<Source>())
        if (ALLOT_LIKELY(align <= 8)) return source.release(p, bytes);
    if (ALLOT_UNLIKELY(align > row_type::max_align)) return detail::release_row_around(source, p);
    source.release(p); // finds the class of the row's page
}

template <block_source Source> void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    detail::check_size("the chunk arena", bytes);
    const bool served = allot::detail::is_power_of_two(align) && align <= Source::max_align;
    void* const p = ALLOT_LIKELY(served) ? source.allocate(bytes, align).address : nullptr;
    return ALLOT_LIKELY(p != nullptr) ? p : detail::allocate_block_or_raise(source, bytes, align, served);
}
template <block_source Source> void deallocate(Source& source, void* p, std::size_t bytes, std::size_t align) noexcept {
    if constexpr (requires { source.deallocate({p, bytes}); })
        if (ALLOT_LIKELY(align <= Source::unit)) return source.deallocate({p, bytes});
    if (ALLOT_LIKELY(p != nullptr)) source.deallocate(p, bytes, align);
}

template <page_source Source>
    requires(!row_source<Source>)
void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    detail::check_size("the arena", bytes);
    if (allot::detail::is_power_of_two(align) && align <= std::size_t{1} << source.page_shift())
        return detail::take_pages(source, bytes);
    return detail::allocate_inside("the arena", bytes, align,
                                   [&](std::size_t n) { return detail::take_pages(source, n); });
}
template <page_source Source>
    requires(!row_source<Source>)
void deallocate(Source& source, void* p, std::size_t bytes, std::size_t align) noexcept {
    if (p == nullptr) return;
    const bool is_inside = align > std::size_t{1} << source.page_shift();
    source.give(static_cast<std::byte*>(is_inside ? detail::whole_around(p) : p),
                detail::pages_for(source, is_inside ? bytes + align : bytes));
}

// ---- as malloc(), free() and realloc() --------------------------------------------------------------------------

/// As allocate(), but calls no policy of failure, and does not wait. Alignments are those of the source: of rows up to
/// 4096.
/// Returns: null on failure, and `why`, if it is not null.
template <row_source Source>
void* try_allocate(Source& source, std::size_t bytes, std::size_t align, charge_status* why = nullptr) noexcept {
    if (!detail::may_ask(bytes, align, row_type::max_align, why)) return nullptr;
    return source.try_allocate(bytes, allot::detail::bytes_aligned_to(align), why);
}
template <block_source Source>
void* try_allocate(Source& source, std::size_t bytes, std::size_t align, charge_status* why = nullptr) noexcept {
    return detail::may_ask(bytes, align, Source::max_align, why) ? source.try_allocate(bytes, align, why).address
                                                                 : nullptr;
}
/// As try_allocate(), and the bytes are zero: calloc(). Large ones are not written where the system has just provided
/// zeros.
template <class Source>
    requires(row_source<Source> || block_source<Source>)
void* try_allocate_zeroed(Source& source, std::size_t bytes, std::size_t align, charge_status* why = nullptr) noexcept {
    if constexpr (block_source<Source> && requires { source.try_allocate_zeroed(bytes, align, why); })
        return detail::may_ask(bytes, align, Source::max_align, why)
                   ? source.try_allocate_zeroed(bytes, align, why).address
                   : nullptr;
    if constexpr (row_source<Source> && requires { source.try_allocate_zeroed(bytes, untyped, why); })
        if (align <= 8)
            return detail::may_ask(bytes, align, 8, why) ? source.try_allocate_zeroed(bytes, untyped, why) : nullptr;
    void* const p = adapt::try_allocate(source, bytes, align, why);
    return p != nullptr ? std::memset(p, 0, bytes) : nullptr;
}
/// Frees bytes of try_allocate() or try_resize(). Null is ignored.
template <row_source Source> ALLOT_ALWAYS_INLINE void release(Source& source, void* p) noexcept { source.release(p); }
template <block_source Source> void release(Source& source, void* p) noexcept {
    if (p != nullptr) source.deallocate(p);
}
/// Gives bytes of try_allocate() a capacity of at least `bytes`, at this address or another of the same alignment, and
/// keeps the first `keep`. Null `p`: allocates.
/// Requires: `align` is that of try_allocate(). Rows are resized by their manager, not by a local handle.
/// Returns: null on failure, and `why`; then the bytes are as before.
template <row_source Source>
    requires requires(Source& source, void* p, std::size_t n, charge_status* why) { source.try_resize(p, n, n, why); }
void* try_resize(Source& source, void* p, std::size_t keep, std::size_t bytes, std::size_t align,
                 charge_status* why = nullptr) noexcept {
    if (p == nullptr) return adapt::try_allocate(source, bytes, align, why);
    return detail::may_ask(bytes, align, row_type::max_align, why) ? source.try_resize(p, keep, bytes, why) : nullptr;
}
template <block_source Source>
void* try_resize(Source& source, void* p, std::size_t keep, std::size_t bytes, std::size_t align,
                 charge_status* why = nullptr) noexcept {
    if (p != nullptr && bytes <= static_cast<std::size_t>(PTRDIFF_MAX) && source.resize(p, bytes)) return p;
    void* const to = adapt::try_allocate(source, bytes, align, why);
    if (p == nullptr) return to;
    if (to == nullptr) return bytes <= source.capacity(p) ? p : nullptr;
    std::memcpy(to, p, keep < bytes ? keep : bytes);
    source.deallocate(p);
    return to;
}

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
