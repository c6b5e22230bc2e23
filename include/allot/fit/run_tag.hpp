// What an allocator keeps with each run of a fit, and the rule for joining adjacent free runs.
//
//     struct stream_tag {                                     // freed on this stream, after this ticket
//         std::uint32_t stream = 0;
//         std::uint64_t ticket = 0;
//         std::uint32_t key() const noexcept { return stream; }
//         static bool may_join(const stream_tag& a, const stream_tag& b) noexcept { return a.stream == b.stream; }
//         static stream_tag join(const stream_tag& a, const stream_tag& b) noexcept {
//             return a.ticket < b.ticket ? b : a;
//         }
//     };
//
// Cost: the tag's bytes in each run's node; none for no_tag. Threads: functions of values.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// key(): a small number from 0 up; each key has an index of its own, so the best fit among the runs of one key is one
/// search. may_join(a, b): whether adjacent free runs become one; may_join(b, a) must be equal. join(a, b): the tag of
/// the joined run.
template <class T>
concept run_tag =
    std::is_trivially_copyable_v<T> && std::is_nothrow_default_constructible_v<T> && requires(const T& a, const T& b) {
        { a.key() } noexcept -> std::same_as<std::uint32_t>;
        { T::may_join(a, b) } noexcept -> std::same_as<bool>;
        { T::join(a, b) } noexcept -> std::same_as<T>;
    };

/// All free runs have key 0 and may be joined.
struct no_tag {
    static constexpr std::uint32_t key() noexcept { return 0; }
    static constexpr bool may_join(const no_tag&, const no_tag&) noexcept { return true; }
    static constexpr no_tag join(const no_tag&, const no_tag&) noexcept { return {}; }
};

} // namespace detail
static_assert(detail::run_tag<detail::no_tag>);

} // namespace allot::inline ALLOT_ABI
