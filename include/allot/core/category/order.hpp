// The category `order`: when may freed memory be used again.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace order {

struct host;
struct stream;

} // namespace order

namespace category {

struct order {
    static constexpr std::string_view name = "order";
    static constexpr std::string_view question = "when may freed memory be used again";
    static constexpr std::string_view contract = "bool at_once; otherwise it provides stream_order";
    static constexpr std::string_view fallback_rule = "stream for a device's memory, else host";
    static constexpr std::string_view room = "device_allocator";
    template <class Provided>
    using fallback_over = std::conditional_t<Provided::template has<property::device_accessible>, allot::order::stream,
                                             allot::order::host>;

    template <class P>
    static constexpr bool takes = detail::answers<P, order> && requires {
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

struct stream {
    using category = category::order;
    using needs = types<property::device_accessible>;
    using provides = types<property::stream_order>;
    static constexpr bool at_once = false;
    static constexpr std::string_view about = "at once on the stream that freed it, elsewhere after an event";
    static constexpr std::string_view cost =
        "an event where a stream takes what another freed after its last one; never at a free";
};

static_assert(category::order::takes<host>);
static_assert(category::order::takes<stream>);

} // namespace order

} // namespace allot::inline ALLOT_ABI
