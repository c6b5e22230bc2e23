// What an allocator keeps with each run of a fit, and what it says about runs side by side.
//
//     struct stream_tag {                                     // freed on this stream, behind this ticket
//         std::uint32_t stream = 0;
//         std::uint64_t ticket = 0;
//         std::uint32_t key() const noexcept { return stream; }
//         static bool may_join(const stream_tag& a, const stream_tag& b) noexcept { return a.stream == b.stream; }
//         static stream_tag join(const stream_tag& a, const stream_tag& b) noexcept { return a.ticket < b.ticket ? b :
//         a; }
//     };
//
// The key says who may use a free run without more ado: each key has an index of its own, so "best fit among those of
// stream S" is one search. Keys are small numbers, 0 and up. Free runs side by side become one if their tags may be
// joined (both directions must say the same), and never otherwise.
// Cost: its bytes in each run's node; no_tag: none. Threads: functions of values.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

template <class T>
concept run_tag =
    std::is_trivially_copyable_v<T> && std::is_nothrow_default_constructible_v<T> && requires(const T& a, const T& b) {
        { a.key() } noexcept -> std::same_as<std::uint32_t>;
        { T::may_join(a, b) } noexcept -> std::same_as<bool>;
        { T::join(a, b) } noexcept -> std::same_as<T>;
    };

/// All free runs are alike.
struct no_tag {
    static constexpr std::uint32_t key() noexcept { return 0; }
    static constexpr bool may_join(const no_tag&, const no_tag&) noexcept { return true; }
    static constexpr no_tag join(const no_tag&, const no_tag&) noexcept { return {}; }
};
static_assert(run_tag<no_tag>);

} // namespace allot::inline ALLOT_ABI
