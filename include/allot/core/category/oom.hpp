// The category `oom`: what happens when a request fails. Tags; each product acts on them.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace oom {

struct null;
struct raise;
struct state_machine; // oom/state_machine.hpp

} // namespace oom

namespace category {

struct oom {
    static constexpr std::string_view name = "oom";
    static constexpr std::string_view question = "what happens when there is no memory";
    static constexpr std::string_view contract = "bool raises: a failing request throws and never returns null";
    static constexpr std::string_view fallback_rule = "raise";
    static constexpr std::string_view room = "row";
    using fallback = allot::oom::raise;

    template <class P>
    static constexpr bool takes = detail::answers<P, oom> && requires {
        { P::raises } -> detail::constant<bool>;
    };
};

} // namespace category

namespace oom {

/// A failing request returns null.
struct null {
    using category = category::oom;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool raises = false;
    static constexpr std::string_view about = "the request returns null";
    static constexpr std::string_view cost = "0";
};

/// A failing request throws out_of_memory.
struct raise {
    using category = category::oom;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool raises = true;
    static constexpr std::string_view about = "out_of_memory is thrown, with a one-page report of the largest users";
    static constexpr std::string_view cost = "0 until then";
};

} // namespace oom

namespace detail {

// Whether a failing request waits where its thread works for a task of an arbiter.
template <class Oom> inline constexpr bool waits_in_tasks = requires { requires Oom::waits; };

} // namespace detail

namespace oom {

static_assert(category::oom::takes<null>);
static_assert(category::oom::takes<raise>);

} // namespace oom

} // namespace allot::inline ALLOT_ABI
