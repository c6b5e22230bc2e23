// The category `guard`: what is checked or wiped.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace guard {

struct none;

} // namespace guard

namespace category {

struct guard {
    static constexpr std::string_view name = "guard";
    static constexpr std::string_view question = "what is checked or wiped";
    static constexpr std::string_view contract = "std::size_t row_bytes: what it adds to a row";
    static constexpr std::string_view fallback_rule = "none";
    static constexpr std::string_view room = "heap";
    using fallback = allot::guard::none;

    template <class P> static constexpr bool takes = detail::answers<P, guard> && requires {
        { P::row_bytes } -> detail::constant<std::size_t>;
    };
};

} // namespace category

namespace guard {

struct none {
    using category = category::guard;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::string_view about = "nothing";
    static constexpr std::string_view cost = "0";
};

static_assert(category::guard::takes<none>);

} // namespace guard

} // namespace allot::inline ALLOT_ABI
