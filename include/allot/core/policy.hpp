// Policies and categories: what each must define.
//
//     struct mine { // an answer of the category slots
//         using category = allot::category::slots;
//         using needs = allot::types<allot::property::host_accessible>;
//         using provides = allot::types<>;
//         static constexpr std::string_view about = "...", cost = "...";   // for describe() and docs/policies.md
//         ... the members of the category's contract
//     };
//
// `needs` and `provides` may be empty lists but must exist, so that a misspelt one is an error. A policy with options
// defines `static constexpr bool options_valid`; it may define `template <class Set> static constexpr auto
// refuse_options()`, which reports the wrong option.
// A category is a struct in allot::category with `name`, `question`, `takes<P>` (its contract) and a fallback:
// `using fallback = P;`, or `template <class Provided> using fallback_over = P;` where it depends on what the others
// provide (`Provided::template has<property::...>`). Without a fallback every set must name an answer.
// Types only; no cost at run time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/property.hpp>

#include <string_view>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class List, class T> inline constexpr bool lists = false;
template <class... Ts, class T> inline constexpr bool lists<types<Ts...>, T> = (std::is_same_v<Ts, T> || ...);

template <class List> inline constexpr bool is_types = false;
template <class... Ts> inline constexpr bool is_types<types<Ts...>> = true;

template <class T> concept complete = requires { sizeof(T); };

template <class P> concept provider = requires { typename P::provides; };
template <class P, class Property> inline constexpr bool provides = false;
template <provider P, class Property>
inline constexpr bool provides<P, Property> = lists<typename P::provides, Property>;

// The common part of every contract.
template <class P, class Category>
concept answers = requires {
    requires std::is_same_v<typename P::category, Category>;
    requires is_types<typename P::needs>;
    requires is_types<typename P::provides>;
};

template <class T, class Kind> concept constant = std::is_same_v<std::remove_cvref_t<T>, Kind>;

template <class P> constexpr bool options_valid() {
    if constexpr (requires { P::options_valid; }) return P::options_valid;
    else return true;
}

template <class P> constexpr std::string_view about() {
    if constexpr (requires { P::about; }) return P::about;
    else return {};
}

template <class P> constexpr std::string_view cost() {
    if constexpr (requires { P::cost; }) return P::cost;
    else return {};
}

/// The properties that a list of policies provides. An incomplete policy provides none.
template <class... Ps> struct provided_by {
    template <class Property> static constexpr bool has = (detail::provides<Ps, Property> || ...);
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
