// Constructor arguments of a product, in any order: limit{512_MiB}, name{"rows"}, an arena.
//
// An argument matches a wanted type when it is of that type, derives from it, or converts to it (an array of bytes to a
// span of them). Without a match the product's default applies. Compile time; arguments are passed by reference.
#pragma once

#include <allot/core/property.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Value, class Wanted>
inline constexpr bool is_a =
    std::is_base_of_v<Wanted, std::remove_cvref_t<Value>> || std::is_same_v<Wanted, std::remove_cvref_t<Value>>;
template <class Value, class Wanted>
inline constexpr bool is_or_converts_to = is_a<Value, Wanted> || std::is_convertible_v<Value, Wanted>;

template <class Wanted, class V, class... Vs> constexpr decltype(auto) pick_first(V&& v, Vs&&... vs) noexcept {
    if constexpr (is_a<V, Wanted>) return static_cast<V&&>(v);
    else if constexpr (is_or_converts_to<V, Wanted>) return static_cast<Wanted>(static_cast<V&&>(v));
    else return pick_first<Wanted>(static_cast<Vs&&>(vs)...);
}

} // namespace detail

/// True when one of the values matches Wanted.
template <class Wanted, class... Vs> inline constexpr bool given = (detail::is_or_converts_to<Vs, Wanted> || ...);

namespace detail {

/// Returns: the first value that matches Wanted, by reference or converted.
template <class Wanted, class... Vs>
    requires given<Wanted, Vs...>
constexpr decltype(auto) pick(Vs&&... vs) noexcept {
    return detail::pick_first<Wanted>(static_cast<Vs&&>(vs)...);
}

} // namespace detail

/// As pick(), by value. Returns: `otherwise` when no value matches.
template <class Wanted, class... Vs>
constexpr Wanted value_or(std::type_identity_t<Wanted> otherwise, [[maybe_unused]] Vs&&... vs) noexcept {
    if constexpr (given<Wanted, Vs...>) return detail::pick_first<Wanted>(static_cast<Vs&&>(vs)...);
    else return otherwise;
}

namespace error {

template <class Product, class Set, class Value> constexpr auto value_without_use() {
    static_assert(
        detail::always_false<Set>,
        "allot: this set has no use for a constructor argument: remove it, or add the policy that takes it to "
        "the set (an account: ledger::tree)");
}
template <class Product, class Set, class Wanted> constexpr auto value_twice() {
    static_assert(detail::always_false<Set>, "allot: a constructor argument is given twice: pass it once");
}
template <class Product, class Set, class Wanted> constexpr auto value_missing() {
    static_assert(detail::always_false<Set>, "allot: this set needs a constructor argument that is missing: pass it");
}

} // namespace error

namespace detail {

template <class Wanted, class... Vs>
inline constexpr int times_given = (static_cast<int>(is_or_converts_to<Vs, Wanted>) + ... + 0);

template <class Product, class Set, class Value, class... Accepts> constexpr void report_use(types<Accepts...>) {
    if constexpr (!(is_or_converts_to<Value, Accepts> || ...)) error::value_without_use<Product, Set, Value>();
}
template <class Product, class Set, class Wanted, class... Vs> constexpr void report_times() {
    if constexpr (times_given < Wanted, Vs... >> 1) error::value_twice<Product, Set, Wanted>();
}
template <class Product, class Set, class Wanted, class... Vs> constexpr void report_missing_value() {
    if constexpr (!given<Wanted, Vs...>) error::value_missing<Product, Set, Wanted>();
}

template <class Product, class Set, class... Accepts, class... Vs>
constexpr void report_values(types<Accepts...>, types<Vs...>) {
    (report_use<Product, Set, Vs>(types<Accepts...>{}), ...);
    (report_times<Product, Set, Accepts, Vs...>(), ...);
}

/// Reports one error for a value that is given twice, or that matches none of `Accepts`, a types<...>.
template <class Product, class Set, class Accepts, class... Vs> constexpr void check_values() {
    detail::report_values<Product, Set>(Accepts{}, types<Vs...>{});
}

/// Reports one error for each type of `Wanted`, a types<...>, that no value matches.
template <class Product, class Set, class Wanted, class... Vs> constexpr void check_needed() {
    []<class... Ws>(types<Ws...>) { (detail::report_missing_value<Product, Set, Ws, Vs...>(), ...); }(Wanted{});
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
