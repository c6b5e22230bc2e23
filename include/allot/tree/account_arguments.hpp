// The arguments of an account's constructor: a name first, then values in any order. A wrong argument gives one error.
//
// Cost: none at run time. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/request/judge.hpp>
#include <allot/tree/account_status.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class V, class... Known> constexpr bool is_one_of(types<Known...>) noexcept {
    return (is_a<V, Known> || ...);
}
using account_values = types<allot::limit, allot::watermark, credit_step, leak_sink, judged_by, std::nothrow_t>;
template <class V> concept account_value = is_one_of<V>(account_values{});

struct account_arguments {
    const char* name;
    std::size_t limit, watermark, step;
    leak_sink leaks;
    judged_by judged;

    // False: the account cannot open.
    bool has_valid_step() const noexcept { return step <= credit_step::max_bytes; }

    template <class... Values>
    explicit account_arguments(allot::name who, const Values&... values) noexcept
        : name(who.text), limit(value_or<allot::limit>({SIZE_MAX}, values...).bytes),
          watermark(value_or<allot::watermark>({SIZE_MAX}, values...).bytes),
          step(given<credit_step, const Values&...> ? value_or<credit_step>({}, values...).bytes : 0),
          leaks(value_or<leak_sink>({&leaks_to_stderr}, values...)), judged(value_or<judged_by>({}, values...)) {}
};

// Whether the constructor of a root must check the credit step.
template <class... Values>
inline constexpr bool may_refuse_step =
    given<credit_step, const Values&...> && !given<std::nothrow_t, const Values&...>;

template <class... Values> constexpr void check_account_values() noexcept {
    []<class... Known>(types<Known...>) {
        static_assert(
            (account_value<Values> && ...),
            "allot: an account takes only limit, watermark, credit_step, leak_sink, an arbiter and std::nothrow; "
            "remove any other argument");
        static_assert(((times_given<Known, Values...> <= 1) && ...),
                      "allot: an account was given two values of one type; pass each value once");
    }(account_values{});
}
template <class... Values> constexpr void check_child_values() noexcept {
    check_account_values<Values...>();
    static_assert(!given<judged_by, const Values&...>,
                  "allot: only a root account takes an arbiter, which decides over all accounts below it");
}
template <class First> allot::name account_name_missing(const First&) noexcept {
    static_assert(!account_value<First>,
                  "allot: the first argument of an account must be a name: account{name{...}, ...}, or "
                  "account{parent, name{...}, ...}");
    return allot::name{""};
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
