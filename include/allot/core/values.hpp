// Values that a product's constructor takes in any order: limit{512_MiB}, name{"rows"}, an arena.
//
// A value answers a wanted type when it is one, derives from one, or converts to one (an array of bytes to a
// span of them). What is not given has the product's default. Compile time, and references: nothing is copied
// here.
#pragma once

#include <allot/core/diagnose.hpp>
#include <allot/core/property.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {

namespace detail {

template <class Value, class Wanted>
inline constexpr bool is_a =
    std::is_base_of_v<Wanted, std::remove_cvref_t<Value>> || std::is_same_v<Wanted, std::remove_cvref_t<Value>>;
template <class Value, class Wanted>
inline constexpr bool gives = is_a<Value, Wanted> || std::is_convertible_v<Value, Wanted>;

template <class Wanted, class V, class... Vs> constexpr decltype(auto) pick_first(V&& v, Vs&&... vs) noexcept {
    if constexpr (is_a<V, Wanted>) return static_cast<V&&>(v);
    else if constexpr (gives<V, Wanted>) return static_cast<Wanted>(static_cast<V&&>(v));
    else return pick_first<Wanted>(static_cast<Vs&&>(vs)...);
}

} // namespace detail

/// True where one of the values answers Wanted.
template <class Wanted, class... Vs> inline constexpr bool given = (detail::gives<Vs, Wanted> || ...);

/// The first value that answers Wanted: as it was passed, or converted. Needs given<Wanted, Vs...>.
template <class Wanted, class... Vs>
    requires given<Wanted, Vs...>
constexpr decltype(auto) pick(Vs&&... vs) noexcept {
    return detail::pick_first<Wanted>(static_cast<Vs&&>(vs)...);
}

/// The same by value, or `otherwise` where none is given.
template <class Wanted, class... Vs>
constexpr Wanted value_or(std::type_identity_t<Wanted> otherwise, [[maybe_unused]] Vs&&... vs) noexcept {
    if constexpr (given<Wanted, Vs...>) return detail::pick_first<Wanted>(static_cast<Vs&&>(vs)...);
    else return otherwise;
}

namespace error {

template <class Product, class Set, class Value> constexpr auto value_without_use() {
    static_assert(holds<Set>, "allot: a value was given at run time for which this set has no use");
}
template <class Product, class Set, class Wanted> constexpr auto value_twice() {
    static_assert(holds<Set>, "allot: a value was given twice at run time");
}
template <class Product, class Set, class Wanted> constexpr auto value_missing() {
    static_assert(holds<Set>, "allot: this set needs a value at run time that was not given");
}

} // namespace error

namespace detail {

template <class Wanted, class... Vs> inline constexpr int times_given = (static_cast<int>(gives<Vs, Wanted>) + ... + 0);

template <class Product, class Set, class Value, class... Accepts> constexpr void report_use(types<Accepts...>) {
    if constexpr (!(gives<Value, Accepts> || ...)) error::value_without_use<Product, Set, Value>();
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

} // namespace detail

/// One error where a value is given twice, or is none of `Accepts`, a types<...>; otherwise nothing.
template <class Product, class Set, class Accepts, class... Vs> constexpr void check_values() {
    detail::report_values<Product, Set>(Accepts{}, types<Vs...>{});
}

/// One error for each of `Wanted`, a types<...>, that none of the values answers.
template <class Product, class Set, class Wanted, class... Vs> constexpr void check_needed() {
    []<class... Ws>(types<Ws...>) { (detail::report_missing_value<Product, Set, Ws, Vs...>(), ...); }(Wanted{});
}

} // namespace allot::inline ALLOT_ABI
