// The category `spill`: who is asked to free memory. Tags; reclaim/ keeps the reclaimers.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace spill {

struct none;
struct chain; // allot/reclaim/chain.hpp

} // namespace spill

namespace category {

struct spill {
    static constexpr std::string_view name = "spill";
    static constexpr std::string_view question = "who is asked to free memory when a request is refused";
    static constexpr std::string_view contract = "bool asks: reclaimers are called before a request fails";
    static constexpr std::string_view fallback_rule = "none";
    static constexpr std::string_view room = "reclaim";
    using fallback = allot::spill::none;

    template <class P>
    static constexpr bool takes = detail::answers<P, spill> && requires {
        { P::asks } -> detail::constant<bool>;
    };
};

} // namespace category

namespace spill {

/// Only memory that is not used is returned.
struct none {
    using category = category::spill;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool asks = false;
    static constexpr std::string_view about = "no one; only memory that is not used is returned";
    static constexpr std::string_view cost = "0";
};

static_assert(category::spill::takes<none>);

} // namespace spill

} // namespace allot::inline ALLOT_ABI
