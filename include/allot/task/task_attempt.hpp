// Between two attempts of a task: what ends, and whether it begins again in its scope.
//
// Cost: a word. Threads: the one that runs the task.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/retry_scope.hpp>
#include <allot/task/queued_task.hpp>

#include <exception>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS
namespace detail {

// What ends between two attempts: nothing of it stays.
struct attempt_scope {
    explicit attempt_scope(queued_task& of) : t(of) {}
    attempt_scope(const attempt_scope&) = delete;
    attempt_scope& operator=(const attempt_scope&) = delete;
    ~attempt_scope() { t.unpin(); }
    queued_task& t;
};
// Inside a handler of what its kernel has thrown. Alone it begins again in its scope: so the arbiter knows which
// attempts have failed. One that is to be split does so without: then a scope inside is the outermost, if there is one.
inline bool begins_again(queued_task& t, oom::retry_scope& scope) noexcept {
    verdict_error copy{{}, memory_kind::host};
    if (oom::detail::find_verdict(std::current_exception(), copy) == nullptr) return false;
    verdict now = copy.why().outcome == charge_outcome::split ? verdict::split : verdict::refused;
    if (copy.why().outcome == charge_outcome::rolled_back) t.unpin(), now = scope.wait(copy.why());
    t.splits_inside = now == verdict::split;
    return now == verdict::try_again;
}

} // namespace detail
#endif
} // namespace allot::inline ALLOT_ABI
