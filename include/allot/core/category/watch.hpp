// The category `watch`: what is recorded.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace watch {

struct none;
struct counters;
struct peaks;

/// Options of watch::trace.
struct trace_options {
    std::size_t events = 1024;     // the size of the ring: a power of two, at most 2^24
    std::size_t every_nth_row = 0; // every n-th allocated row is an event, too; 0: none
};
template <trace_options Options = trace_options{}> struct trace;

} // namespace watch

namespace category {

struct watch {
    static constexpr std::string_view name = "watch";
    static constexpr std::string_view question = "what is recorded";
    static constexpr std::string_view contract =
        "bool counts: counters are kept; bool at_peak: so are rows and bytes by row type at the peak; std::size_t "
        "events: the size of the event ring, 0 for none; std::size_t every_nth_row: each n-th row is an event, 0 for "
        "none";
    static constexpr std::string_view fallback_rule = "counters";
    static constexpr std::string_view room = "watch";
    using fallback = allot::watch::counters;

    template <class P>
    static constexpr bool takes = detail::answers<P, watch> && requires {
        { P::counts } -> detail::constant<bool>;
        { P::at_peak } -> detail::constant<bool>;
        { P::events } -> detail::constant<std::size_t>;
        { P::every_nth_row } -> detail::constant<std::size_t>;
    };
};

} // namespace category

namespace watch {

/// Nothing is recorded.
struct none {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counts = false;
    static constexpr bool at_peak = false;
    static constexpr std::size_t events = 0;
    static constexpr std::size_t every_nth_row = 0;
    static constexpr std::string_view about = "nothing";
    static constexpr std::string_view cost = "0";
};

/// Counters of page requests.
struct counters {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counts = true;
    static constexpr bool at_peak = false;
    static constexpr std::size_t events = 0;
    static constexpr std::size_t every_nth_row = 0;
    static constexpr std::string_view about = "page requests against the limit: granted, refused, bytes";
    static constexpr std::string_view cost = "two relaxed additions per page; nothing per row";
};

/// Counters, and a histogram of row types at the peak.
struct peaks {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counts = true;
    static constexpr bool at_peak = true;
    static constexpr std::size_t events = 0;
    static constexpr std::size_t every_nth_row = 0;
    static constexpr std::string_view about = "as counters, and rows and bytes by row type at the peak";
    static constexpr std::string_view cost =
        "four additions per page; a visit of up to 256 heaps per 1/16 by which the charge exceeds its peak; 3.4 KiB";
};

/// As peaks, and a ring of the last events.
template <trace_options Options> struct trace {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool options_valid =
        Options.events != 0 && (Options.events & (Options.events - 1)) == 0 && Options.events <= std::size_t{1} << 24;
    static constexpr bool counts = true;
    static constexpr bool at_peak = true;
    static constexpr std::size_t events = Options.events;
    static constexpr std::size_t every_nth_row = Options.every_nth_row;
    static constexpr std::string_view about = "as peaks, and the last events with time and thread: pages, refusals, "
                                              "huge rows, handles; on request every n-th row";
    static constexpr std::string_view cost =
        "that of peaks; 64 bytes per event, in the manager; 0.1 us per page; nothing per row without samples";
};

static_assert(category::watch::takes<none>);
static_assert(category::watch::takes<counters>);
static_assert(category::watch::takes<peaks>);
static_assert(category::watch::takes<trace<>>);

} // namespace watch

} // namespace allot::inline ALLOT_ABI
