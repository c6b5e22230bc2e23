// The policies of a chunk arena's set, as the types that the arena is made of.
//
// Cost: none at run time.
#pragma once

#include <allot/chunk/block_size_classes.hpp>
#include <allot/chunk/block_table.hpp>
#include <allot/chunk/charged_metadata.hpp>
#include <allot/config.hpp>
#include <allot/core/category.hpp>
#include <allot/core/diagnose.hpp>
#include <allot/core/policies.hpp>
#include <allot/fit/best.hpp> // the category's fallback
#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/watched_ledger.hpp>
#include <allot/page/private_arena.hpp>
#include <allot/watch/recorder.hpp>

namespace allot::inline ALLOT_ABI {

namespace error {

template <class Set, class Policy> constexpr auto not_a_user_of_chunks() {
    static_assert(detail::always_false<Set>,
                  "allot: a chunk_arena serves all threads; name heap::shared or heap::per_thread instead");
}

} // namespace error

namespace detail {

template <class Set> struct chunk_policies {
    template <class Category> using answer = typename resolved<Set, product::chunk_arena>::template answer<Category>;

    using fit = typename answer<category::fit>::template of<no_tag, charged_metadata>;
    using classes = block_size_classes<std::size_t{1} << block_table::unit_shift, answer<category::fit>::classes>;
    static constexpr bool joins_ranges = !requires(const fit& f) { f.is_range(f.largest()); };
    // Large blocks are whole pages: free pages of the arena are not charged, free runs of a chunk are. So pages are
    // small.
    static constexpr bool whole_pages = answer<category::fit>::whole_pages;
    using arena = arena_choice<answer<category::page>, answer<category::retain>, whole_pages ? page::min_bytes : 0>;
    using watch = answer<category::watch>;
    using ledger = watched_ledger<ledger_of<answer<category::ledger>>, recorder_of<watch>>;
    static constexpr bool per_thread = answer<category::heap>::by_thread;
    static constexpr bool charges = answer<category::ledger>::charges;
    static constexpr bool in_tree = requires(ledger& l) { l.account(); };
    static constexpr bool lends = requires(ledger& l, const account& by) { l.lender_to(by); };
    static constexpr bool asks = answer<category::spill>::asks;          // reclaimers, before a request fails
    static constexpr bool waits = waits_in_tasks<answer<category::oom>>; // as the arbiter decides
    static constexpr bool shares_arena = requires { typename answer<category::page>::arena_type; };
    static constexpr bool raises = answer<category::oom>::raises;
    static constexpr bool counts = watch::counts;
    static constexpr bool host_access = provided_by<answer<category::page>>::template has<property::host_accessible>;
    static constexpr bool returns_pages = answer<category::retain>::when_called;
};

template <class Set> constexpr bool makes_chunk_arena() {
    if constexpr (well_formed<Set, product::chunk_arena>) {
        using use = typename resolved<Set, product::chunk_arena>::template answer<category::heap>;
        return !use::exclusive && use::users == 0;
    }
    return false;
}

// Reports, once, the policy of a well-formed set that this product cannot use.
template <class Set> constexpr auto check_chunk_arena() {
    if constexpr (well_formed<Set, product::chunk_arena> && !makes_chunk_arena<Set>())
        error::not_a_user_of_chunks<Set,
                                    typename resolved<Set, product::chunk_arena>::template answer<category::heap>>();
    return makes_chunk_arena<Set>();
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
