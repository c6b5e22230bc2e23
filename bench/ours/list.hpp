// The list of our subjects, one line each. Every workload that a subject supports runs it.
#pragma once

#include <harness/rounds.hpp>
#include <ours/sets.hpp>
#include <ours/subjects.hpp>
#include <ours/walk.hpp>
#include <workloads/bytes.hpp>
#include <workloads/pages.hpp>
#include <workloads/release_all.hpp>

#include <string>
#include <vector>

namespace bench {

template <class... Sets> std::vector<std::string> describe_all() {
    return {std::string(allot::describe<Sets>().text().view())...};
}
inline std::vector<std::string> described_sets() {
    return describe_all<bitmap_rows, shared_rows, linked_rows, scanning_rows, delayed_rows, guarded_rows, fine_rows,
                        thread_rows, uncounted_rows, uncounted_thread_rows, packed_rows, bare_rows, allot::use::thor,
                        allot::use::roxie>();
}

inline void add_ours(std::vector<subject>& to) {
    const auto ours = [&]<class Type>(const char* name) { to.push_back(make_subject<Type>(name, kind::ours)); };
    // Ways of users, which docs/bench/rows.md compares with peers: with a count, and without one.
    const auto way = [&]<class Type>(const char* name) {
        ours.template operator()<Type>(name);
        to.back().compared = true;
    };
    const auto bare_way = [&]<class Type>(const std::string& name) {
        to.push_back(make_subject<Type>(name, kind::ours_uncounted));
        to.back().compared = true;
        way.template operator()<with_program_count<Type>>((name + " rows").c_str());
    };
#define OURS(name, ...) ours.template operator()<__VA_ARGS__>(name)
#define WAY(name, ...) way.template operator()<__VA_ARGS__>(name)
#define BARE_WAY(name, ...) bare_way.template operator()<__VA_ARGS__>(name)
    WAY("manager, roxie", manager_subject<allot::use::roxie>);
    WAY("manager, thor", manager_subject<allot::use::thor>);
    WAY("manager, per_thread", manager_subject<thread_rows>);
    WAY("rows.local bitmap", local_rows_subject<bitmap_rows>);
    WAY("heap.local shared", local_heap_subject<bitmap_rows>);
    BARE_WAY("heap.local shared uncounted", local_heap_subject<uncounted_rows>);
    BARE_WAY("rows.local uncounted", local_rows_subject<uncounted_rows>);
    BARE_WAY("manager, per_thread uncounted", manager_subject<uncounted_thread_rows>);
    BARE_WAY("pmr", pmr_face_subject<uncounted_thread_rows>);
    OURS("heap.local bitmap", local_heap_subject<bitmap_rows, unique>);
    OURS("heap.local linked", local_heap_subject<linked_rows, unique>);
    OURS("heap.local packed", local_heap_subject<bitmap_rows, unique, packed>);
    OURS("heap.local scanning", local_heap_subject<scanning_rows, unique>);
    OURS("heap.local delayed", local_heap_subject<delayed_rows, unique>);
    OURS("heap.local guarded", local_heap_subject<guarded_rows, unique>);
    OURS("heap blocked", heap_subject<bitmap_rows, unique, blocked>);
    OURS("heap, no handle", heap_subject<bitmap_rows>);
    OURS("rows.local bitmap, sized", local_rows_subject<bitmap_rows, true>);
    OURS("manager, shared", manager_subject<shared_rows>);
    OURS("free functions", free_functions_subject<bitmap_rows>);
    add_walks(ours);
#undef OURS
#undef WAY
#undef BARE_WAY
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
