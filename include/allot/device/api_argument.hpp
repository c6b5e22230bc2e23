// The api of a product on a device, taken from the values of its constructor.
//
// An empty api (device::cuda) may be left out, since it has only one value. If another one is missing, check_needed
// reports it; the zero bytes that are made here only let the rest compile without further errors. Cost: a copy of the
// api.
#pragma once

#include <allot/config.hpp>
#include <allot/core/values.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Api>
inline constexpr bool api_is_default = std::is_empty_v<Api> && std::is_default_constructible_v<Api>;

// For check_needed: types<Api> if the api must be passed, else types<>.
template <class Api> using needed_api = std::conditional_t<api_is_default<Api>, types<>, types<Api>>;

template <class Api, class... Values> constexpr Api api_argument([[maybe_unused]] Values&... values) noexcept {
    if constexpr (given<Api, Values&...>) return pick<Api>(values...);
    else if constexpr (api_is_default<Api>) return Api{};
    else return std::bit_cast<Api>(std::array<std::byte, sizeof(Api)>{});
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
