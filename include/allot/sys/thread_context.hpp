// What the calling thread is inside of: calls of a user's code, tokens of tasks, retry scopes, a request that waits.
//
// Tokens on the thread's stack set the members and restore them, so each names the innermost one, or is as below.
// Invariant: it has no other thread's. Cost: 144 bytes per thread; read where a request is refused, and by tokens.
// Threads: the thread itself.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

class executor;
namespace oom {
class retry_scope;
namespace detail {
struct thread_token;
}
} // namespace oom

namespace detail {

class since_refusal;
class user_call;
struct waiter;

struct thread_context {
    const user_call* call = nullptr;   // reclaim/user_call.hpp
    waiter* trying = nullptr;          // its request that waits, while it is made again: request/wait_queue.hpp
    bool undoes = false;               // it returns what a refused request has taken: the same file
    bool is_past_watermark = false;    // a level that it charges uses more: account/free_ahead.hpp
    std::uint16_t ladders = 0;         // that it climbs: account/account_steps.hpp
    since_refusal* refusals = nullptr; // that are noted: account/since_refusal.hpp
    oom::detail::thread_token* token = nullptr; // oom/task.hpp
    oom::retry_scope* scope = nullptr;          // oom/retry_scope.hpp
    const executor* runs = nullptr;             // whose task it runs: task/executor.hpp
    std::uint32_t most_cost = UINT32_MAX;       // reclaim/cost_cap.hpp
    // What the last scope that ended with an error had tried (oom/retry.hpp); last_error.name is last_name.
    std::uint32_t attempts = 0;
    charge_status last_error;
    char last_name[32]{};
};
inline constinit thread_local thread_context of_this_thread{};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
