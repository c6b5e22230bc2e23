// Bytes from a row manager or an arena, for the adaptors of the standard library.
//
// A row manager provides rows without sharing, aligned to at most 64 bytes; an arena provides whole pages.
// Cost: that of the source. Threads: those of the source.
#pragma once

#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/last_refusal.hpp>
#include <allot/core/row_type.hpp>

#include <array>
#include <cstddef>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// A row manager, or a local handle of one.
template <class Source>
concept row_source = requires(Source& source, void* p, std::size_t n, const row_type& type) {
    source.try_allocate(n, type);
    source.allocate(n, type);
    source.release(p);
};
/// An arena.
template <class Source>
concept page_source = requires(Source& source, std::byte* p, std::size_t n) {
    source.take(n);
    source.give(p, n);
    source.page_shift();
};

namespace detail {

inline constexpr std::array<row_type, 4> bytes_types{
    {{"bytes", nullptr, 8}, {"bytes", nullptr, 16}, {"bytes", nullptr, 32}, {"bytes", nullptr, 64}}};

template <class Source> std::size_t pages_for(Source& source, std::size_t bytes) noexcept {
    const std::size_t page = std::size_t{1} << source.page_shift();
    return bytes > SIZE_MAX - page ? SIZE_MAX / page : ceil_div(bytes == 0 ? 1 : bytes, page);
}

using allot::detail::take_refusal;
constexpr charge_status misused(std::size_t bytes) noexcept {
    return {.outcome = charge_outcome::misused, .requested = bytes};
}

} // namespace detail

/// Allocates `bytes` from a row manager, or whole pages from an arena.
/// Requires: align is a power of two.
/// Throws: out_of_memory, a std::bad_alloc; the row manager's own one where its policy is oom::raise.
template <row_source Source> void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    const row_type& type = detail::bytes_types[align <= 8 ? 0 : align <= 16 ? 1 : align <= 32 ? 2 : 3];
    void* const p = align <= 64 ? source.allocate(bytes, type) : nullptr;
    if (p == nullptr)
        raise_refused("the row manager", bytes, align <= 64 ? detail::take_refusal(bytes) : detail::misused(bytes));
    return p;
}
/// Frees bytes of allocate(), of the same source and size. Null is ignored.
template <row_source Source> void deallocate(Source& source, void* p, std::size_t bytes) noexcept {
    if constexpr (requires { source.release(p, bytes); }) source.release(p, bytes);
    else source.release(p);
}

template <page_source Source>
    requires(!row_source<Source>)
void* allocate(Source& source, std::size_t bytes, std::size_t align) {
    const bool served = align <= std::size_t{1} << source.page_shift();
    std::byte* const p = served ? source.take(detail::pages_for(source, bytes)) : nullptr;
    if (p == nullptr) raise_refused("the arena", bytes, served ? detail::take_refusal(bytes) : detail::misused(bytes));
    return p;
}
template <page_source Source>
    requires(!row_source<Source>)
void deallocate(Source& source, void* p, std::size_t bytes) noexcept {
    if (p != nullptr) source.give(static_cast<std::byte*>(p), detail::pages_for(source, bytes));
}

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
