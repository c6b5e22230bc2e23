// row_policies<Set>: the policies of a row manager's set, as the types and constants that this folder uses.
//
// Cost: none at run time.
#pragma once

#include <allot/core/category.hpp>
#include <allot/core/policies.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/watched_ledger.hpp>
#include <allot/page/private_arena.hpp>
#include <allot/row/slot_rows.hpp>
#include <allot/slots/bitmap.hpp>
#include <allot/slots/delay_release.hpp>
#include <allot/slots/linked.hpp>
#include <allot/slots/scanning.hpp>
#include <allot/watch/recorder.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

// `Of`: the set of the row manager; another one where `Set` replaces policies of it for one heap.
template <class Set, class Of = Set> struct row_policies {
    template <class Category> using answer = typename resolved<Set, product::row_manager>::template answer<Category>;

    using page = answer<category::page>;
    using size = answer<category::size>;
    using slots = answer<category::slots>;
    using use = answer<category::heap>;
    using refill = answer<category::refill>;
    using count = answer<category::count>;
    using oom = answer<category::oom>;
    using guard = answer<category::guard>;
    using arena = arena_choice<page, answer<category::retain>>;
    using watch = answer<category::watch>;
    using ledger = watched_ledger<ledger_of<answer<category::ledger>>, recorder_of<watch>>;

    using list = typename size::list;
    // False: headers, free bits and counts are in host memory, and no objects are constructed in rows.
    static constexpr bool host_touches_rows = provided_by<page>::template has<property::host_accessible>;
    // Rows have no other users than those of their manager, so compaction and resize may move them.
    static constexpr bool rows_move = host_touches_rows && provided_by<page>::template has<property::movable>;
    static constexpr bool shares_arena = requires { typename page::arena_type; };
    // The manager cuts rows that would leave much of a page from spans; its heaps have to know one when they release a
    // row. So would other managers of a shared arena.
    static constexpr bool spans =
        requires { resolved<Of, product::row_manager>::template answer<category::size>::spans; } && !shares_arena;
    using place = std::conditional_t<!host_touches_rows, header_out_of_band,
                                     std::conditional_t<spans, header_in_page_beside_spans, header_in_page>>;
    using rows = slot_rows<slots, count, guard, place>;
    using in_spans = slot_rows<slots, count, guard, header_of_span>;

    static constexpr bool packed = size::step < 8; // in heaps of one size, rows are aligned to 4 bytes
    static constexpr bool bucketed = size::rounds; // sizes are rounded up to the next one of the list
    static constexpr bool unique = use::exclusive;
    static constexpr bool limited = !use::exclusive && use::users != 0; // a heap serves at most use::users handles
    static constexpr bool per_thread = use::by_thread;
    static constexpr bool counts = rows::counting::counts;
    static constexpr bool counts_anywhere = std::is_same_v<count, allot::count::links_anywhere>;
    static constexpr bool charges = answer<category::ledger>::charges;
    static constexpr bool in_tree = requires(ledger& l) { l.account(); };
    static constexpr bool lends = requires(ledger& l, const account& by) { l.lender_to(by); };
    static constexpr bool asks = answer<category::spill>::asks; // reclaimers, before a request fails
    static constexpr bool waits = waits_in_tasks<oom>;          // as the arbiter decides
    // A heap of one size has rows of one type; the page header has the type.
    static constexpr bool one_type = unique || packed || !counts;
    // Every row of the arena has its count in front, so link() does not read the page header; with counts_first,
    // release() does not either unless it drops the last link. Checked builds always read it.
    static constexpr bool counts_in_front = counts && !count::out_of_band && !shares_arena && ALLOT_CHECKED == 0;
    static constexpr bool counts_first = counts_in_front && !has_canary<guard>;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
