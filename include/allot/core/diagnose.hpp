// Checks whether a set is well formed, and reports what is wrong: one mistake, one error.
//
// A set is checked in stages: is it a set, are its members policies, each category once, read by the product,
// contracts, options, no answer missing, needs. The first stage that fails reports each of its offenders; later stages
// do not run. An error is a static_assert in a separate function with a deduced return type, instantiated only on
// failure; its template arguments name set, product, policy and rule, and no compiler reports a second error.
// The product becomes a stub (core/error_stub.hpp), so `well_formed` never reports and `check` reports once.
// Compile time only.
#pragma once

#include <allot/core/error_stub.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/product.hpp>
#include <allot/core/property.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {

namespace error {

template <class Set> constexpr auto not_a_set() {
    static_assert(detail::always_false<Set>,
                  "allot: this is not a set of policies: derive an empty struct from allot::policies<...>");
}
// For an empty struct without bases. Most often its base was refused, which is an error already; otherwise this is
// a warning and an error at link.
template <class Set>
ALLOT_WARN_USE("allot: this struct does not derive from allot::policies<...>")
void not_derived_from_policies();

template <class Set, class Policy> constexpr auto not_a_policy() {
    static_assert(detail::always_false<Set>,
                  "allot: this is not a policy: a policy must define category, needs and provides");
}
template <class Set, class Policy> constexpr auto only_declared() {
    static_assert(detail::always_false<Set>, "allot: this policy is only declared: include its header");
}
template <class Set, class Category, class Policy, class Other> constexpr auto named_twice() {
    static_assert(detail::always_false<Set>, "allot: a set names two policies of one category: remove one");
}
template <class Set, class Product, class Category, class Policy> constexpr auto not_read() {
    static_assert(detail::always_false<Set>,
                  "allot: this product does not read the category of a policy: remove the policy");
}
template <class As, class Category, class Policy> constexpr auto not_for_one_heap() {
    static_assert(detail::always_false<As>,
                  "allot: as<...> names a policy that one heap cannot choose: name it in the manager's set");
}
template <class Set, class Product, class Category> constexpr auto missing() {
    static_assert(detail::always_false<Set>, "allot: the set must name a policy of a category that has no fallback");
}
template <class Set, class Category, class Policy> constexpr auto broken_contract() {
    static_assert(detail::always_false<Set>,
                  "allot: a policy breaks the contract of its category: see the category's `contract`");
}
template <class Set, class Category, class Policy> constexpr auto bad_options() {
    static_assert(detail::always_false<Set>, "allot: a policy has an invalid option: see the policy's `options_valid`");
}
template <class Set, class Category, class Policy, class Need> constexpr auto unmet_need() {
    static_assert(detail::always_false<Set>,
                  "allot: a policy needs a property that no policy of the set provides: replace one of them");
}

} // namespace error

namespace detail {

enum class stage {
    fine,
    no_set,
    bare_struct,
    no_policy,
    only_declared,
    twice,
    not_read,
    missing,
    contract,
    options,
    needs
};

template <class P, class... Ps> constexpr int times() {
    return (static_cast<int>(std::is_same_v<typename P::category, typename Ps::category>) + ...);
}

template <class P> inline constexpr bool declared_only = !complete<P> && (std::is_class_v<P> || std::is_union_v<P>);
template <class P> inline constexpr bool perhaps_policy = policy<P> || declared_only<P>;

// --- the stages of the named policies ----------------------------------------------------------------------
template <class Reads, class... Ps> constexpr stage judge_named(types<Ps...>) {
    if constexpr (!(perhaps_policy<Ps> && ...)) return stage::no_policy;
    else if constexpr (!(policy<Ps> && ...)) return stage::only_declared;
    else if constexpr (!((times<Ps, Ps...>() == 1) && ...)) return stage::twice;
    else if constexpr (!(lists<Reads, typename Ps::category> && ...)) return stage::not_read;
    else if constexpr (!(Ps::category::template takes<Ps> && ...)) return stage::contract;
    else if constexpr (!(options_valid<Ps>() && ...)) return stage::options;
    else return stage::fine;
}

// --- the stages of all answers -----------------------------------------------------------------------------
template <class P, class Provided, class... Needs> constexpr bool all_provided(types<Needs...>) {
    return (Provided::template has<Needs> && ...);
}

template <class... Categories, class... Answers>
constexpr stage judge_answers(types<Categories...>, types<Answers...>) {
    if constexpr ((std::is_same_v<Answers, absent> || ...)) return stage::missing;
    else if constexpr (!(complete<Answers> && ...)) return stage::only_declared;
    else if constexpr (!(all_provided<Answers, provided_by<Answers...>>(typename Answers::needs{}) && ...))
        return stage::needs;
    else return stage::fine;
}

// is_bare: an empty class without bases, found by aggregate initialization of a base.
template <class Set> struct to_a_base {
    template <class T>
        requires(!std::is_same_v<T, Set>)
    operator T() const;
};
template <class Set> constexpr bool is_bare() {
    if constexpr (!std::is_class_v<Set> || !complete<Set>) return false;
    else return std::is_empty_v<Set> && !policy<Set> && !requires { Set{to_a_base<Set>{}}; };
}

template <class Set, class Product> constexpr stage stage_of() {
    using listed = named<Set>;
    if constexpr (std::is_void_v<listed>) {
        return is_bare<Set>() ? stage::bare_struct : stage::no_set;
    } else {
        constexpr stage at = judge_named<typename Product::reads>(listed{});
        if constexpr (at != stage::fine) return at;
        else return judge_answers(typename Product::reads{}, typename resolved<Set, Product>::answers{});
    }
}

// --- the reports: instantiated only on failure -------------------------------------------------------------
template <class Set, class P> constexpr void report_no_policy() {
    if constexpr (!perhaps_policy<P>) error::not_a_policy<Set, P>();
}
template <class Set, class P> constexpr void report_declared() {
    if constexpr (!complete<P>) error::only_declared<Set, P>();
}

// Some functions below visit all categories, because nvcc names a category only through the list it comes from.
template <class Category, class P> inline constexpr bool is_of = std::is_same_v<Category, typename P::category>;

// `Before` is the policy of the category found before; void: none.
template <class Set, class Category, class Before> constexpr void report_twice(types<>) {}
template <class Set, class Category, class Before, class P, class... Ps> constexpr void report_twice(types<P, Ps...>) {
    if constexpr (!is_of<Category, P>) {
        report_twice<Set, Category, Before>(types<Ps...>{});
    } else {
        if constexpr (!std::is_void_v<Before>) error::named_twice<Set, Category, Before, P>();
        report_twice<Set, Category, P>(types<Ps...>{});
    }
}
template <class Set, class Product, class P, class... Ps> constexpr void report_unread_twice(types<Ps...> all) {
    if constexpr (!lists<typename Product::reads, typename P::category>)
        report_twice<Set, typename P::category, void>(all);
}
template <class As, class Category, class P> constexpr void report_not_for_one_heap() {
    if constexpr (is_of<Category, P>) error::not_for_one_heap<As, Category, P>();
}
template <class Set, class Product, class P, class... Categories> constexpr void report_not_read(types<Categories...>) {
    if constexpr (!lists<typename Product::reads, typename P::category>) {
        if constexpr (std::is_same_v<Product, product::row_heap> && (is_of<Categories, P> || ...))
            (report_not_for_one_heap<Set, Categories, P>(), ...);
        else error::not_read<Set, Product, typename P::category, P>();
    }
}
template <class Set, class Category, class P> constexpr void report_contract() {
    if constexpr (is_of<Category, P>)
        if constexpr (!Category::template takes<P>) error::broken_contract<Set, Category, P>();
}
template <class Set, class Category, class P> constexpr void report_options() {
    if constexpr (is_of<Category, P> && !options_valid<P>()) {
        if constexpr (requires { P::template refuse_options<Set>; }) P::template refuse_options<Set>();
        else error::bad_options<Set, Category, P>();
    }
}
template <class Set, class Category, class P, class Provided, class Need> constexpr void report_need() {
    if constexpr (!Provided::template has<Need>) error::unmet_need<Set, Category, P, Need>();
}
template <class Set, class Category, class P, class Provided, class... Needs>
constexpr void report_needs(types<Needs...>) {
    (report_need<Set, Category, P, Provided, Needs>(), ...);
}
template <class Set, class Product, class Category, class P> constexpr void report_missing() {
    if constexpr (std::is_same_v<P, absent>) error::missing<Set, Product, Category>();
}

template <class Set, class Product, stage At, class Category, class... Ps> constexpr void report_category() {
    if constexpr (At == stage::twice) report_twice<Set, Category, void>(types<Ps...>{});
    else if constexpr (At == stage::contract) (report_contract<Set, Category, Ps>(), ...);
    else if constexpr (At == stage::options) (report_options<Set, Category, Ps>(), ...);
}

template <class Set, class Product, stage At, class... Ps, class... Categories>
constexpr void report_named(types<Ps...>, types<Categories...>) {
    if constexpr (At == stage::no_policy) (report_no_policy<Set, Ps>(), ...);
    else if constexpr (At == stage::only_declared) (report_declared<Set, Ps>(), ...);
    else if constexpr (At == stage::not_read) (report_not_read<Set, Product, Ps>(product::row_manager::reads{}), ...);
    else {
        (report_category<Set, Product, At, Categories, Ps...>(), ...);
        if constexpr (At == stage::twice) (report_unread_twice<Set, Product, Ps>(types<Ps...>{}), ...);
    }
}

template <class Set, class Product, stage At, class... Categories, class... Answers>
constexpr void report_answers(types<Categories...>, types<Answers...>) {
    if constexpr (At == stage::missing) (report_missing<Set, Product, Categories, Answers>(), ...);
    else if constexpr (At == stage::only_declared) (report_declared<Set, Answers>(), ...);
    else (report_needs<Set, Categories, Answers, provided_by<Answers...>>(typename Answers::needs{}), ...);
}

// Reports the offenders of the first stage that fails. Not of bare_struct, which the constructor of `refused` reports.
template <class Set, class Product> constexpr void report() {
    constexpr stage failed = stage_of<Set, Product>();
    if constexpr (failed == stage::no_set) error::not_a_set<Set>();
    else if constexpr (failed != stage::fine && failed != stage::bare_struct) {
        constexpr stage failed_named = judge_named<typename Product::reads>(named<Set>{});
        if constexpr (failed_named != stage::fine)
            report_named<Set, Product, failed_named>(named<Set>{}, typename Product::reads{});
        else
            report_answers<Set, Product, failed>(typename Product::reads{}, typename resolved<Set, Product>::answers{});
    }
}

} // namespace detail

/// True when Set is a valid set of policies for Product. Never an error.
template <class Set, class Product>
inline constexpr bool well_formed = detail::stage_of<Set, Product>() == detail::stage::fine;

/// As well_formed, and reports the errors once. decltype(check<Set, Product>()) is enough.
template <class Set, class Product> constexpr auto check() {
    if constexpr (!well_formed<Set, Product>) detail::report<Set, Product>();
    return well_formed<Set, Product>;
}

namespace detail {

/// True when As, an as_t<...>, is valid for a heap of a row manager of Set. Never an error.
template <class Set, class As> constexpr bool well_formed_heap() {
    if constexpr (!std::is_void_v<detail::named<As>>) {
        if constexpr (detail::judge_named<product::row_heap::reads>(detail::named<As>{}) == detail::stage::fine)
            return well_formed<overridden<Set, As>, product::row_manager>;
    }
    return false;
}

/// As well_formed_heap(), and reports the errors once.
template <class Set, class As> constexpr auto check_heap() {
    if constexpr (well_formed<Set, product::row_manager> && !well_formed_heap<Set, As>()) {
        constexpr detail::stage failed = detail::judge_named<product::row_heap::reads>(detail::named<As>{});
        if constexpr (failed != detail::stage::fine)
            detail::report_named<As, product::row_heap, failed>(detail::named<As>{}, product::row_heap::reads{});
        else check<overridden<Set, As>, product::row_manager>();
    }
    return well_formed_heap<Set, As>();
}

// The base of a product of a refused set: reports the mistake once, and accepts any use.
template <class Set, class Product> struct refused : stub_members {
    using checked = decltype(check<Set, Product>());

    template <class... As> explicit refused(As&&...) {
        if constexpr (stage_of<Set, Product>() == stage::bare_struct) error::not_derived_from_policies<Set>();
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
