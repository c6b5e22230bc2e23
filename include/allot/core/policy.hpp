// What a policy is: a type, mostly empty, that answers one category's question.
//
//     struct mine {
//         using category = allot::category::slots;
//         using needs = allot::types<allot::property::host_accessible>;
//         using provides = allot::types<>;
//         static constexpr std::string_view about = "...", cost = "...";   // for describe() and the documents
//         ... what the category's contract asks for
//     };
//
// `needs` and `provides` may be empty but must be there: a misspelt one must not be taken for none. A policy
// with options says `static constexpr bool options_valid`, or has a function of its own that tells what is
// wrong with them, `template <class Set> static constexpr auto refuse_options()`.
// A category is a struct in allot::category with `name`, `question`, `takes<P>` (its contract) and its
// fallback: `using fallback = P;`, or `template <class Provided> using fallback_over = P;` where it depends
// on what the others provide (`Provided::template has<property::...>`), or neither, when every set must name
// an answer.
// Types only; nothing at run time.
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

// The part of every contract that is the same.
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

} // namespace detail

/// What a list of policies provides together. A policy that is only declared provides nothing.
template <class... Ps> struct provided_by {
    template <class Property> static constexpr bool has = (detail::provides<Ps, Property> || ...);
};

} // namespace allot::inline ALLOT_ABI
