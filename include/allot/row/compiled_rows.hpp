// What the compiled library has of row managers: the code of sets that many projects use, and of a project's own sets.
//
//     struct engine_rows : allot::policies<allot::ledger::tree, allot::slots::scanning> {};
//     ALLOT_COMPILED_ROWS(engine_rows) // behind the set, at global scope: the library has the code of its managers
//
// A set of the library's needs no such line, and of several with the same answers one has it; else the file with their
// code does not compile, and says so. A set without one shares with the library what its own answers do not change:
// heaps by their slots, size classes.
// Cost: none header-only. With ALLOT_COMPILED a file has little code of these sets; the library has some 70 KB for each.
#pragma once

#include <allot/config.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/product.hpp>
#include <allot/row/local_rows.hpp>
#include <allot/row/row_core.hpp>
#include <allot/row/row_heap.hpp>
#include <allot/row/row_tenant.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail::compiled {

template <class Set> using answers = answers_of<Set, product::row_manager>;
template <class Set> using core = row_core<answers<Set>>;

struct plain_rows : policies<> {};
struct packed_rows : policies<size::packed> {};
struct roxie_rows : policies<size::bucketed<size::list::roxie>> {};

using guard = row_policies<answers<plain_rows>>::guard; // canary in checked builds
template <class Slots> using heap = fixed_heap<Slots, guard, header_in_page>;
using rows = row_policies<answers<plain_rows>>::rows;
using ledger = row_policies<answers<plain_rows>>::ledger;

} // namespace detail::compiled
} // namespace allot::inline ALLOT_ABI

#define ALLOT_ROW_INSTANCES(X, set)                                                                                    \
    X(detail::row_core<detail::compiled::answers<set>>)                                                                \
    X(detail::row_bins<detail::compiled::answers<set>, detail::no_entry>)                                              \
    X(detail::row_bins<detail::compiled::answers<set>, detail::thread_cache_base>)                                     \
    X(detail::thread_bins<detail::compiled::answers<set>>)                                                             \
    X(detail::thread_cache_registry<detail::compiled::core<set>, detail::thread_bins<detail::compiled::answers<set>>>) \
    X(detail::row_tenant<detail::compiled::core<set>>)                                                                 \
    X(detail::row_requests<detail::compiled::core<set>, std::size_t, const row_type&>)                                 \
    X(detail::row_requests<detail::local_rows_of<detail::compiled::answers<set>>, std::size_t, const row_type&>)       \
    X(detail::row_requests<                                                                                            \
        row_heap<detail::compiled::answers<set>, detail::row_policies<detail::compiled::answers<set>>>>)
/// The library has the code of row managers of this set.
#define ALLOT_COMPILED_ROWS(set) ALLOT_SET_INSTANCES(ALLOT_ROW_INSTANCES, set)

#define ALLOT_HEAP_INSTANCES(X, slots)                                                                                 \
    X(detail::page_queues<detail::heaplet<slots, detail::compiled::guard, detail::header_in_page>>)                    \
    X(detail::leaving_pages<detail::heaplet<slots, detail::compiled::guard, detail::header_in_page>>)                  \
    X(detail::slot_store<slots, detail::compiled::guard, detail::header_in_page>)                                      \
    X(detail::slot_caches<detail::slot_store<slots, detail::compiled::guard, detail::header_in_page>>)                 \
    X(detail::fixed_heap<slots, detail::compiled::guard, detail::header_in_page>)                                      \
    X(detail::slot_bin<detail::compiled::heap<slots>>)                                                                 \
    X(detail::spare_bins<detail::compiled::heap<slots>>)                                                               \
    X(detail::slot_rows<slots, count::links, detail::compiled::guard, detail::header_in_page>)
ALLOT_INSTANCES(ALLOT_HEAP_INSTANCES, slots::bitmap)
ALLOT_INSTANCES(ALLOT_HEAP_INSTANCES, slots::scanning)

#define ALLOT_SHARED_ROW_INSTANCES(X, counted)                                                                         \
    X(detail::size_classes<size::list::fine>)                                                                          \
    X(detail::size_classes<size::list::roxie>)                                                                         \
    X(detail::buckets<detail::compiled::rows, size::list::fine>)                                                       \
    X(detail::huge_register<detail::header_in_page>)                                                                   \
    X(detail::huge_rows<true, detail::compiled::guard, detail::header_in_page>)                                        \
    X(detail::charged_pages<counted>)                                                                                  \
    X(detail::ledger_pages<counted>)
ALLOT_INSTANCES(ALLOT_SHARED_ROW_INSTANCES, detail::compiled::ledger)

ALLOT_INSTANCES(ALLOT_ROW_INSTANCES, detail::compiled::plain_rows)
ALLOT_INSTANCES(ALLOT_ROW_INSTANCES, detail::compiled::packed_rows)
ALLOT_INSTANCES(ALLOT_ROW_INSTANCES, detail::compiled::roxie_rows)
