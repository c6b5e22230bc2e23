// The category `guard`: what is checked or wiped.
//
// Answers are tags with constants that heaps read, so guard::all<...> joins several. The damage that a guard finds is
// reported in every build, through the manager's damage_sink.
// Sources: encoded links as in Linux's hardened freelists, 2017; canaries StackGuard 1998; quarantine
// AddressSanitizer 2012.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace guard {

struct none;
struct encoded;
struct canary;
template <std::size_t Rows = 64> struct quarantine;
struct zero;
template <class... Guards> struct all;

} // namespace guard

namespace category {

struct guard {
    static constexpr std::string_view name = "guard";
    static constexpr std::string_view question = "what is checked or wiped";
    static constexpr std::string_view contract =
        "bool encodes: links in free rows are encoded; std::size_t row_bytes, 0 or 4: a canary behind each row; "
        "std::size_t waits: the releases before a slot is reused; bool wipes: released rows are zeroed";
    static constexpr std::string_view fallback_rule =
        "none; canary in checked builds, where the host can access the memory";
    static constexpr std::string_view room = "heap";
    template <class Provided>
    using fallback_over = std::conditional_t<ALLOT_CHECKED != 0 && Provided::template has<property::host_accessible>,
                                             allot::guard::canary, allot::guard::none>;

    template <class P>
    static constexpr bool takes = detail::answers<P, guard> && requires {
        { P::encodes } -> detail::constant<bool>;
        { P::row_bytes } -> detail::constant<std::size_t>;
        requires P::row_bytes == 0 || P::row_bytes == 4;
        { P::waits } -> detail::constant<std::size_t>;
        { P::wipes } -> detail::constant<bool>;
    };
};

} // namespace category

namespace guard {

/// No checks.
struct none {
    using category = category::guard;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool encodes = false;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = false;
    static constexpr std::string_view about = "nothing";
    static constexpr std::string_view cost = "0";
};

/// Encoded links of free rows. Without effect over slots that keep no links in rows.
struct encoded {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool encodes = true;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = false;
    static constexpr std::string_view about =
        "links in free rows are encoded with a secret of the heap and the row's address, and checked before they are "
        "followed";
    static constexpr std::string_view cost =
        "a dozen instructions per slot that passes through its heaplet; 0 without links in rows (slots::bitmap)";
};

/// A canary behind each row, outside its capacity(). Checked at the row's last release, by check() and by valid().
struct canary {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool encodes = false;
    static constexpr std::size_t row_bytes = 4;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = false;
    static constexpr std::string_view about =
        "a word behind each row, derived from heap and address: an overrun is reported";
    static constexpr std::string_view cost = "4 bytes per row; 4 instructions per release";
};

/// Delays the reuse of released rows: `Rows` per heap, at most one page of them; huge rows are reused at once. The
/// queue is emptied before a request fails, by release_empty_pages(), and when a unique heap's handle or the manager is
/// destroyed.
template <std::size_t Rows> struct quarantine {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool encodes = false;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::size_t waits = Rows;
    static constexpr bool wipes = false;
    static constexpr bool options_valid = Rows >= 1 && Rows <= 65536;
    static constexpr std::string_view about =
        "a released row is filled with a pattern and reused after this many other releases of its heap: a write after "
        "release is reported";
    static constexpr std::string_view cost =
        "8 bytes and the row, per row that waits; each row is written and read once more, and no handle caches it";
};

/// Released rows are zeroed.
struct zero {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool encodes = false;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = true;
    static constexpr std::string_view about = "released rows are zeroed, so rows start zeroed";
    static constexpr std::string_view cost = "each row is written once more, a huge row twice";
};

namespace detail {

template <class... Guards> constexpr bool each_guard() {
    return ((allot::detail::complete<Guards> && category::guard::takes<Guards>) && ...);
}
// Each guard has one effect, and no two have the same.
template <class... Guards> constexpr bool each_distinct() {
    return ((Guards::encodes + (Guards::row_bytes != 0) + (Guards::waits != 0) + Guards::wipes == 1) && ...) &&
           (Guards::encodes + ... + 0) <= 1 && ((Guards::row_bytes != 0) + ... + 0) <= 1 &&
           ((Guards::waits != 0) + ... + 0) <= 1 && (Guards::wipes + ... + 0) <= 1 &&
           (allot::detail::options_valid<Guards>() && ...);
}
template <class... Guards> constexpr bool may_be_joined() {
    if constexpr (sizeof...(Guards) == 0 || !each_guard<Guards...>()) return false;
    else return each_distinct<Guards...>();
}
template <bool Joined, class... Guards> struct joined {
    static constexpr bool encodes = false;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = false;
};
template <class... Guards> struct joined<true, Guards...> {
    static constexpr bool encodes = (Guards::encodes || ...);
    static constexpr std::size_t row_bytes = (Guards::row_bytes + ...);
    static constexpr std::size_t waits = (Guards::waits + ...);
    static constexpr bool wipes = (Guards::wipes || ...);
};
template <class Set, class... Guards> constexpr auto refuse_list() {
    static_assert(may_be_joined<Guards...>(),
                  "allot: guard::all<...> must name different guards, each once, and not none");
}

} // namespace detail

/// Several guards at once; their order has no effect.
template <class... Guards> struct all : detail::joined<detail::may_be_joined<Guards...>(), Guards...> {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool options_valid = detail::may_be_joined<Guards...>();
    template <class Set> static constexpr auto refuse_options() { return detail::refuse_list<Set, Guards...>(); }
    static constexpr std::string_view about = "several of the others, each named once";
    static constexpr std::string_view cost = "the sum of theirs";
};

static_assert(category::guard::takes<none>);
static_assert(category::guard::takes<encoded>);
static_assert(category::guard::takes<canary>);
static_assert(category::guard::takes<quarantine<>>);
static_assert(category::guard::takes<zero>);
static_assert(category::guard::takes<all<encoded, canary, quarantine<>, zero>>);

} // namespace guard

} // namespace allot::inline ALLOT_ABI
