// Tasks, and the threads that work for them: tokens on their stacks.
//
//     allot::oom::task query{tasks, "query 7"};          // tasks: an arbiter
//     allot::oom::task_thread here{query};               // this thread works for it until `here` ends
//
// Cost: 24 bytes a task, 48 a task_thread; the arbiter's lock at begin and end. Threads: a task_thread is used by its
// thread alone. Checked builds report tasks and tokens that end too early, in another order than they began, or on
// another thread.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/request/command.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/thread_context.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace oom {

class retry_scope;
class scoped_wait;

/// Work that ends as a whole: a query, or a part of one. Its memory is returned before it ends: then others go on.
class task {
  public:
    /// `number`: a task with a larger one is first; among equals, the one that came first. Requires: the name and the
    /// account outlive the task. `memory`: what the task holds is charged there, for statistics and reports.
    /// Throws: std::bad_alloc.
    ALLOT_OUTLINE explicit task(arbiter& by, const char* name = "", std::int64_t number = 0,
                                const account* memory = nullptr)
        : by_(by), memory_(memory) {
        detail::task_register& all = by.tasks();
        const allot::detail::lock_guard reports_wait(all.tasks_lock);
        const allot::detail::lock_guard hold(all.lock);
        const std::uint64_t order = ++all.tasks_so_far;
        if (all.tasks.size() == all.states.tasks().size()) all.tasks.emplace_back();
        id_ = all.call({.what = event::task_begun, .number = number, .free = order});
        all.tasks[id_] = {allot::detail::text_or_empty(name), memory, {}, order};
    }
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    /// Requires: no thread works for it, by a task_thread or by begin(). Checked builds report one that does.
    ALLOT_OUTLINE ~task() {
        detail::task_register& all = by_.tasks();
        {
            task_stats last = stats();
            last.bytes = 0;
            const allot::detail::lock_guard reports_wait(all.tasks_lock);
            const allot::detail::lock_guard hold(all.lock);
            if constexpr (ALLOT_CHECKED != 0) check_no_thread();
            all.ended += last;
            all.call({.what = event::task_ended, .on = id_});
            all.tasks[id_] = {}; // the name and the account may end
        }
        all.deliver();
    }

    /// Aborts the task, from any thread: waits of its threads end, and their next requests that are refused throw
    /// task_removed; so do those of threads that begin later. Pool threads go on with other tasks.
    void remove() noexcept { by_.post({.what = event::removed, .on = id_}); }
    task_stats stats() const noexcept {
        task_stats now;
        {
            const allot::detail::lock_guard hold(by_.tasks().lock);
            now = by_.tasks().tasks[id_].stats;
        }
        if (memory_ != nullptr) now.bytes = memory_->used(), now.peak = memory_->peak();
        return now;
    }
    arbiter& by() const noexcept { return by_; }
    task_id id() const noexcept { return id_; }

  private:
    // Requires the arbiter's lock.
    void check_no_thread() const noexcept {
        for (const machine::thread& t : by_.tasks().states.threads())
            if (t.used && (t.task == id_ || std::find(t.others.begin(), t.others.end(), id_) != t.others.end()))
                allot::detail::report_misuse({.kind = misuse::living_task_thread, .task = by_.tasks().tasks[id_].name});
    }

    arbiter& by_;
    task_id id_ = no_id;
    const account* const memory_;
};

/// The calling thread works for a task, from construction to destruction. Tokens of one thread are nested: the last
/// that began ends first. Checked builds report another order, or an end on another thread.
class task_thread : detail::thread_token {
  public:
    /// Throws: std::bad_alloc.
    explicit task_thread(task& of, thread_kind kind = thread_kind::dedicated)
        : task_thread(of.by(), of.id(), kind, nullptr) {}
    /// The thread works inside this scope of another thread, for the task of that one, and shares its attempt: what the
    /// arbiter decides for one of them ends the attempt of all. The error is thrown here; let it pass to the body of
    /// the scope (std::future does), which begins again. Retry scopes of this thread are inside that one. Requires: the
    /// scope's thread has a task, and waits for the end of this token, by a scoped_wait or a latch, before its body or
    /// attempt ends. Throws: std::bad_alloc.
    explicit task_thread(std::same_as<retry_scope> auto& joins) : task_thread(thread_of(joins)) {}
    task_thread(const task_thread&) = delete;
    task_thread& operator=(const task_thread&) = delete;
    /// Requires: retry scopes, waits and no_rollback tokens that began under it have ended.
    ALLOT_OUTLINE ~task_thread() {
        {
            const allot::detail::lock_guard hold(tasks().lock);
            detail::take_out<thread_token>(allot::detail::of_this_thread.token, *this, &thread_token::outer,
                                           misuse::task_thread_order, task_name());
            if constexpr (ALLOT_CHECKED != 0) check_no_scope();
            tasks().call({.what = event::ended, .thread = thread});
            cover_outer(false);
        }
        tasks().deliver();
    }

    /// For threads of a pool: the thread works for this task too, or no longer. A task of another arbiter is ignored,
    /// and reported in checked builds. Throws: std::bad_alloc.
    void begin(const task& more) {
        if (is_own(more)) decider.post({.what = event::joined, .thread = thread, .on = more.id()});
    }
    void end(const task& done) noexcept {
        if (is_own(done)) decider.post({.what = event::left, .thread = thread, .on = done.id()});
    }

    thread_state state() const noexcept {
        const allot::detail::lock_guard hold(tasks().lock);
        return tasks().states[thread].state;
    }
    bool is_in_scope() const noexcept {
        const allot::detail::lock_guard hold(tasks().lock);
        return tasks().states[thread].scopes != 0;
    }
    bool may_be_rolled_back() const noexcept {
        const allot::detail::lock_guard hold(tasks().lock);
        return tasks().states.may_be_rolled_back(tasks().states[thread]);
    }
    // For injection: how its next request fails.
    void inject(charge_outcome as) noexcept { record->injected = as; }
    charge_outcome injected() const noexcept { return record->injected; }
    /// The task that it works for, the first one; no_id: none.
    task_id task_now() const noexcept {
        const allot::detail::lock_guard hold(tasks().lock);
        return tasks().states[thread].task;
    }
    arbiter& by() const noexcept { return decider; }
    thread_id id() const noexcept { return thread; }
    /// Whether it works inside a scope of another thread.
    bool is_joined() const noexcept { return joins_; }
    /// The innermost token of the calling thread; null: none.
    static task_thread* now() noexcept { return from(allot::detail::of_this_thread.token); }
    /// The innermost one for a task of this arbiter.
    static task_thread* now(const arbiter& of) noexcept { return from(detail::innermost_token(of)); }

  private:
    friend scoped_wait;
    friend retry_scope; // it calls what follows, up to is_alive()

    // The outermost one begins an attempt, which may count as one alone only if free memory is whole:
    // nothing was cut from it yet, or it is gathered now. That is worth its cost only if a request was refused since.
    ALLOT_OUTLINE void enter_scope() noexcept {
        const bool may_gather = !is_in_scope() && tasks().refused_since_gathered.load(std::memory_order_relaxed);
        const bool is_gathered = may_gather && gather_if_alone(); // first, without the lock
        const allot::detail::lock_guard hold(tasks().lock);
        const bool is_whole = std::exchange(tasks().is_unused, false) || is_gathered;
        tasks().call({.what = event::scope_begun, .detail = is_whole, .thread = thread});
        if (tasks().states[thread].scopes == 1) note_attempt();
    }
    // How much is free is not known here: any request may be woken.
    void leave_scope(bool done) noexcept {
        decider.post({.what = event::scope_ended,
                      .detail = done,
                      .thread = thread,
                      .number = done ? kept_by_task() : -1,
                      .free = SIZE_MAX});
    }
    // What the last attempt took is free.
    void begin_attempt() noexcept {
        (void)gather_if_alone();
        const allot::detail::lock_guard hold(tasks().lock);
        note_attempt();
    }
    // Sleeps until the thread may begin its attempt again. Returns: try_again, or how the wait ended; split: with a
    // smaller input.
    verdict wait_until_ready() noexcept {
        const verdict v = record->wait_until_ready();
        if (v > verdict::try_again) record->post({.what = event::thrown});
        return v;
    }
    // Whether it is a token of the calling thread that has not ended.
    static bool is_alive(const task_thread* t) noexcept {
        const thread_token* has = allot::detail::of_this_thread.token;
        while (has != nullptr && has != t) has = has->outer;
        return has != nullptr;
    }

    static const task_thread* thread_of(const auto& scope) noexcept {
        if constexpr (ALLOT_CHECKED != 0)
            if (scope.here_ == nullptr) allot::detail::report_misuse({.kind = misuse::inactive_scope});
        return scope.here_;
    }
    explicit task_thread(const task_thread* joins)
        : task_thread(joins->by(), joins->task_now(), thread_kind::dedicated, joins) {}
    ALLOT_OUTLINE task_thread(arbiter& by, task_id of, thread_kind kind, const task_thread* joins)
        : thread_token{by}, joins_(joins != nullptr) {
        detail::task_register& all = tasks();
        const allot::detail::lock_guard hold(all.lock);
        const std::size_t ids = all.states.threads().size();
        if (all.threads.size() == ids) all.threads.emplace_back(*decider.by, static_cast<thread_id>(ids));
        thread = all.call({.what = event::started,
                           .detail = static_cast<std::uint8_t>(kind),
                           .on = of,
                           .number = joins != nullptr ? std::int64_t{joins->thread} + 1 : 0});
        record = &all.threads[thread]; // it stays there
        detail::thread_record& r = *record;
        r.number = ++all.threads_so_far;
        r.slept_at = r.attempt_at = r.slept_in_attempt = 0;
        r.to_signal = false;
        r.injected = charge_outcome::fits;
        cover_outer(true);
        allot::detail::of_this_thread.token = this;
    }
    static task_thread* from(thread_token* t) noexcept { return static_cast<task_thread*>(t); }
    detail::task_register& tasks() const noexcept { return decider.tasks(); }
    // In its account, of what tasks may have there; -1: not known.
    ALLOT_OUTLINE std::int64_t kept_by_task() const noexcept {
        const account* memory = nullptr;
        {
            const allot::detail::lock_guard hold(tasks().lock);
            const machine::thread& t = tasks().states[thread];
            if (t.task != no_id && t.others.empty()) memory = tasks().tasks[t.task].memory;
        }
        if (memory == nullptr) return -1;
        const account& all = memory->root();
        return detail::share_of(memory->used(), all.used() + all.headroom());
    }
    // Whether free memory is whole now.
    bool gather_if_alone() noexcept {
        {
            const allot::detail::lock_guard hold(tasks().lock);
            if (!tasks().states.is_alone(thread)) return false;
        }
        decider.gather();
        return true;
    }
    // Requires the arbiter's lock, as the next two.
    void note_attempt() noexcept {
        record->attempt_at = sys::fine_clock::now();
        record->slept_in_attempt = 0;
    }
    const char* task_name() const noexcept {
        const task_id first = tasks().states[thread].task;
        return first != no_id ? tasks().tasks[first].name : "";
    }
    void check_no_scope() const noexcept {
        const machine::thread& t = tasks().states[thread];
        if (t.scopes > joins_ || t.barred != 0 || wait_ != nullptr)
            allot::detail::report_misuse({.kind = misuse::living_scope, .task = task_name()});
    }
    bool is_own(const task& t) const noexcept {
        if (ALLOT_LIKELY(&t.by() == &decider)) return true;
        if constexpr (ALLOT_CHECKED != 0)
            allot::detail::report_misuse({.kind = misuse::other_arbiter, .task = t.by().tasks().name_of(t.id())});
        return false;
    }
    // While this token lives, the outer one of the same arbiter does nothing. Requires the arbiter's lock.
    void cover_outer(bool now) noexcept {
        const thread_token* around = outer;
        while (around != nullptr && &around->decider != &decider) around = around->outer;
        if (around != nullptr) tasks().call({.what = event::covered, .detail = now, .thread = around->thread});
    }

    const bool joins_;            // a scope of another thread
    scoped_wait* wait_ = nullptr; // the innermost
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
