// The category `order`: when freed memory may be used again.
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
    static constexpr std::string_view contract =
        "bool at_once: freed memory is reused at once; otherwise it must provide stream_order";
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

/// Freed memory is reused at once.
struct host {
    using category = category::order;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool at_once = true;
    static constexpr std::string_view about = "at once";
    static constexpr std::string_view cost = "0";
};

/// Freed memory is reused in the order of streams.
struct stream {
    using category = category::order;
    using needs = types<property::device_accessible>;
    using provides = types<property::stream_order>;
    static constexpr bool at_once = false;
    static constexpr std::string_view about = "at once on the stream that freed it, on others after an event";
    static constexpr std::string_view cost =
        "one event when a stream takes memory that another freed after its last event; none at a free";
};

static_assert(category::order::takes<host>);
static_assert(category::order::takes<stream>);

} // namespace order

} // namespace allot::inline ALLOT_ABI
