// From a job to the workload's code for a subject. A subject is shared by its users, one user a thread.
#pragma once

#include <harness/job.hpp>
#include <harness/sizes.hpp>
#include <workloads/one_thread.hpp>
#include <workloads/two_threads.hpp>

namespace bench {

template <class Subject> concept for_threads = Subject::threads;
// Rows that one thread allocates may be released by another.
template <class Subject> concept hands_over = for_threads<Subject> && Subject::hands_over;
template <class Subject> concept for_mixed = Subject::any_size;

// Whether the subject can run the job at all.
template <class Subject> bool fits(const job& what) noexcept {
    if (what.mixed() && !Subject::any_size) return false;
    if (!what.mixed() && !Subject::one_size) return false;
    if (what.work == workload::hand_over) return hands_over<Subject>;
    if (name_of(what.work).threaded) return for_threads<Subject>;
    if (what.work == workload::replace) return Subject::any_order;
    return what.work != workload::pages;
}

template <class Subject, class Sizes>
sample run_sized(Subject& subject, const Sizes& sizes, const job& what) {
    switch (what.work) {
    case workload::hand_over:
        if constexpr (hands_over<Subject>) return run_hand_over(subject, sizes, what);
        return {};
    case workload::replace_2:
    case workload::pair_2:
    case workload::batches_2:
        if constexpr (for_threads<Subject>) return run_two(subject, sizes, what);
        return {};
    default:
        break;
    }
    typename Subject::user user(subject);
    escape(&user);
    if (what.work == workload::pair) return run_pairs(user, sizes, what);
    if (what.work == workload::replace) return run_replace(user, sizes, what);
    return run_batches(user, sizes, what);
}

template <class Subject> sample run_job(Subject& subject, const job& what) {
    if constexpr (for_mixed<Subject>)
        if (what.mixed()) return run_sized(subject, mixed_sizes{}, what);
    return run_sized(subject, one_size{what.bytes}, what);
}

} // namespace bench
