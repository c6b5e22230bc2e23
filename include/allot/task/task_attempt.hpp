// Between two attempts of a task: what ends, and whether it begins again in its scope.
//
// Cost: a word. Threads: the one that runs the task.
#pragma once

#include <allot/account/account_reservation.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/retry_scope.hpp>
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
// knows which attempts have failed. So does the last attempt after others: else it might not be split before its group
// ends. Where it is to be split by a scope inside, its own scope ends, so that the one inside is the outermost.
// What begins again has no promise, which could refuse what it takes from objects beside its account.
inline bool begins_again(queued_task& t, std::optional<oom::retry_scope>& scope, bool is_last,
                         account_reservation& promised) noexcept {
    verdict_error copy{{}, memory_kind::host};
    if (!scope || !(t.is_alone || is_last)) return false;
    if (oom::detail::find_verdict(std::current_exception(), copy) == nullptr) return false;
    t.unpin();
    promised.release();
    const verdict now = scope->wait(copy.why());
    if (now == verdict::split && scope->had_scope_inside()) return scope.reset(), true;
    return now == verdict::try_again;
}

} // namespace detail
#endif
} // namespace allot::inline ALLOT_ABI
