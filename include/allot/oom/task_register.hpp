// The tasks and threads of an arbiter: the machine over their states, and what is kept of each beside it; statistics,
// the log, and the signals that are due.
//
// Cost: a lock for each event; 96 bytes a task, 64 a thread, kept until the arbiter ends, and used again. Threads: any; the
// members require the lock, unless they say otherwise.
#pragma once

#include <allot/config.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/oom/machine.hpp>
#include <allot/oom/task_record.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/command.hpp>
#include <allot/request/judge.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace oom {
namespace detail {

struct task_register {
    mutable allot::detail::sys::mutex tasks_lock{allot::detail::lock_rank::tasks}; // no task ends meanwhile
    mutable allot::detail::sys::mutex lock{allot::detail::lock_rank::arbiter};
    machine states;
    std::deque<thread_record> threads; // by id
    std::deque<task_record> tasks;     // by id
    task_stats ended;                  // of tasks that have ended
    std::uint64_t sequence = 0, tasks_so_far = 0, threads_so_far = 0;
    std::uint64_t delays = 0;                                      // that have begun
    std::uint64_t decides_at = allot::detail::sys::parking::never; // on fine_clock, where a decision is put off
    bool is_unused = true;                                         // no scope has begun, so nothing has cut free memory
    std::atomic<bool> signals_due{false};
    // Free memory may be in pieces: an attempt alone has it gathered first. Read without the lock.
    std::atomic<bool> refused_since_gathered{false};
    const log_sink log;

    ALLOT_OUTLINE task_register(const oom::rules& r, log_sink to) noexcept : states(r), log(to) {}

    // Applies a command; the log has it before the changes that it makes. What changes no state is counted here:
    // injected verdicts, and requests outside of scopes; count() has the others. Returns as machine::apply(). Throws:
    // std::bad_alloc where a task, thread, resource or hold begins. Requires the lock.
    ALLOT_OUTLINE std::uint32_t call(const command& c) {
        ++sequence;
        // A request is announced when it is made again: it was refused.
        if (c.what == event::announced) refused_since_gathered.store(true, std::memory_order_relaxed);
        if (c.what == event::requested) stats_of(c.thread).outside += states[c.thread].scopes == 0;
        if (c.what == event::injected) {
            const auto as = static_cast<charge_outcome>(c.detail);
            stats_of(c.thread).rollbacks += as == charge_outcome::rolled_back;
            stats_of(c.thread).splits += as == charge_outcome::split;
            if (as == charge_outcome::rolled_back || as == charge_outcome::split)
                count_lost(threads[c.thread], stats_of(c.thread), sys::fine_clock::now());
        }
        if (log.write != nullptr) log.write(log.context, {.sequence = sequence, .what = c, .became = {}});
        return states.apply(c, [this](const change& made) { note(made); });
    }
    thread_state state_of(thread_id id) const noexcept { return states[id].state; }
    static bool is_asleep(thread_state s) noexcept { return s == thread_state::blocked || s == thread_state::bufn; }
    task_stats& stats_of(thread_id id) noexcept { return tasks[states[id].task].stats; }
    ALLOT_OUTLINE void note(const change& made) {
        if (log.write != nullptr)
            log.write(log.context, {.sequence = sequence, .is_change = true, .what = {}, .became = made});
        if (made.thread >= threads.size() || states[made.thread].task == no_id) return;
        count(made);
        if (delays != states.delays()) { // put off now
            delays = states.delays();
            decides_at = wait_limit{states.rules().unknown_holders_wait}.deadline();
        }
        if (is_woken_by_another(made)) {
            threads[made.thread].to_signal = true;
            signals_due.store(true, std::memory_order_relaxed);
        }
    }
    // Whether a thread is to be signalled: also to keep the time. The list of waiters signals one that may fit; a
    // thread that gives up or ends is awake.
    static bool is_woken_by_another(const change& made) noexcept {
        if (made.by == event::may_fit || made.by == event::given_up || made.by == event::ended) return false;
        return is_asleep(made.from) && (!is_asleep(made.to) || made.by == event::delayed);
    }
    // Whether its error was thrown, or one of its workers for it.
    static bool ends_attempt(const change& made) noexcept {
        return made.by == event::thrown || (made.by == event::ready && made.from == thread_state::bufn_throw);
    }
    // Its attempt has ended in vain.
    static void count_lost(thread_record& r, task_stats& s, std::uint64_t now) noexcept {
        if (const std::uint64_t began = std::exchange(r.attempt_at, 0); began != 0)
            s.lost_ns += now - began - r.slept_in_attempt;
    }
    // Adds the change to the numbers of its task, and the spans of time that end with it: asleep, or in an attempt.
    void count(const change& made) noexcept {
        thread_record& r = threads[made.thread];
        task_stats& s = stats_of(made.thread);
        const bool slept = is_asleep(made.from), sleeps = is_asleep(made.to);
        if (slept != sleeps || ends_attempt(made)) {
            const std::uint64_t now = sys::fine_clock::now();
            if (sleeps) r.slept_at = now;
            if (slept && !sleeps) {
                s.blocked_ns += now - r.slept_at;
                r.slept_in_attempt += now - r.slept_at;
                r.slept_at = 0;
            }
            if (ends_attempt(made)) count_lost(r, s, now);
        }
        s.waits += made.to == thread_state::blocked && made.by != event::delayed; // by which it only sleeps on
        s.rollbacks += made.by == event::thrown && made.from == thread_state::bufn_throw;
        s.splits += made.by == event::thrown && made.from == thread_state::split_throw;
        s.refused += made.by == event::refused;
    }

    // ---- without the lock ----------------------------------------------------------------------------------------

    // Of all tasks so far; 0: none has this id now.
    std::uint64_t number_of(task_id id) const noexcept {
        const allot::detail::lock_guard hold(lock);
        return states.tasks()[id].used ? tasks[id].number : 0;
    }
    const char* name_of(task_id id) const noexcept {
        const allot::detail::lock_guard hold(lock);
        return tasks[id].name;
    }
    // Signals the threads whose waits were ended.
    ALLOT_OUTLINE void deliver() noexcept {
        while (signals_due.load(std::memory_order_relaxed)) {
            constexpr std::size_t most = 32;
            thread_record* due[most];
            std::size_t n = 0;
            {
                const allot::detail::lock_guard hold(lock);
                for (thread_record& r : threads)
                    if (n != most && std::exchange(r.to_signal, false)) due[n++] = &r;
                signals_due.store(n == most, std::memory_order_relaxed);
            }
            for (std::size_t i = 0; i != n; ++i) due[i]->spot.signal(allot::detail::judged_thread::decided);
        }
    }
};

} // namespace detail
} // namespace oom
} // namespace allot::inline ALLOT_ABI
