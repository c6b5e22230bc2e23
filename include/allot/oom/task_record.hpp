// What an arbiter keeps of a task and of a thread, beside the machine's state; the tokens of a thread.
//
// Cost: 96 bytes a task, 64 a thread, kept until the arbiter ends, and used again. Threads: requires the arbiter's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/oom/situation.hpp>
#include <allot/request/judge.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class account;

namespace oom {

class arbiter;

/// Times and counts of what a task, or all of them, lost and waited for. The sums over the tasks are those of the
/// whole.
struct task_stats {
    std::uint64_t rollbacks = 0;  // retry_out_of_memory that were thrown
    std::uint64_t splits = 0;     // split_and_retry_out_of_memory that were thrown
    std::uint64_t refused = 0;    // requests that ended without memory by a decision
    std::uint64_t waits = 0;      // requests that slept
    std::uint64_t outside = 0;    // requests that were refused first outside any retry scope
    std::uint64_t blocked_ns = 0; // time asleep, for memory or rolled back
    std::uint64_t lost_ns = 0;    // time awake of attempts that were rolled back or split
    std::uint64_t bytes = 0;      // charged to the task's account now
    std::uint64_t peak = 0;       // the most that was; of several tasks the sum

    task_stats& operator+=(const task_stats& o) noexcept {
        rollbacks += o.rollbacks, splits += o.splits, refused += o.refused, waits += o.waits, outside += o.outside;
        blocked_ns += o.blocked_ns, lost_ns += o.lost_ns, bytes += o.bytes, peak += o.peak;
        return *this;
    }
    friend bool operator==(const task_stats&, const task_stats&) = default;
};

namespace detail {

struct task_record {
    const char* name = "";
    const account* memory = nullptr; // what the task holds is charged there; null: not known
    task_stats stats;
    std::uint64_t number = 0; // of all tasks of the arbiter, from 1
};

// A thread, used again for later ones of its id.
struct thread_record final : allot::detail::judged_thread {
    using judged_thread::judged_thread;

    std::uint64_t number = 0;     // of all threads of the arbiter, from 1: ids are used again
    std::uint64_t slept_at = 0;   // on fine_clock; 0: it is awake
    std::uint64_t attempt_at = 0; // its attempt began (task_thread::begin_attempt); 0: none, or it is counted already
    std::uint64_t slept_in_attempt = 0;
    bool to_signal = false;
};

// A token of a thread that works for a task (oom/task.hpp), on its stack, in the list of the thread's tokens.
struct thread_token {
    arbiter& decider;
    thread_id thread = no_id;
    thread_record* record = nullptr;
    thread_token* outer = allot::detail::of_this_thread.token;
};
// Takes a token out of its thread's list; where it ends too early, those that began later stay there.
template <class Token>
void take_out(Token*& innermost, Token& ending, Token* Token::* outer, misuse too_early,
              const char* task = nullptr) noexcept {
    Token** at = &innermost;
    while (*at != nullptr && *at != &ending) at = &((*at)->*outer);
    if (ALLOT_UNLIKELY(at != &innermost || *at == nullptr))
        allot::detail::report_misuse({.kind = *at == nullptr ? misuse::ended_elsewhere : too_early, .task = task});
    if (*at != nullptr) *at = ending.*outer;
}
// The innermost token of the calling thread for a task of this arbiter; null: none.
inline thread_token* innermost_token(const arbiter& of) noexcept {
    thread_token* t = allot::detail::of_this_thread.token;
    while (t != nullptr && &t->decider != &of) t = t->outer;
    return t;
}

} // namespace detail
} // namespace oom
} // namespace allot::inline ALLOT_ABI
