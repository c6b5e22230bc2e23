// Between two attempts of a task: what ends, and whether it begins again in its scope.
//
// Cost: a word. Threads: the one that runs the task.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/retry_scope.hpp>
#include <allot/task/group_of_tasks.hpp>
#include <allot/task/queued_task.hpp>

#include <exception>
#include <optional>

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
// Inside a handler of what its kernel has thrown. A task that runs alone begins again in its scope: so the arbiter
// knows which attempts have failed. So does the last attempt of a group after others: else none of its tasks might be
// split. One that is to be split begins again without the scope: then a scope inside, if there is one, is the
// outermost.
inline bool begins_again(queued_task& t, std::optional<oom::retry_scope>& scope, bool is_last) noexcept {
    verdict_error copy{{}, memory_kind::host};
    if (!scope || !(t.is_alone || (is_last && t.of.in_vain != 0))) return false;
    if (oom::detail::find_verdict(std::current_exception(), copy) == nullptr) return false;
    t.unpin();
    const verdict now = scope->wait(copy.why());
    t.splits_inside = now == verdict::split;
    const bool splits = t.splits_inside && scope->had_scope_inside();
    if (splits) scope.reset();
    return splits || now == verdict::try_again;
}

} // namespace detail
#endif
} // namespace allot::inline ALLOT_ABI
