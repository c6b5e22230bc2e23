// Sets of policies, and the answers that a product reads from a set.
//
//     struct thor_rows : allot::policies<allot::size::packed, allot::oom::null> {}; // any order, one per category
//     allot::row_manager<thor_rows> rows;
//
// A set is an empty struct derived from policies<...>: its name is then in every error and report, and two sets with
// the same answers are different types, with one code behind their managers (answers_of). Resolution has two passes:
// the policies that the set names and the fixed fallbacks; then the fallbacks that depend on what those provide. The
// order of policies has no effect.
// Cost: types only. An answer is found by overload resolution in a flat list of bases, without recursion.
// Source: policy-based design (Alexandrescu 2001), without its fixed positions.
#pragma once

#include <allot/core/policy.hpp>
#include <allot/core/property.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Base of a set of policies: in any order, at most one per category.
template <class... Ps> struct policies {};

namespace detail {

// --- the policies that a set names -------------------------------------------------------------------------
template <class... Ps> types<Ps...> list_of(const policies<Ps...>*);
void list_of(const void*);

template <class Set> constexpr auto named_by() {
    if constexpr (std::is_class_v<Set>) {
        using list = decltype(list_of(static_cast<const Set*>(nullptr)));
        if constexpr (is_types<list>) return list{};
    }
}
// types<Ps...>; void when Set is not a set.
template <class Set> using named = decltype(named_by<Set>());

template <class P> concept policy = complete<P> && requires { typename P::category; };

// --- lookup ------------------------------------------------------------------------------------------------
template <class T> struct found {
    using type = T;
};
struct absent;

template <class Category, class P> struct entry {};
template <class... Entries> struct entries : Entries... {};

template <class Category, class P> found<P> find(const entry<Category, P>*);
template <class Category> found<absent> find(const void*);

template <class Category, class Entries> using find_in = decltype(find<Category>(static_cast<const Entries*>(nullptr)));

// --- first pass: the policies that the set names, and fixed fallbacks --------------------------------------
template <class Category, class Named> constexpr auto first_answer() {
    using own = find_in<Category, Named>;
    if constexpr (!std::is_same_v<own, found<absent>>) return own{};
    else if constexpr (requires { typename Category::fallback; }) return found<typename Category::fallback>{};
    else return own{};
}

// --- second pass: fallbacks that depend on what the first pass provides ------------------------------------
template <class Category, class First, class Provided> constexpr auto second_answer() {
    if constexpr (!std::is_same_v<First, found<absent>>) return First{};
    else if constexpr (requires { typename Category::template fallback_over<Provided>; })
        return found<typename Category::template fallback_over<Provided>>{};
    else return First{};
}

template <class Named, class Reads> struct resolution;
template <class... Ps, class... Categories> struct resolution<types<Ps...>, types<Categories...>> {
    using own = entries<entry<typename Ps::category, Ps>...>;

    template <class... First> static constexpr auto over(types<First...>) {
        using provided = provided_by<typename First::type...>;
        return types<typename decltype(second_answer<Categories, First, provided>())::type...>{};
    }
    using answers = decltype(over(types<decltype(first_answer<Categories, own>())...>{}));

    template <class... Answers> static entries<entry<Categories, Answers>...> index_of(types<Answers...>);
    using index = decltype(index_of(answers{}));
};

/// The answers of a set to the categories that a product reads.
/// Requires: well_formed<Set, Product> (core/diagnose.hpp).
template <class Set, class Product> struct resolved {
    using categories = typename Product::reads;
    using answers = typename detail::resolution<detail::named<Set>, categories>::answers; // in the same order

    template <class Category>
    using answer =
        typename detail::find_in<Category, typename detail::resolution<detail::named<Set>, categories>::index>::type;

    /// True when the set names the answer, false when it is the fallback.
    template <class Category>
    static constexpr bool names =
        !std::is_same_v<detail::find_in<Category, typename detail::resolution<detail::named<Set>, categories>::own>,
                        detail::found<detail::absent>>;
};

} // namespace detail

// --- replacing answers -------------------------------------------------------------------------------------
namespace detail {

template <class... As, class... Bs> types<As..., Bs...> operator+(types<As...>, types<Bs...>);

template <class P, class... Ps> constexpr bool replaced() {
    if constexpr (policy<P>) {
        return ([] {
            if constexpr (policy<Ps>) return std::is_same_v<typename P::category, typename Ps::category>;
            else return false;
        }() || ...);
    } else {
        return false;
    }
}

template <class... Ps> policies<Ps...> set_of(types<Ps...>);

struct with_no_set {};
template <class... Ps> with_no_set replace(void*, types<Ps...>);
template <class... Own, class... Ps>
auto replace(types<Own...>*, types<Ps...> with)
    -> decltype(set_of((types<>{} + ... + std::conditional_t<replaced<Own, Ps...>(), types<>, types<Own>>{}) + with));

} // namespace detail

/// Set, with Ps in place of its own answers in their categories.
template <class Set, class... Ps>
struct with : decltype(detail::replace(static_cast<detail::named<Set>*>(nullptr), types<Ps...>{})){};

namespace detail {

/// The answers of a set to what a product reads, as a set: the same one for all sets with the same answers.
template <class Set, class Product>
using answers_of = decltype(detail::set_of(typename detail::resolved<Set, Product>::answers{}));

} // namespace detail

/// The type of `as<Ps...>`: the policies of one heap.
template <class... Ps> struct as_t : policies<Ps...> {};

/// Policies for one heap: rows.heap(allot::as<allot::heap::unique, allot::size::packed>, ...).
template <class... Ps> inline constexpr as_t<Ps...> as{};

namespace detail {

template <class Set, class As> struct overridden_set;
template <class Set> struct overridden_set<Set, as_t<>> {
    using type = Set;
};
template <class Set, class... Ps> struct overridden_set<Set, as_t<Ps...>> {
    using type = with<Set, Ps...>;
};

/// The set of a heap: Set with the policies of As; Set itself for as_t<>.
template <class Set, class As> using overridden = typename detail::overridden_set<Set, As>::type;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
