// Runs the code of a job's workload on a subject. A subject is shared by its users, one per thread.
//
// A subject states what it supports: `threads`: several users at once; `hands_over`: a row may be released by another
// user; `walks`: the walk over 1 GiB; `any_size`, `one_size`; `any_order`: of releases; `fits(job)`: a test of each
// job.
#pragma once

#include <harness/job.hpp>
#include <harness/sizes.hpp>
#include <workloads/growth.hpp>
#include <workloads/links.hpp>
#include <workloads/one_thread.hpp>
#include <workloads/single.hpp>
#include <workloads/two_threads.hpp>
#include <workloads/walk.hpp>

namespace bench {

inline bool needs_threads(work id) noexcept {
    return id == work::hand_over || id == work::replace_2 || id == work::larson || id == work::churn_2 ||
           id == work::pair_2 || id == work::batches_2;
}
inline bool needs_links(work id) noexcept {
    return id == work::churn || id == work::churn_2 || id == work::link || id == work::constant;
}

template <class Subject> constexpr bool walks() noexcept {
    if constexpr (requires { Subject::walks; }) return Subject::walks;
    else return false;
}

// Whether the subject can run the job at all.
template <class Subject> bool fits(const job& what) noexcept {
    const work id = what.of->id;
    if constexpr (requires { Subject::fits(what); })
        if (!Subject::fits(what)) return false;
    if (what.mixed() ? !Subject::any_size : !Subject::one_size) return false;
    if (id == work::walk) return walks<Subject>();
    if (what.of->measured == how::counted && id == work::single && !Subject::constants) return false; // ours, and null
    if (needs_links(id) && !counts_links<typename Subject::user>) return false;
    if (id == work::constant && !Subject::constants) return false;
    if (id == work::hand_over && !Subject::hands_over) return false;
    if (needs_threads(id)) return Subject::threads;
    if (id == work::replace || id == work::single || id == work::growth || id == work::churn) return Subject::any_order;
    return id != work::pages && id != work::release_all && id != work::bytes;
}

// Slots that the subject's heaps looked at so far in search of free ones, and those found.
template <class Subject> scan_counts looks_of(Subject& subject) {
    scan_counts all;
    if constexpr (requires { subject.rows.arena(); })
        subject.rows.usage([&](const auto& heap) {
            all.looked += static_cast<double>(heap.scanned_slots);
            all.found += static_cast<double>(heap.found_slots);
        });
    return all;
}

template <class Subject, class Sizes> sample run_sized(Subject& subject, const Sizes& sizes, const job& what) {
    const work id = what.of->id;
    if constexpr (Subject::threads)
        if (needs_threads(id)) {
            if (id == work::larson) return run_larson(subject, sizes, what);
            if constexpr (Subject::hands_over)
                if (id == work::hand_over) return run_hand_over(subject, sizes, what);
            return run_two(subject, sizes, what);
        }
    if constexpr (walks<Subject>())
        if (id == work::walk) return run_walk(subject, sizes, what);
    typename Subject::user user(subject);
    escape(&user);
    if constexpr (counts_links<typename Subject::user>) {
        if (id == work::churn) return run_churn(user, sizes, what);
        if (id == work::link || id == work::constant) return run_links(user, what);
    }
    switch (id) {
    case work::pair: return run_pairs(user, sizes, what);
    case work::replace: return run_replace(user, sizes, what);
    case work::growth: return run_growth(user, sizes, what);
    case work::single: return run_single(user, what, [&] { return looks_of(subject); });
    default: return run_batches(user, sizes, what);
    }
}

template <class Subject> sample run_job(Subject& subject, const job& what) {
    if constexpr (Subject::any_size)
        if (what.mixed()) return run_sized(subject, mixed_sizes{}, what);
    return run_sized(subject, one_size{what.bytes}, what);
}

} // namespace bench
