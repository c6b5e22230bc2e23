// The list of our subjects, one line each. Every workload that a subject supports runs it.
#pragma once

#include <harness/rounds.hpp>
#include <ours/subjects.hpp>
#include <ours/walk.hpp>
#include <workloads/bytes.hpp>
#include <workloads/pages.hpp>
#include <workloads/release_all.hpp>

#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>

#include <string>
#include <vector>

namespace bench {

using unique = allot::heap::unique;
using packed = allot::size::packed;
using uncounted = allot::count::none;
using blocked = allot::refill::blocked<16>;

struct bitmap_rows : allot::policies<allot::slots::bitmap> {};
struct linked_rows : allot::policies<allot::slots::linked> {};
struct scanning_rows : allot::policies<allot::slots::scanning> {};
struct delayed_rows : allot::policies<allot::slots::delay_release> {};
struct guarded_rows
    : allot::policies<allot::slots::linked, allot::guard::all<allot::guard::encoded, allot::guard::canary>> {};
struct thread_rows
    : allot::policies<allot::slots::bitmap, allot::heap::per_thread, allot::size::bucketed<allot::size::list::fine>> {};
struct uncounted_rows : allot::policies<allot::slots::bitmap, uncounted> {};
struct packed_rows : allot::policies<allot::slots::bitmap, unique, packed> {};
struct exact_rows : allot::policies<allot::slots::bitmap, unique, allot::size::exact> {};
struct fine_rows : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::fine>> {};
struct roxie_rows : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::roxie>> {};
struct bare_rows : allot::policies<allot::slots::bitmap, unique, packed, uncounted> {};

template <class... Sets> std::vector<std::string> describe_all() {
    return {std::string(allot::describe<Sets>().text().view())...};
}
inline std::vector<std::string> described_sets() {
    return describe_all<bitmap_rows, linked_rows, scanning_rows, delayed_rows, guarded_rows, fine_rows, thread_rows,
                        packed_rows, bare_rows, allot::use::thor, allot::use::roxie>();
}

inline void add_ours(std::vector<subject>& to) {
    const auto ours = [&]<class Type>(const char* name, kind k = kind::ours) {
        to.push_back(make_subject<Type>(name, k));
    };
#define OURS(name, ...) ours.template operator()<__VA_ARGS__>(name)
#define OURS_UNCOUNTED(name, ...) ours.template operator()<__VA_ARGS__>(name, kind::ours_uncounted)
    OURS("heap.local bitmap", local_heap_subject<bitmap_rows, unique>);
    OURS("heap.local linked", local_heap_subject<linked_rows, unique>);
    OURS("heap.local packed", local_heap_subject<bitmap_rows, unique, packed>);
    OURS("heap.local scanning", local_heap_subject<scanning_rows, unique>);
    OURS("heap.local delayed", local_heap_subject<delayed_rows, unique>);
    OURS("heap.local guarded", local_heap_subject<guarded_rows, unique>);
    OURS("heap.local shared", local_heap_subject<bitmap_rows>);
    OURS("heap.local shared linked", local_heap_subject<linked_rows>);
    OURS("heap blocked", heap_subject<bitmap_rows, unique, blocked>);
    OURS("heap, no handle", heap_subject<bitmap_rows>);
    OURS("rows.local bitmap", local_rows_subject<bitmap_rows>);
    OURS("rows.local fine", local_rows_subject<fine_rows>);
    OURS("rows.local linked", local_rows_subject<linked_rows>);
    OURS("manager, shared", manager_subject<bitmap_rows>);
    OURS("manager, per_thread", manager_subject<thread_rows>);
    OURS("manager, thor", manager_subject<allot::use::thor>);
    OURS("manager, roxie", manager_subject<allot::use::roxie>);
    OURS("free functions", free_functions_subject<bitmap_rows>);
    OURS_UNCOUNTED("heap.local uncounted", local_heap_subject<uncounted_rows, unique>);
    OURS_UNCOUNTED("heap.local shared uncounted", local_heap_subject<uncounted_rows>);
    OURS_UNCOUNTED("rows.local uncounted", local_rows_subject<uncounted_rows>);
    add_walks(ours);
#undef OURS
#undef OURS_UNCOUNTED
    // What only we can do, or what is asked of the set alone.
    const auto only = [&](const char* name, work id, auto run, kind k = kind::ours) {
        to.push_back({name, k, [id](const job& j) { return j.of->id == id; }, run});
    };
    only("pages of a unique heap", work::pages, &run_pages);
    only("unique heap, bitmap", work::release_all, &run_release_all<bitmap_rows, unique>);
    only("unique heap, linked", work::release_all, &run_release_all<linked_rows, unique>);
    only("unique heap, packed", work::release_all, &run_release_all<bitmap_rows, unique, packed>);
    only("packed, unique", work::bytes, &bytes_of_set<packed_rows>);
    only("exact, unique", work::bytes, &bytes_of_set<exact_rows>);
    only("bucketed, fine", work::bytes, &bytes_of_set<fine_rows>);
    only("bucketed, roxie", work::bytes, &bytes_of_set<roxie_rows>);
    only("packed, uncounted", work::bytes, &bytes_of_set<bare_rows>, kind::ours_uncounted);
}

} // namespace bench
