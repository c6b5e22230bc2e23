// The category `retain`: when do an arena's free pages go back to the system. Tags: the arena acts on them.
#pragma once

#include <allot/core/policy.hpp>
#include <allot/core/units.hpp>

namespace allot::inline ALLOT_ABI {

namespace sys {

struct coarse_clock; // sys/clock.hpp

} // namespace sys

namespace retain {

struct never;
struct on_call;
struct on_pressure;
template <time_span After, class Clock = sys::coarse_clock> struct idle;

} // namespace retain

namespace category {

struct retain {
    static constexpr std::string_view name = "retain";
    static constexpr std::string_view question = "when do an arena's free pages go back to the system";
    static constexpr std::string_view contract =
        "bool when_called: a call gives them back; bool under_pressure: a request that fails does, too; if there is a "
        "time_span after and a clock: page requests give back what was free for so long";
    static constexpr std::string_view fallback_rule = "on_pressure; never for preallocated pages";
    static constexpr std::string_view room = "page";
    template <class Provided>
    using fallback_over = std::conditional_t<Provided::template has<property::preallocated>, allot::retain::never,
                                             allot::retain::on_pressure>;

    template <class P>
    static constexpr bool takes = detail::answers<P, retain> && requires {
        { P::when_called } -> detail::constant<bool>;
        { P::under_pressure } -> detail::constant<bool>;
    };
};

} // namespace category

namespace retain {

struct never {
    using category = category::retain;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool when_called = false;
    static constexpr bool under_pressure = false;
    static constexpr std::string_view about = "not while the arena lives";
    static constexpr std::string_view cost = "the most pages ever in use stay resident";
};

struct on_call {
    using category = category::retain;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool when_called = true;
    static constexpr bool under_pressure = false;
    static constexpr std::string_view about = "when the program says so";
    static constexpr std::string_view cost = "one system call a run of free pages, at the call";
};

struct on_pressure {
    using category = category::retain;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool when_called = true;
    static constexpr bool under_pressure = true;
    static constexpr std::string_view about = "when the program says so, and before a request fails";
    static constexpr std::string_view cost = "the same, and at a shortage";
};

/// Pages that were free for `After`, twice that at most while there are page requests, go back at one of them.
/// Clock: a struct with `static std::uint64_t now() noexcept`, in nanoseconds, for tests.
template <time_span After, class Clock> struct idle {
    using category = category::retain;
    using needs = types<>;
    using provides = types<>;
    using clock = Clock;
    static constexpr bool when_called = true;
    static constexpr bool under_pressure = true;
    static constexpr time_span after = After;
    static constexpr bool options_valid = After.ms != 0 && After.ms <= std::uint64_t{1} << 40;
    static constexpr std::string_view about = "at a page request when they were free for so long, and as on_pressure";
    static constexpr std::string_view cost =
        "a clock read a page request; 1 bit a page; at most 8 pages go back at once";
};

static_assert(category::retain::takes<never>);
static_assert(category::retain::takes<on_call>);
static_assert(category::retain::takes<on_pressure>);
static_assert(category::retain::takes<idle<time_span{1000}>>);

} // namespace retain

} // namespace allot::inline ALLOT_ABI
