// The policies of a device allocator's set, as types and constants for its implementation, and the checks of the set.
// Cost: none at run time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category.hpp>
#include <allot/core/diagnose.hpp>
#include <allot/core/policies.hpp>
#include <allot/device/on_device.hpp>
#include <allot/device_allocator/stream_tag.hpp>
#include <allot/fit/best.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/page/mapped.hpp> // the category's fallback, so that the error for a set without a page is ours

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

namespace error {

template <class Set> constexpr auto not_on_a_device() {
    static_assert(detail::always_false<Set>,
                  "allot: a device_allocator needs page::on_device<Api>: name it in the set");
}
template <class Set, class Policy> constexpr auto fit_without_stream_tags() {
    static_assert(detail::always_false<Set>,
                  "allot: a device_allocator needs a fit that tags free runs with their stream: use fit::best");
}
template <class Set, class Policy> constexpr auto not_yet_on_a_device() {
    static_assert(detail::always_false<Set>,
                  "allot: a device_allocator does not support this policy yet: leave it out of the set");
}

} // namespace error

namespace detail {

template <class Page> inline constexpr bool is_on_device = false;
template <class Api> inline constexpr bool is_on_device<page::on_device<Api>> = true;

template <class Set> struct device_policies {
    template <class Category>
    using answer = typename resolved<Set, product::device_allocator>::template answer<Category>;

    using page = answer<category::page>;
    using api = typename page::api;
    using runs = typename answer<category::fit>::template of<stream_tag>;
    using ledger = ledger_of<answer<category::ledger>>;
    using retain = answer<category::retain>;
    static constexpr bool at_once = answer<category::order>::at_once;
    // Marks follow stream order, so order::host makes none.
    static constexpr bool tracks_blocks = !at_once && device::tracks_blocks<api>;
    static constexpr bool charges = answer<category::ledger>::charges;
    static constexpr bool in_tree = requires(ledger& l) { l.account(); };
    static constexpr bool lends = requires(ledger& l, const account& by) { l.lender_to(by); };
    static constexpr bool asks = answer<category::spill>::asks;          // reclaimers, before a request fails
    static constexpr bool waits = waits_in_tasks<answer<category::oom>>; // as the arbiter decides
    static constexpr bool raises = answer<category::oom>::raises;
    static constexpr bool counts = answer<category::watch>::counts;

    // Bytes; SIZE_MAX: none.
    static std::size_t limit_of(const ledger& l) noexcept {
        if constexpr (charges) return l.limit();
        else return SIZE_MAX;
    }
};

template <class Set> constexpr bool makes_device_allocator() {
    if constexpr (well_formed<Set, product::device_allocator>) {
        using answers = resolved<Set, product::device_allocator>;
        using watch = typename answers::template answer<category::watch>;
        return is_on_device<typename answers::template answer<category::page>> &&
               answers::template answer<category::fit>::tags && !watch::at_peak && watch::events == 0;
    }
    return false;
}

// Reports, once, a policy of a well-formed set that this product does not support.
template <class Set> constexpr auto check_device_allocator() {
    if constexpr (well_formed<Set, product::device_allocator> && !makes_device_allocator<Set>()) {
        using answers = resolved<Set, product::device_allocator>;
        if constexpr (!is_on_device<typename answers::template answer<category::page>>) error::not_on_a_device<Set>();
        else if constexpr (!answers::template answer<category::fit>::tags)
            error::fit_without_stream_tags<Set, typename answers::template answer<category::fit>>();
        else error::not_yet_on_a_device<Set, typename answers::template answer<category::watch>>();
    }
    return makes_device_allocator<Set>();
}

// Numbers of events so far; empty under watch::none.
struct device_counters {
    std::uint64_t allocations = 0, frees = 0, refused = 0, steals = 0, grown = 0, released = 0, joined = 0;
};
struct no_device_counters {};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
