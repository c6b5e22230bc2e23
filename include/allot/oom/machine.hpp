// The OOM state machine: threads of many tasks that share too little memory. A value, without clock, lock or thread.
//
// An event changes the state of its thread (transition_table.hpp). Where no task can go on then, the machine decides:
//
//   one fits, but goes behind   it passes the request that it waits for
//   some wait for memory        the last of them that may be rolled back is; a single one makes its request once more
//                               first, while all others are rolled back
//   all are rolled back         one of them begins its attempt again, alone; if such an attempt has failed since the
//                               last progress, it splits its input
//   it may not be rolled back   its request is refused
//
// A decision over requests that wait is put off while bytes that no task holds would serve the first of them: for as
// long as a token announces them, else until the thread of that request says that it has waited long. So is each one
// that would be due if waits that may be over were not, once for each such wait.
// A request that a limit of its task alone refuses is decided among the threads of that task.
// Cost: step() is O(threads) where some sleep and it decides, else O(1); only add_task(), add_thread(), work_on() and
// hold() take memory. Threads: as any value.
// Source: Spark-RAPIDS' SparkResourceAdaptor, 2022, whose states and rules these are; whole attempts alone before each
// split, decisions within a task, budgets of attempts without progress, victims in retry scopes alone, and wakes at a
// scope's end are new.
#pragma once

#include <allot/config.hpp>
#include <allot/oom/rules.hpp>
#include <allot/oom/situation.hpp>
#include <allot/oom/thread_state.hpp>
#include <allot/oom/transition_table.hpp>
#include <allot/request/command.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace oom {

/// A change that step() made; `by` says why.
struct change {
    thread_id thread;
    thread_state from;
    event by;
    thread_state to;

    friend bool operator==(const change&, const change&) = default;
};

class machine : public situation {
  public:
    static constexpr std::uint8_t most_bypasses = 16;

    explicit machine(const oom::rules& r = {}) noexcept : situation(r) {}

    /// Applies a command (request/command.hpp). An event of the transition table that does not fit its thread's state
    /// changes nothing; the others require that they fit. `sink(change)` is called for each change, in order.
    /// Returns: the id of what began; 0 for an event that did not fit; else 1.
    template <class Sink> std::uint32_t apply(const command& c, Sink sink) {
        const auto kind = static_cast<memory_kind>(c.detail);
        const bool begins = c.detail != 0;
        switch (c.what) {
        case event::started:
            return start(static_cast<thread_kind>(c.detail), c.on, sink,
                         c.number != 0 ? static_cast<thread_id>(c.number - 1) : no_id);
        case event::announced: return announce(c.thread, kind, c.bytes, sink);
        case event::failed: return fail(c.thread, c.detail, sink, c.bytes, c.free, c.number);
        case event::ended: return end_thread(c.thread, sink), 1;
        case event::removed:
            if (c.thread == no_id) return remove_task(c.on, sink), 1;
            return step(c.thread, c.what, sink);
        case event::granted:
        case event::given_up:
        case event::thrown:
        case event::ready:
        case event::freed:
        case event::may_fit:
        case event::woken:
        case event::tries_alone:
        case event::rolled_back:
        case event::split:
        case event::refused:
        case event::let_pass:
        case event::delayed: return step(c.thread, c.what, sink);
        case event::requested:
        case event::injected: return 1; // for the log, and who counts
        case event::never_fits: return never_fits(c.thread, kind, c.bytes, sink);
        case event::overdue: return overdue(c.thread, sink);
        case event::waited_long: return waited_long(c.thread, sink);
        case event::scope_begun: return enter_scope(c.thread, begins), 1;
        case event::scope_ended: return leave_scope(c.thread, begins, c.free, sink, c.number), 1;
        case event::barred: return bar(c.thread, begins), 1;
        case event::waits: return wait(c.thread, static_cast<waits_for>(c.detail), c.on, sink, c.number), 1;
        case event::covered: return cover(c.thread, begins, sink), 1;
        case event::joined: return work_on(c.thread, c.on, sink), 1;
        case event::left: return finish(c.thread, c.on, sink), 1;
        case event::task_begun: return add_task(priority{c.number, c.free});
        case event::task_ended: return end_task(c.on, sink), 1;
        case event::resource_begun: return add_resource(static_cast<std::uint32_t>(c.number));
        case event::resource_ended: return end_resource(c.on), 1;
        case event::held: return hold(c.on, static_cast<task_id>(c.number), true, sink, c.thread);
        case event::let_go: return hold(c.on, static_cast<task_id>(c.number), false, sink);
        case event::refunded: return freed(kind, c.free, sink), 1;
        case event::held_outside: return outside_[c.detail].held += c.bytes, 1;
        case event::returned:
            outside_[c.detail].held -= c.bytes;
            decide(sink);
            return 1;
        }
        return 0;
    }

    // ---- tasks, threads, resources ----------------------------------------------------------------------------

    task_id add_task(priority place) {
        const task_id id = free_id(tasks_);
        task& t = tasks_[id];
        t.used = true, t.removed = false, t.place = place, t.epoch = 1, t.share = t.keeps = 0;
        return id;
    }
    /// The task has no threads. Its memory has been returned: this is progress for all others.
    template <class Sink> void end_task(task_id id, Sink sink) {
        tasks_[id].used = false;
        for (resource& r : resources_) std::erase(r.holders, id);
        for (thread& t : threads_)
            if (t.waits == waits_for::task && t.on == id) t.waits = waits_for::nothing; // the id may be used again
        note_part_done();
        note_idle(true, sink);
        decide(sink);
    }
    /// `joins`: the thread in whose retry scope it works, from now on to its end: it has no scope of its own. What that
    /// decides is decided for that thread's attempt, with all threads that work in it.
    ALLOT_OUTLINE thread_id add_thread(thread_kind kind, task_id first, thread_id joins = no_id) {
        const thread_id id = free_id(threads_);
        if (first != no_id) list(id, first); // alone it can fail
        thread& t = threads_[id];
        t = thread{};
        t.used = true;
        t.kind = kind;
        t.task = first;
        if (joins != no_id && threads_[joins].scopes != 0) {
            t.joins = threads_[joins].joins != no_id ? threads_[joins].joins : joins;
            t.scopes = 1;
        }
        t.state = detail::after(thread_state::unknown, event::started);
        ++states_[static_cast<std::size_t>(t.state)];
        spoil_attempts_of_others(id);
        return id;
    }
    /// The same for a task that may be removed: then its thread is at once.
    template <class Sink> thread_id start(thread_kind kind, task_id first, Sink sink, thread_id joins = no_id) {
        const thread_id id = add_thread(kind, first, joins);
        remove_if_due(id, sink);
        return id;
    }
    /// Its id is free then.
    template <class Sink> void end_thread(thread_id id, Sink sink) {
        const thread& t = threads_[id];
        if (t.task != no_id) note_done(t, t.task);
        for (const task_id other : t.others) note_done(t, other);
        for (thread& each : threads_)
            if (each.used && each.joins == id) each.joins = no_id, --each.scopes; // misuse: the scope has ended before
        threads_[id].covered = true;
        if (!step(id, event::ended, sink)) decide(sink); // its removal was thrown
        --states_[static_cast<std::size_t>(t.state)];
        if (t.task != no_id) unlist(id, t.task);
        for (const task_id other : t.others) unlist(id, other);
        clear_marks(threads_[id]);
        threads_[id].used = false;
    }
    /// Its threads are removed that work for no other task, also those that begin later.
    template <class Sink> void remove_task(task_id id, Sink sink) {
        tasks_[id].removed = true;
        for (thread_id t = 0; t != threads_.size(); ++t)
            if (threads_[t].used && threads_[t].task == id) remove_if_due(t, sink);
    }
    /// `now`: the same thread of the program works by another id, for another task, until this is called again.
    template <class Sink> void cover(thread_id id, bool now, Sink sink) {
        threads_[id].covered = now;
        decide(sink);
    }
    template <class Sink> void work_on(thread_id id, task_id more, Sink sink) {
        thread& t = threads_[id];
        if (t.task != no_id) t.others.reserve(t.others.size() + 1);
        list(id, more);
        if (t.task == no_id) t.task = more;
        else t.others.push_back(more);
        end_removal(id, sink);
        remove_if_due(id, sink);
    }
    template <class Sink> void finish(thread_id id, task_id which, Sink sink) {
        thread& t = threads_[id];
        note_done(t, which);
        unlist(id, which);
        if (t.task != which) {
            erase_one(t.others, which);
        } else if (t.others.empty()) {
            t.task = no_id;
        } else {
            t.task = t.others.front();
            t.others.erase(t.others.begin());
        }
        end_removal(id, sink);
        remove_if_due(id, sink);
        decide(sink);
    }
    resource_id add_resource(std::uint32_t permits = 1) {
        const resource_id id = free_id(resources_);
        resources_[id] = {.used = true, .permits = permits, .holders = {}};
        return id;
    }
    void end_resource(resource_id id) noexcept { resources_[id] = {}; }
    /// `holds`: the thread that does from now on. Returns: false if it was not held.
    template <class Sink> bool hold(resource_id r, task_id by, bool now, Sink sink, thread_id holds = no_id) {
        auto& holders = resources_[r].holders;
        const auto waits_for_it = [r](const thread& t) { return t.waits == waits_for::resource && t.on == r; };
        if (!now && !erase_one(holders, by)) return false;
        if (now) holders.push_back(by);
        if (const bool has_one = holders.size() < resources_[r].permits; now && !has_one)
            note_over([&](const thread& t) { return waits_for_it(t) && is_other(t, holds); }, false);
        else if (!now && (has_one || by != no_id)) note_over(waits_for_it);
        return decide(sink), true; // a hold may complete a deadlock, too
    }

    // ---- events -----------------------------------------------------------------------------------------------

    /// Applies an event to a thread, and decides. `sink(change)` is called for each thread that changes, in order.
    /// Returns: false if the event is wrong in this state; no state has changed then. Exception: an error of a request
    /// that was refused may be thrown once in any state.
    template <class Sink> bool step(thread_id id, event by, Sink sink) {
        thread& t = threads_[id];
        const bool was_refused = by == event::thrown && std::exchange(t.refused, false);
        if (!detail::is_legal(t.state, by)) return was_refused;
        const bool was_alone = t.alone; // which ends with each event but that of a new try
        if (by != event::announced) t.alone = false;
        const thread& owner = owner_of(t);
        if (by == event::failed && t.state == thread_state::alloc && &owner != &t && goes_back(owner)) {
            set(id, event::rolled_back, sink); // with the attempt that it works in
            decide(sink);
            return true;
        }
        if (by == event::failed && was_alone && !t.held_back && t.state == thread_state::alloc &&
            is_alone(id, scope_of(t), false) && !is_served_from_outside(t) && !may_be_served_from_outside(t) &&
            (may_go_back(t) || !any_unsure())) {
            note_failed_alone(id);
            roll_back(id, sink);
            decide(sink);
            return true;
        }
        if (by == event::ready) {
            // A verdict of another thread ended its attempt, or none of this machine's: it goes back as by one of its
            // own.
            if (t.state == thread_state::running && !std::exchange(t.is_woken, false)) roll_back(id, sink);
            spoil_attempts_of_others(id); // it has freed memory only now
        }
        if (by == event::ended) t.waits = waits_for::nothing; // one that is removed still waits, and frees what it has
        if (by == event::granted || by == event::ended) time_runs_ = false;
        if (by == event::thrown && t.state == thread_state::split_throw) attempt_of(t).has_split = true;
        set(id, by, sink);
        if (by == event::thrown && t.state == thread_state::running) begin_attempt(id);
        if (by == event::failed || by == event::ready || by == event::ended || by == event::thrown) decide(sink);
        return true;
    }
    /// A request begins to be made again: running -> alloc.
    template <class Sink> bool announce(thread_id id, memory_kind kind, std::size_t bytes, Sink sink) {
        thread& t = threads_[id];
        if (!detail::is_legal(t.state, event::announced)) return false;
        t.refused = false; // a request before it was
        t.memory = kind;
        t.bytes = bytes;
        return step(id, event::announced, sink);
    }
    /// The request was refused again. `why`: failed_by_own_limit: by a limit of the thread's task alone, so no other
    /// task's end helps it; failed_held_back: it fits, but goes behind another. `unknown`: bytes that no task holds
    /// where it was refused; `free`: those that are free there; `share`: as event::failed.
    template <class Sink>
    bool fail(thread_id id, std::uint8_t why, Sink sink, std::size_t unknown = 0, std::size_t free = 0,
              std::int64_t share = 0) {
        thread& t = threads_[id];
        if (detail::is_legal(t.state, event::failed)) {
            note(t.own, (why & detail::failed_by_own_limit) != 0, owns_);
            t.held_back = (why & detail::failed_held_back) != 0;
            t.unknown = unknown;
            t.free = free;
            if (t.task != no_id) tasks_[t.task].share = std::max(tasks_[t.task].share, share);
            std::size_t& stays = outside_[static_cast<std::size_t>(t.memory)].stays;
            if (!t.own && !t.held_back) stays = std::min(stays, unknown);
        }
        return step(id, event::failed, sink);
    }
    /// A wait for other things than memory begins; waits_for::nothing: it has ended. `keeps`: as leave_scope().
    template <class Sink>
    void wait(thread_id id, waits_for what, std::uint32_t on, Sink sink, std::int64_t keeps = -1) {
        thread& t = threads_[id];
        t.waits = what, t.on = on;
        note(t.may_run, false, may_run_);
        t.lasts = time_runs_ = false, t.runs_on = 0;
        if (what == waits_for::outside && t.scopes == 0) note_kept(t.task, keeps, sink);
        decide(sink);
    }
    /// `gathered`: free memory is whole again, as it is where a thread is woken or splits. Else the attempt that begins
    /// does not count as one alone: pieces that others have cut may be too small for it.
    void enter_scope(thread_id id, bool gathered = true) noexcept {
        threads_[id].runs_on = 0;
        if (threads_[id].scopes++ != 0) return;
        begin_attempt(id);
        if (!gathered) threads_[id].alone_of_all.began = 0;
    }
    /// While `now`, the thread must not be rolled back, though it is in a scope.
    void bar(thread_id id, bool now) noexcept { attempt_of(threads_[id]).barred += now ? 1U : UINT32_MAX; }
    /// `done`: a part of the work is finished, which is progress; `free`: bytes of this kind that are free now;
    /// `keeps`: the share that its task has still, -1: not known.
    template <class Sink>
    void leave_scope(thread_id id, bool done, std::size_t free, Sink sink, std::int64_t keeps = -1) {
        thread& t = threads_[id];
        t.runs_on = 0;
        if (--t.scopes == 0 && detail::is_legal(t.state, event::woken)) wake(id, sink); // it has nothing to begin again
        if (t.scopes != 0) return; // a rollback begins the outermost scope again
        t.attempts = 0;            // other work has the whole budget again
        t.has_split = false;
        if (t.state == thread_state::unknown) return decide(sink); // it was removed, and has freed what it had
        if (!done) return;
        note_part_done();
        if (t.task != no_id) ++tasks_[t.task].epoch, tasks_[t.task].share /= 2; // what comes may need less
        note_kept(t.task, keeps, sink);
        if (rules_.rolled_back_wakes == wakes::at_scope_end)
            wake_first_that_fits(free, [](const thread&) { return true; }, sink);
        decide(sink);
    }
    /// Bytes became free, or can be freed by reclaimers now, beside those that wait for memory.
    template <class Sink> void freed(memory_kind kind, std::size_t free, Sink sink) {
        note_progress();
        for (thread_id id = 0; id != threads_.size(); ++id)
            if (threads_[id].used && threads_[id].memory == kind && threads_[id].state == thread_state::alloc)
                set(id, event::freed, sink);
        if (rules_.rolled_back_wakes == wakes::at_free)
            wake_first_that_fits(free, [kind](const thread& t) { return t.memory == kind; }, sink);
    }
    /// A sleeper has waited as long as it may: it splits its input, or where it did or cannot, its request is refused.
    template <class Sink> bool overdue(thread_id id, Sink sink) {
        thread& t = threads_[id];
        if (t.state != thread_state::blocked && t.state != thread_state::bufn) return false;
        return !may_go_back(t) || owner_of(t).has_split ? refuse(id, sink) : split(id, sink), true;
    }
    /// The decision that is put off is due now: waits that may be over, or for work that nobody does, last. Where no
    /// task needs it any more, the next one may be put off again.
    template <class Sink> bool waited_long(thread_id id, Sink sink) {
        thread& t = threads_[id];
        if (!t.delayed) return false;
        bool by_waits = time_runs_ = false;
        for (thread& each : threads_)
            if (each.used && (each.may_run || is_unsure(each))) {
                note(each.may_run, false, may_run_);
                by_waits = each.lasts = true;
            } else if (delay_ != delay::runs && each.runs_on < most_delays && runs_in_blocked_task(each)) {
                by_waits = ++each.runs_on != 0;
            }
        if (by_waits) return note(t.delayed, false, delayed_), decide(sink), true;
        const bool is_due = is_deadlocked();
        if (is_due) outside_[static_cast<std::size_t>(t.memory)].stays = t.unknown;
        end_delay(is_due ? delay::over : delay::none);
        decide(sink);
        return true;
    }
    /// The request is larger than its limit: no other's end helps, so it is split; outside a scope it is refused
    /// anyway.
    template <class Sink> bool never_fits(thread_id id, memory_kind kind, std::size_t bytes, Sink sink) {
        thread& t = threads_[id];
        if (!may_be_rolled_back(t)) return false;
        announce(id, kind, bytes, sink);
        if (t.state != thread_state::alloc && t.state != thread_state::alloc_free) return false;
        t.alone = false;
        return split(id, sink), true;
    }

  private:
    template <class Sink> void remove_if_due(thread_id id, Sink& sink) {
        if (is_removed(threads_[id])) step(id, event::removed, sink);
    }
    // A thread of a pool goes on with other work.
    template <class Sink> void end_removal(thread_id id, Sink& sink) {
        const thread& t = threads_[id];
        if (t.kind == thread_kind::dedicated || is_removed(t)) return;
        if (t.state == thread_state::remove_throw) set(id, event::ended, sink);
        if (t.state == thread_state::unknown) set(id, event::started, sink);
    }
    // The thread that has the marks and the budget of the attempt.
    thread& attempt_of(thread& t) noexcept { return t.joins != no_id ? threads_[t.joins] : t; }
    void note_progress() noexcept { ++epoch_; }
    void note_part_done() noexcept {
        note_progress();
        end_delay(delay::none);
    }
    void end_delay(delay now) noexcept {
        delay_ = now, time_runs_ = false;
        if (delayed_ == 0) return;
        for (thread& t : threads_) note(t.delayed, false, delayed_);
    }

    template <class Sink> void set(thread_id id, event by, Sink& sink) {
        thread& t = threads_[id];
        const thread_state from = std::exchange(t.state, detail::after(t.state, by));
        t.runs_on = 0;
        --states_[static_cast<std::size_t>(from)];
        ++states_[static_cast<std::size_t>(t.state)];
        if (t.state != thread_state::blocked) t.held_back = t.passes = false;
        if (t.state == thread_state::running || t.state == thread_state::unknown) note(t.own, false, owns_);
        note(t.delayed, by == event::delayed, delayed_);
        sink(change{id, from, by, t.state});
    }
    // Changes a mark of a thread, whose marks are counted.
    static void note(bool& mark, bool now, std::uint32_t& count) noexcept {
        count += static_cast<std::uint32_t>(now) - static_cast<std::uint32_t>(mark);
        mark = now;
    }
    void clear_marks(thread& t) noexcept {
        note(t.own, false, owns_);
        note(t.delayed, false, delayed_);
        note(t.may_run, false, may_run_);
    }
    template <class Sink> void refuse(thread_id id, Sink& sink) {
        threads_[id].refused = true;
        set(id, event::refused, sink);
    }
    template <class Sink> void roll_back(thread_id id, Sink& sink) {
        thread& owner = attempt_of(threads_[id]);
        if (!may_go_back(threads_[id])) return refuse(id, sink);
        ++owner.attempts;
        if (&owner != &threads_[id]) note_failed_alone(id);
        // All of its attempt that sleep, and the owner; the others where they request more.
        for (thread_id t = 0; t != threads_.size(); ++t) {
            thread& each = threads_[t];
            const bool is_told = t == id || &each == &owner || each.state == thread_state::blocked;
            const bool may_be = detail::is_legal(each.state, event::rolled_back);
            if (!each.used || &owner_of(each) != &owner || !is_told || !may_be) continue;
            each.alone = false;
            set(t, event::rolled_back, sink);
        }
    }
    template <class Sink> void split(thread_id id, Sink& sink) {
        thread& owner = attempt_of(threads_[id]);
        if (is_spent(owner)) return refuse(id, sink);
        ++owner.attempts;
        owner.alone_of_all = owner.alone_of_own = {}; // of the input as it was
        set(id, event::split, sink);
    }
    // What this thread had was in the way of others' attempts: none of these counts as one alone (began = 0), of all or
    // of its task.
    void spoil_attempts_of_others(thread_id id) noexcept {
        for (thread& t : threads_) {
            if (&owner_of(t) == &owner_of(threads_[id])) continue;
            t.alone_of_all.began = 0;
            if (t.task != no_id && takes_part(threads_[id], t.task)) t.alone_of_own.began = 0;
        }
    }
    // Notes whether the attempt is alone from its beginning: `began` is the epoch then, else 0.
    ALLOT_OUTLINE void begin_attempt(thread_id id) noexcept {
        thread& t = attempt_of(threads_[id]);
        if (t.task == no_id) return;
        t.alone_of_all.began = is_alone(id) ? epoch_ : 0;
        t.alone_of_own.began = is_alone(id, t.task) ? tasks_[t.task].epoch : 0;
    }
    template <class Sink> void try_alone(thread_id id, Sink& sink) {
        threads_[id].alone = true;
        if (threads_[id].state == thread_state::bufn) begin_attempt(id);
        set(id, event::tries_alone, sink);
    }
    template <class Sink> void wake(thread_id id, Sink& sink) {
        threads_[id].bypasses = 0, threads_[id].is_woken = goes_back(threads_[id]);
        if (threads_[id].state == thread_state::bufn) begin_attempt(id);
        set(id, event::woken, sink);
    }
    // The task has this share from now on, which others may fit beside.
    template <class Sink> void note_kept(task_id of, std::int64_t share, Sink& sink) {
        if (of != no_id) tasks_[of].keeps = std::max(share, std::int64_t{0});
        if (share >= 0) note_idle(share == 0, sink);
    }
    // A task has done a part, or has `nothing` any more, as one that has ended. Those that are or will be rolled back
    // are woken in order, while they fit; the first also where no other is in a scope.
    template <class Sink> void note_idle(bool nothing, Sink& sink) {
        if (in(thread_state::blocked) != 0 || rolled_back() == 0) return;
        bool in_scope = false;
        for (std::int64_t shares = shares_in_use(in_scope);; in_scope = true) {
            const thread_id id = find(true, [](const thread& t) { return detail::is_legal(t.state, event::woken); });
            if (id == no_id) return;
            shares += needs(threads_[id]);
            if ((!nothing || in_scope) && shares > detail::whole_share && !rules_.all_are_woken) return;
            wake(id, sink);
        }
    }
    // The first of the rolled back threads that this holds for, and whose last request fits. Those that go before it
    // are bypassed, each at most `most_bypasses` times.
    template <class Holds, class Sink> void wake_first_that_fits(std::size_t free, Holds holds, Sink& sink) {
        const auto may_wake = [&](const thread& t) { return t.used && t.state == thread_state::bufn && holds(t); };
        thread_id found = no_id, due = no_id;
        for (thread_id id = 0; id != threads_.size(); ++id) {
            const thread& t = threads_[id];
            if (!may_wake(t)) continue;
            if (t.bytes > free) {
                if (t.bypasses >= most_bypasses && (due == no_id || goes_before(id, due))) due = id;
            } else if (found == no_id || goes_before(id, found)) {
                found = id;
            }
        }
        if (found == no_id || (due != no_id && goes_before(due, found))) return;
        for (thread_id id = 0; id != threads_.size(); ++id)
            if (may_wake(threads_[id]) && id != found && goes_before(id, found)) ++threads_[id].bypasses;
        wake(found, sink);
    }
    // Whether bytes that no task holds would serve the first request that waits, so that no decision is due yet.
    template <class Sink> bool put_off(Sink& sink) {
        const thread_id first =
            find(true, [](const thread& t) { return takes_part(t) && t.state == thread_state::blocked && !t.own; });
        if (first == no_id) return false;
        if (is_served_from_outside(threads_[first])) return true;
        if (!may_be_served_from_outside(threads_[first])) return false;
        if (delay_ == delay::none) delay_ = delay::runs, ++delays_;
        if (!threads_[first].delayed) set(first, event::delayed, sink);
        return true;
    }
    // Waits that this holds for may be over now; or are not.
    template <class Holds> void note_over(Holds holds, bool now = true) noexcept {
        for (thread& t : threads_)
            if (t.used && holds(t)) note(t.may_run, now, may_run_);
    }
    // The thread has done what it did for the task.
    void note_done(const thread& by, task_id of) noexcept {
        const bool of_pool = by.kind != thread_kind::dedicated;
        note_over([&](const thread& t) {
            return &t != &by && ((t.waits == waits_for::task && t.on == of) ||
                                 (of_pool && t.waits == waits_for::pool && takes_part(t, of)));
        });
    }
    template <class Sink> void decide(Sink& sink) {
        if (asleep() == 0) return; // all else goes on
        for (task_id id = 0; owns_ != 0 && id != tasks_.size(); ++id)
            if (has_own(id) && decide_among(id, sink)) return;
        if (!decide_among(no_id, sink) && wait_delays()) delay_for_waits(sink);
    }
    // Of those that sleep the first keeps the time.
    template <class Sink> void delay_for_waits(Sink& sink) {
        const thread_id first = find(true, [](const thread& t) {
            return takes_part(t) && (t.state == thread_state::blocked || t.state == thread_state::bufn);
        });
        if (first == no_id || threads_[first].delayed) return;
        if (!std::exchange(time_runs_, true)) ++delays_; // tries in between begin no other time
        set(first, event::delayed, sink);
    }
    // What cannot be taken back, a split or a refusal, is put off while it is unsure that a thread waits in vain, and
    // so is an attempt alone, which would meet that thread.
    template <class Sink> bool put_off_for_waits(Sink& sink) {
        const bool unsure = any_unsure();
        if (unsure) delay_for_waits(sink);
        return unsure;
    }
    // It has all memory that others would return now, and is refused: it is split when its turn comes again.
    void note_failed_alone(thread_id id) noexcept {
        thread &t = threads_[id], &owner = attempt_of(t);
        if (!is_alone(id, scope_of(t))) return; // one may go on that took some meanwhile
        alone_mark& mark = t.own ? owner.alone_of_own : owner.alone_of_all;
        if (mark.began == (t.own ? tasks_[owner.task].epoch : epoch_)) mark.tried = mark.began;
    }
    // `of`: the threads of one task; no_id: all. False: one of them can go on. True: decided, or an event that is due
    // anyway comes first. Those that sleep are rolled back one after the other; the last one tries alone; once all are
    // back, one tries alone, then is split.
    template <class Sink> bool decide_among(task_id of, Sink& sink) {
        if (of == no_id ? !is_deadlocked() : !is_deadlocked_within(of)) return false;
        unsigned waiting = 0;
        for (const thread& t : threads_) waiting += takes_part(t, of) && t.state == thread_state::blocked;
        if (waiting != 0) {
            const auto sleeps = [of](const thread& t) { return takes_part(t, of) && t.state == thread_state::blocked; };
            const thread_id passes = find(true, [&](const thread& t) { return sleeps(t) && t.held_back; });
            if (passes != no_id) { // its request fits
                set(passes, event::let_pass, sink);
                threads_[passes].passes = true;
                threads_[passes].alone = waiting == 1 && rules_.tries_alone && is_alone(passes, of, false);
                return true;
            }
            if (of == no_id && put_off(sink)) return true;
            const auto may_go = [&](const thread& t) { return sleeps(t) && may_be_rolled_back(t); };
            thread_id victim = find(false, may_go);
            if (victim == no_id) victim = find(false, sleeps);
            if (!may_go_back(threads_[victim]) && put_off_for_waits(sink)) return true;
            if (waiting != 1 || !rules_.tries_alone) roll_back(victim, sink);
            else if (is_alone(victim, of, false)) try_alone(victim, sink);
            else if (may_be_alone(victim, of, false)) delay_for_waits(sink);
            return true;
        }
        const auto is_back = [of](const thread& t) { return takes_part(t, of) && t.state == thread_state::bufn; };
        const thread_id chosen = find(rules_.first_to_split == splits::highest, is_back);
        if (chosen == no_id) return true; // a cycle of waits for other things: none of them is a request
        if (rules_.tries_alone && !is_alone(chosen, of)) {
            if (may_be_alone(chosen, of, true)) delay_for_waits(sink);
        } else if (rules_.tries_alone && !has_tried_alone(chosen)) try_alone(chosen, sink);
        else if (!put_off_for_waits(sink)) split(chosen, sink);
        return true;
    }
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
