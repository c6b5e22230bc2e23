// The category `order`: when may freed memory be used again.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace order {

struct host;

} // namespace order

namespace category {

struct order {
    static constexpr std::string_view name = "order";
    static constexpr std::string_view question = "when may freed memory be used again";
    static constexpr std::string_view contract = "bool at_once; otherwise it provides stream_order";
    static constexpr std::string_view fallback_rule = "host";
    static constexpr std::string_view room = "stream";
    using fallback = allot::order::host;

    template <class P> static constexpr bool takes = detail::answers<P, order> && requires {
        { P::at_once } -> detail::constant<bool>;
        requires P::at_once || detail::provides<P, property::stream_order>;
    };
};

} // namespace category

namespace order {

struct host {
    using category = category::order;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool at_once = true;
    static constexpr std::string_view about = "at once";
    static constexpr std::string_view cost = "0";
};

static_assert(category::order::takes<host>);

} // namespace order

} // namespace allot::inline ALLOT_ABI
