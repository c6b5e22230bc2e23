// Tasks, and the threads that work for them: tokens on their stacks.
//
//     allot::oom::task query{tasks, "query 7"};          // tasks: an arbiter
//     allot::oom::task_thread here{query};               // this thread works for it until `here` ends
//
// Cost: 40 bytes; the arbiter's lock at begin and end. Threads: a task_thread is used by its thread alone. Checked builds
// report tasks and tokens that end too early, in another order than they began, or on another thread.
#pragma once

#include <allot/account/command.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/thread_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace oom {

/// Work that ends as a whole: a query, or a part of one. Its memory is returned before it ends: then others go on.
class task {
  public:
    /// `number`: a task with a larger one is first; among equals, the one that came first. Requires: the name and the
    /// account outlive the task. `memory`: what the task holds is charged there, for statistics and reports.
    /// Throws: std::bad_alloc.
    explicit task(arbiter& by, const char* name = "", std::int64_t number = 0, const account* memory = nullptr)
        : by_(by), memory_(memory) {
        const allot::detail::lock_guard reports_wait(by.tasks_lock_);
        const allot::detail::lock_guard hold(by.lock_);
        const std::uint64_t order = ++by.tasks_so_far_;
        if (by.tasks_.size() == by.machine_.tasks().size()) by.tasks_.emplace_back();
        id_ = by.call({.what = event::task_begun, .number = number, .free = order});
        by.tasks_[id_] = {name, memory, {}, order};
    }
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    /// Requires: no thread works for it, by a task_thread or by begin(). Checked builds report one that does.
    ~task() {
        {
            task_stats last = stats();
            last.bytes = 0;
            const allot::detail::lock_guard reports_wait(by_.tasks_lock_);
            const allot::detail::lock_guard hold(by_.lock_);
            if constexpr (ALLOT_CHECKED != 0) check_no_thread();
            by_.ended_ += last;
            by_.call({.what = event::task_ended, .on = id_});
            by_.tasks_[id_] = {}; // the name and the account may end
        }
        by_.deliver();
    }

    /// Aborts the task, from any thread: waits of its threads end, and their next requests that are refused throw
    /// task_removed; so do those of threads that begin later. Pool threads go on with other tasks.
    void remove() noexcept { by_.post({.what = event::removed, .on = id_}); }
    task_stats stats() const noexcept {
        task_stats now;
        {
            const allot::detail::lock_guard hold(by_.lock_);
            now = by_.tasks_[id_].stats;
        }
        if (memory_ != nullptr) now.bytes = memory_->used(), now.peak = memory_->peak();
        return now;
    }
    arbiter& by() const noexcept { return by_; }
    task_id id() const noexcept { return id_; }

  private:
    friend task_thread;

    const char* name() const noexcept {
        const allot::detail::lock_guard hold(by_.lock_);
        return by_.tasks_[id_].name;
    }
    // Requires the arbiter's lock.
    void check_no_thread() const noexcept {
        for (const machine::thread& t : by_.machine_.threads())
            if (t.used && (t.task == id_ || std::find(t.others.begin(), t.others.end(), id_) != t.others.end()))
                report_misuse({.kind = misuse::living_task_thread, .task = by_.tasks_[id_].name});
    }

    arbiter& by_;
    task_id id_ = no_id;
    const account* const memory_;
};

/// The calling thread works for a task, from construction to destruction. Tokens of one thread are nested: the last
/// that began ends first. Checked builds report another order, or an end on another thread.
class task_thread {
  public:
    /// Throws: std::bad_alloc.
    explicit task_thread(task& of, thread_kind kind = thread_kind::dedicated) : by_(of.by()) {
        const allot::detail::lock_guard hold(by_.lock_);
        const std::size_t ids = by_.machine_.threads().size();
        if (by_.threads_.size() == ids) by_.threads_.emplace_back(*by_.by, static_cast<thread_id>(ids));
        id_ = by_.call({.what = event::started, .detail = static_cast<std::uint8_t>(kind), .on = of.id()});
        record_ = &by_.threads_[id_]; // it stays there
        detail::thread_record& r = *record_;
        r.number = ++by_.threads_so_far_;
        r.slept_at = r.attempt_at = r.slept_in_attempt = 0;
        r.to_signal = false;
        r.injected = charge_outcome::fits;
        cover_outer(true);
        allot::detail::of_this_thread.token = this;
    }
    task_thread(const task_thread&) = delete;
    task_thread& operator=(const task_thread&) = delete;
    /// Requires: retry scopes, waits and no_rollback tokens that began under it have ended.
    ~task_thread() {
        {
            const allot::detail::lock_guard hold(by_.lock_);
            leave_thread();
            if constexpr (ALLOT_CHECKED != 0) check_no_scope();
            by_.call({.what = event::ended, .thread = id_});
            cover_outer(false);
        }
        by_.deliver();
    }

    /// For threads of a pool: the thread works for this task too, or no longer. A task of another arbiter is ignored,
    /// and reported in checked builds. Throws: std::bad_alloc.
    void begin(const task& more) {
        if (is_own(more)) by_.post({.what = event::joined, .thread = id_, .on = more.id()});
    }
    void end(const task& done) noexcept {
        if (is_own(done)) by_.post({.what = event::left, .thread = id_, .on = done.id()});
    }

    thread_state state() const noexcept {
        const allot::detail::lock_guard hold(by_.lock_);
        return by_.state_of(id_);
    }
    bool is_in_scope() const noexcept {
        const allot::detail::lock_guard hold(by_.lock_);
        return by_.machine_[id_].scopes != 0;
    }
    bool may_be_rolled_back() const noexcept {
        const allot::detail::lock_guard hold(by_.lock_);
        return machine::may_be_rolled_back(by_.machine_[id_]);
    }
    // For injection: how its next request fails.
    void inject(charge_outcome as) noexcept { record_->injected = as; }
    charge_outcome injected() const noexcept { return record_->injected; }
    /// The task that it works for, the first one; no_id: none.
    task_id task_now() const noexcept {
        const allot::detail::lock_guard hold(by_.lock_);
        return by_.machine_[id_].task;
    }
    arbiter& by() const noexcept { return by_; }
    thread_id id() const noexcept { return id_; }
    /// The innermost token of the calling thread; null: none.
    static task_thread* now() noexcept { return allot::detail::of_this_thread.token; }
    /// Whether it is a token of the calling thread that has not ended.
    static bool is_alive(const task_thread* t) noexcept {
        const task_thread* has = allot::detail::of_this_thread.token;
        while (has != nullptr && has != t) has = has->outer_;
        return has != nullptr;
    }
    /// The innermost one for a task of this arbiter.
    static task_thread* now(const arbiter& of) noexcept {
        task_thread* t = allot::detail::of_this_thread.token;
        while (t != nullptr && &t->by_ != &of) t = t->outer_;
        return t;
    }

    // For retry scopes.
    void enter_scope() noexcept {
        const bool gathered =
            by_.refused_since_gathered_.load(std::memory_order_relaxed) && !is_in_scope() && gather_if_alone();
        const allot::detail::lock_guard hold(by_.lock_);
        const bool whole = std::exchange(by_.is_unused_, false) || gathered;
        by_.call({.what = event::scope_begun, .detail = whole, .thread = id_});
        if (by_.machine_[id_].scopes == 1) note_attempt();
    }
    void leave_scope(bool done, std::size_t free) noexcept {
        by_.post({.what = event::scope_ended, .detail = done, .thread = id_, .free = free});
    }
    // What the last attempt took is free.
    void begin_attempt() noexcept {
        (void)gather_if_alone();
        const allot::detail::lock_guard hold(by_.lock_);
        note_attempt();
    }
    /// Sleeps until the thread may begin its attempt again. Returns: try_again, or how the wait ended; split: with a
    /// smaller input.
    verdict wait_until_ready() noexcept {
        const verdict v = record_->wait_until_ready();
        if (v > verdict::try_again) record_->post({.what = event::thrown});
        return v;
    }

  private:
    friend arbiter;
    friend scoped_wait;

    // Whether free memory is whole now.
    bool gather_if_alone() noexcept {
        {
            const allot::detail::lock_guard hold(by_.lock_);
            if (!by_.machine_.is_alone(id_)) return false;
        }
        by_.gather();
        return true;
    }
    // Requires the arbiter's lock, as the next three.
    void note_attempt() noexcept {
        record_->attempt_at = sys::fine_clock::now();
        record_->slept_in_attempt = 0;
    }
    const char* task_name() const noexcept {
        const task_id first = by_.machine_[id_].task;
        return first != no_id ? by_.tasks_[first].name : "";
    }
    // Takes it out of its thread's list; where it ends too early, those that began later stay there.
    void leave_thread() noexcept {
        task_thread** at = &allot::detail::of_this_thread.token;
        while (*at != nullptr && *at != this) at = &(*at)->outer_;
        if (ALLOT_UNLIKELY(at != &allot::detail::of_this_thread.token || *at == nullptr))
            report_misuse(
                {.kind = *at == nullptr ? misuse::ended_elsewhere : misuse::task_thread_order, .task = task_name()});
        if (*at != nullptr) *at = outer_;
    }
    void check_no_scope() const noexcept {
        const machine::thread& t = by_.machine_[id_];
        if (t.scopes != 0 || t.barred != 0 || wait_ != nullptr)
            report_misuse({.kind = misuse::living_scope, .task = task_name()});
    }
    bool is_own(const task& t) const noexcept {
        if (ALLOT_LIKELY(&t.by() == &by_)) return true;
        if constexpr (ALLOT_CHECKED != 0) report_misuse({.kind = misuse::other_arbiter, .task = t.name()});
        return false;
    }
    // While this token lives, the outer one of the same arbiter does nothing. Requires the arbiter's lock.
    void cover_outer(bool now) noexcept {
        const task_thread* outer = outer_;
        while (outer != nullptr && &outer->by_ != &by_) outer = outer->outer_;
        if (outer != nullptr) by_.call({.what = event::covered, .detail = now, .thread = outer->id_});
    }

    arbiter& by_;
    thread_id id_ = no_id;
    detail::thread_record* record_ = nullptr;
    scoped_wait* wait_ = nullptr; // the innermost
    task_thread* outer_ = allot::detail::of_this_thread.token;
};

inline allot::detail::judged_thread* arbiter::this_thread() noexcept {
    const task_thread* const t = task_thread::now(*this);
    return t != nullptr && t->task_now() != no_id ? t->record_ : nullptr; // a pool thread may work for no task
}

} // namespace oom
} // namespace allot::inline ALLOT_ABI
