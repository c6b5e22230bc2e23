// The category `watch`: what is recorded.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace watch {

struct none;
struct counters;

} // namespace watch

namespace category {

struct watch {
    static constexpr std::string_view name = "watch";
    static constexpr std::string_view question = "what is recorded";
    static constexpr std::string_view contract = "bool counts: figures are kept";
    static constexpr std::string_view fallback_rule = "counters";
    static constexpr std::string_view room = "watch";
    using fallback = allot::watch::counters;

    template <class P> static constexpr bool takes = detail::answers<P, watch> && requires {
        { P::counts } -> detail::constant<bool>;
    };
};

} // namespace category

namespace watch {

struct none {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counts = false;
    static constexpr std::string_view about = "nothing";
    static constexpr std::string_view cost = "0";
};

struct counters {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counts = true;
    static constexpr std::string_view about = "requests for pages at the limit: met, refused, bytes";
    static constexpr std::string_view cost = "two relaxed additions a page; nothing a row";
};

static_assert(category::watch::takes<none>);
static_assert(category::watch::takes<counters>);

} // namespace watch

} // namespace allot::inline ALLOT_ABI
