// The category `spill`: who is asked to free memory. Only `none` exists.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace spill {

struct none;

} // namespace spill

namespace category {

struct spill {
    static constexpr std::string_view name = "spill";
    static constexpr std::string_view question = "who is asked to free memory";
    static constexpr std::string_view contract = "bool asks: others are asked to free memory before a request fails";
    static constexpr std::string_view fallback_rule = "none";
    static constexpr std::string_view room = "core";
    using fallback = allot::spill::none;

    template <class P>
    static constexpr bool takes = detail::answers<P, spill> && requires {
        { P::asks } -> detail::constant<bool>;
    };
};

} // namespace category

namespace spill {

/// Nothing is asked to free memory.
struct none {
    using category = category::spill;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool asks = false;
    static constexpr std::string_view about = "nobody";
    static constexpr std::string_view cost = "0";
};

static_assert(category::spill::takes<none>);

} // namespace spill

} // namespace allot::inline ALLOT_ABI
