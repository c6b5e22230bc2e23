// The category `watch`: what is recorded.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace watch {

struct none;
struct counters;
struct peaks;

struct trace_options {
    std::size_t events = 1024;     // that the ring holds: a power of two
    std::size_t every_nth_row = 0; // goes into it, too; 0: none
};
template <trace_options Options = trace_options{}> struct trace;

} // namespace watch

namespace category {

struct watch {
    static constexpr std::string_view name = "watch";
    static constexpr std::string_view question = "what is recorded";
    static constexpr std::string_view contract = "bool counts: figures are kept; bool at_peak: rows and bytes by row "
                                                 "type at the peak, too; std::size_t events: a "
                                                 "ring of so many, 0 for none; std::size_t every_nth_row goes into it";
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

struct counters {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counts = true;
    static constexpr bool at_peak = false;
    static constexpr std::size_t events = 0;
    static constexpr std::size_t every_nth_row = 0;
    static constexpr std::string_view about = "requests for pages at the limit: met, refused, bytes";
    static constexpr std::string_view cost = "two relaxed additions a page; nothing a row";
};

struct peaks {
    using category = category::watch;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool counts = true;
    static constexpr bool at_peak = true;
    static constexpr std::size_t events = 0;
    static constexpr std::size_t every_nth_row = 0;
    static constexpr std::string_view about = "the same, and rows and bytes by row type at the peak";
    static constexpr std::string_view cost =
        "four additions a page; a look at up to 256 heaps for each 1/16 that the charge grows beyond its peak; 3.4 KiB";
};

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
    static constexpr std::string_view about = "the same, and the last events with time and thread: pages, refusals, "
                                              "huge rows, handles; every n-th row if asked";
    static constexpr std::string_view cost =
        "that of peaks; 64 bytes an event, in the manager; 0.1 us a page; nothing a row without samples";
};

static_assert(category::watch::takes<none>);
static_assert(category::watch::takes<counters>);
static_assert(category::watch::takes<peaks>);
static_assert(category::watch::takes<trace<>>);

} // namespace watch

} // namespace allot::inline ALLOT_ABI
