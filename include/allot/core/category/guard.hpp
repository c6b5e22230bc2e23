// The category `guard`: what is checked or wiped.
//
// Answers are tags; heaps act on their constants, so that several are joined by adding up: guard::all<...>. What a
// guard finds is told in every build, through the manager's damage_sink.
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
        "bool encodes: links in free rows are written in a code; std::size_t row_bytes, 0 or 4: a canary behind each "
        "row; std::size_t waits: releases before a slot is used again; bool wipes: released rows are zeroed";
    static constexpr std::string_view fallback_rule =
        "none; canary in checked builds, where the host can touch the memory";
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

/// Accepted over slots without links in rows, too: what it protects is not there, and the set can be swept over.
struct encoded {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool encodes = true;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = false;
    static constexpr std::string_view about =
        "links in free rows are written in a code of heap and address, and held against the page before they are "
        "followed";
    static constexpr std::string_view cost =
        "a dozen instructions a slot that passes through its heaplet; 0 where no link lies in a row (slots::bitmap)";
};

/// Not part of capacity(). Verified at the row's last release, by check() and by valid().
struct canary {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool encodes = false;
    static constexpr std::size_t row_bytes = 4;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = false;
    static constexpr std::string_view about = "a word of heap and address behind each row: an overrun is told";
    static constexpr std::string_view cost = "4 bytes a row; 4 instructions a release";
};

/// Rows a heap, fewer when they are large: at most a page of them. Huge rows do not wait. The queue is emptied
/// before a request fails, by release_empty_pages(), and at the end of a unique heap's handle and of the manager.
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
        "a released row waits for this many others of its heap, filled with a pattern: a write after release is told";
    static constexpr std::string_view cost =
        "8 bytes a row that waits, and the row; each row is written and read once more, without a handle's cache";
};

struct zero {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool encodes = false;
    static constexpr std::size_t row_bytes = 0;
    static constexpr std::size_t waits = 0;
    static constexpr bool wipes = true;
    static constexpr std::string_view about = "rows are wiped when they are released, and start zeroed";
    static constexpr std::string_view cost = "each row is written once more, a huge one twice";
};

namespace detail {

template <class... Guards> constexpr bool each_guard() {
    return ((allot::detail::complete<Guards> && category::guard::takes<Guards>) && ...);
}
// Each of them does something, and no two the same.
template <class... Guards> constexpr bool each_its_own() {
    return ((Guards::encodes + (Guards::row_bytes != 0) + (Guards::waits != 0) + Guards::wipes == 1) && ...) &&
           (Guards::encodes + ... + 0) <= 1 && ((Guards::row_bytes != 0) + ... + 0) <= 1 &&
           ((Guards::waits != 0) + ... + 0) <= 1 && (Guards::wipes + ... + 0) <= 1 &&
           (allot::detail::options_valid<Guards>() && ...);
}
template <class... Guards> constexpr bool may_be_joined() {
    if constexpr (sizeof...(Guards) == 0 || !each_guard<Guards...>()) return false;
    else return each_its_own<Guards...>();
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
    static_assert(may_be_joined<Guards...>(), "allot: guard::all<...> joins different guards, each named once");
}

} // namespace detail

/// Several at once; their order has no effect.
template <class... Guards> struct all : detail::joined<detail::may_be_joined<Guards...>(), Guards...> {
    using category = category::guard;
    using needs = types<property::host_accessible>;
    using provides = types<>;
    static constexpr bool options_valid = detail::may_be_joined<Guards...>();
    template <class Set> static constexpr auto refuse_options() { return detail::refuse_list<Set, Guards...>(); }
    static constexpr std::string_view about = "several of the others at once, each named once";
    static constexpr std::string_view cost = "theirs together";
};

static_assert(category::guard::takes<none>);
static_assert(category::guard::takes<encoded>);
static_assert(category::guard::takes<canary>);
static_assert(category::guard::takes<quarantine<>>);
static_assert(category::guard::takes<zero>);
static_assert(category::guard::takes<all<encoded, canary, quarantine<>, zero>>);

} // namespace guard

} // namespace allot::inline ALLOT_ABI
