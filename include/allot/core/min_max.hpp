// min, max and clamp of integers, as in std, without <algorithm> (28,000 lines to compile).
#pragma once

#include <allot/config.hpp>

#include <concepts>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <std::integral T> constexpr T min(T a, T b) noexcept { return b < a ? b : a; }
template <std::integral T> constexpr T max(T a, T b) noexcept { return a < b ? b : a; }
// Requires low <= high.
template <std::integral T> constexpr T clamp(T value, T low, T high) noexcept { return min(max(value, low), high); }

} // namespace detail
} // namespace allot::inline ALLOT_ABI
