// The category `retain`: when an arena's free pages are returned to the system. Tags; the arena acts on them.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace retain {

struct never;
struct on_call;
struct on_pressure;

} // namespace retain

namespace category {

struct retain {
    static constexpr std::string_view name = "retain";
    static constexpr std::string_view question = "when are an arena's free pages returned to the system";
    static constexpr std::string_view contract =
        "bool when_called: trim() returns them; bool under_pressure: a request that would fail returns them, too";
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

/// Free pages stay with the arena, and charged to its owner; only its own requests take them.
struct never {
    using category = category::retain;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool when_called = false;
    static constexpr bool under_pressure = false;
    static constexpr std::string_view about = "when the arena is destroyed";
    static constexpr std::string_view cost = "the largest number of pages ever in use stays resident";
};

/// The program returns free pages by trim().
struct on_call {
    using category = category::retain;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool when_called = true;
    static constexpr bool under_pressure = false;
    static constexpr std::string_view about = "when the program calls trim()";
    static constexpr std::string_view cost = "in that call one system call per run of free pages";
};

/// As on_call, and before a request fails: for lack of memory, or at a limit that idle pages are charged to.
struct on_pressure {
    using category = category::retain;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool when_called = true;
    static constexpr bool under_pressure = true;
    static constexpr std::string_view about = "when the program calls trim(), and before a request fails";
    static constexpr std::string_view cost = "that of on_call, also at a shortage";
};

static_assert(category::retain::takes<never>);
static_assert(category::retain::takes<on_call>);
static_assert(category::retain::takes<on_pressure>);

} // namespace retain

} // namespace allot::inline ALLOT_ABI
