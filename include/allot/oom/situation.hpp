// Which threads work for which tasks, in which states, and what each waits for: what the machine decides over.
//
// A thread is stuck while it waits for memory, is rolled back, or waits for a task, a pool or a resource that tasks
// hold: explicit edges, no samples. A wait that may be over, since one that could end it has ended or let go, is no
// edge until its thread has run, or a decision was put off for it as long as it may be. A task is blocked if one of its
// dedicated threads is held up by others (rules: or all are), and each pool thread that works for it is. A request that
// a limit of its task alone refuses (`own`) waits for no other task: then the threads of that task decide. Bytes that
// no task holds may come back by themselves: where they would serve the first request that waits, a decision is put
// off.
// Invariant: valid(). Cost: 128 bytes per thread, 64 per task. Threads: as any value; a const call may change where the
// next search begins.
// Source: the any/all rule is Spark-RAPIDS', 2022.
#pragma once

#include <allot/config.hpp>
#include <allot/core/memory_kind.hpp>
#include <allot/oom/rules.hpp>
#include <allot/oom/thread_state.hpp>
#include <allot/request/command.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace oom {

/// How a thread works for tasks.
enum class thread_kind : std::uint8_t {
    dedicated, // for one task
    pool,      // for several, one after the other; its place is that of its first task
    shuffle,   // for several at once; is before all others
};

/// What a thread waits for, other than memory.
enum class waits_for : std::uint8_t {
    nothing,
    outside,  // what no task holds back: a disk, a network
    task,     // another task's result or end
    pool,     // pool threads that work for its task
    resource, // what tasks hold: a semaphore, a buffer of a pool
};

class situation {
  public:
    // Epochs of progress; 0: none.
    struct alone_mark {
        std::uint64_t began = 0; // its attempt did, from its beginning while all others were rolled back
        std::uint64_t tried = 0; // such an attempt failed

        friend bool operator==(const alone_mark&, const alone_mark&) = default;
    };
    struct thread {
        thread_state state = thread_state::unknown;
        thread_kind kind = thread_kind::dedicated;
        memory_kind memory = memory_kind::host; // of its last request
        waits_for waits = waits_for::nothing;
        bool used = false;          // false: the id is free
        bool alone = false;         // tries once more while all others are rolled back
        bool refused = false;       // its request is to fail
        bool has_split = false;     // since its last progress, for a wait that took too long
        bool own = false;           // its request was refused by a limit of its task alone
        bool held_back = false;     // it sleeps though its request fits, behind another that is due
        bool passes = false;        // that one, with its next try
        bool delayed = false;       // it keeps the time while a decision is put off
        bool is_woken = false;      // though what it took is not free yet: it need not sleep then
        bool may_run = false;       // its wait may be over: one that could end it has ended, or let go
        bool lasts = false;         // its wait did while a decision was put off for it
        bool covered = false;       // it has ended, or the same thread of the program works by an inner token now
        std::uint8_t runs_on = 0;   // decisions put off for it, since its last event: it may wait unseen
        std::uint8_t bypasses = 0;  // others that were woken before it, though it is first
        std::uint32_t barred = 0;   // no_rollback tokens; while it has one, it must not be rolled back
        std::uint32_t scopes = 0;   // retry scopes that it is in; 0: it must not be rolled back
        std::uint32_t attempts = 0; // rollbacks and splits since its last progress
        std::uint32_t on = no_id;   // the task or resource that it waits for
        task_id task = no_id;       // that it works for, the first one
        thread_id joins = no_id;    // the thread in whose retry scope it works
        alone_mark alone_of_all, alone_of_own; // among all threads; among those of its task
        std::size_t bytes = 0;                 // of its last request
        std::size_t free = 0;                  // where that was refused last
        std::size_t unknown = 0;               // bytes there that no task holds
        std::vector<task_id> others;           // further tasks of a pool thread

        friend bool operator==(const thread&, const thread&) = default;
    };
    struct task {
        bool used = false;
        bool removed = false; // its dedicated threads are
        priority place;
        std::uint64_t epoch = 1;        // of the progress of its threads
        std::int64_t share = 0;         // that it had and requested of what tasks may have there; 0: not known
        std::int64_t keeps = 0;         // of it, where it was outside of scopes last
        std::vector<thread_id> threads; // that work for it, by id

        friend bool operator==(const task&, const task&) = default;
    };

    struct resource {
        bool used = false;
        std::uint32_t permits = 1;    // fewer holders stop nobody
        std::vector<task_id> holders; // once for each time that they hold it

        friend bool operator==(const resource&, const resource&) = default;
    };

    // Bytes that no task holds, of one kind of memory.
    struct outside {
        std::size_t held = 0;  // by tokens, until these end
        std::size_t stays = 0; // that did not come back when a decision was put off

        friend bool operator==(const outside&, const outside&) = default;
    };
    enum class delay : std::uint8_t { none, runs, over };
    // How waits that may be over are seen.
    enum class seen { as_over, as_lasting };

    static constexpr std::uint8_t most_delays = 10; // before a thread that runs on counts as surely blocked

    explicit situation(const oom::rules& r) noexcept : rules_(r) {}

    const oom::rules& rules() const noexcept { return rules_; }
    const thread& operator[](thread_id id) const noexcept { return threads_[id]; }
    const std::vector<thread>& threads() const noexcept { return threads_; }
    const std::vector<task>& tasks() const noexcept { return tasks_; }
    const std::vector<resource>& resources() const noexcept { return resources_; }
    const std::vector<task_id>& holders(resource_id id) const noexcept { return resources_[id].holders; }
    const outside& outside_of(memory_kind kind) const noexcept { return outside_[static_cast<std::size_t>(kind)]; }
    /// Of decisions, until a part of some work is finished; and how many have begun.
    delay delay_now() const noexcept { return delay_; }
    std::uint64_t delays() const noexcept { return delays_; }

    /// Whether the thread runs on only when others do something.
    bool is_stuck(const thread& t, seen how = seen::as_over) const noexcept {
        if (t.state == thread_state::blocked || t.state == thread_state::bufn) return true;
        if (t.may_run && how == seen::as_over) return false;
        switch (t.waits) {
        case waits_for::nothing:
        case waits_for::outside: return false;
        case waits_for::task:
            return t.on < tasks_.size() && tasks_[t.on].used; // ended, or never begun: it stops nobody
        case waits_for::pool: return true;
        case waits_for::resource: return resources_[t.on].holders.size() >= resources_[t.on].permits;
        }
        return false;
    }
    /// What becomes of its request.
    verdict verdict_for(thread_id id) const noexcept {
        switch (const thread& t = threads_[id]; t.state) {
        case thread_state::running:
            return t.refused ? verdict::refused : t.passes ? verdict::passes : verdict::try_again;
        case thread_state::alloc:
        case thread_state::alloc_free: return verdict::try_again;
        case thread_state::bufn_throw: return verdict::roll_back;
        case thread_state::bufn_wait: return verdict::goes_back;
        case thread_state::split_throw: return verdict::split;
        case thread_state::unknown: // the removal has been thrown before
        case thread_state::remove_throw: return verdict::removed;
        case thread_state::blocked:
        case thread_state::bufn: break;
        }
        return verdict::sleep;
    }
    /// Whether a request of the thread may end by a rollback or a split.
    bool may_be_rolled_back(const thread& t) const noexcept {
        const thread& owner = owner_of(t);
        return t.scopes != 0 && owner.scopes != 0 && owner.barred == 0;
    }
    /// The thread whose attempt this one's is a part of: itself, or the one whose scope it works in.
    const thread& owner_of(const thread& t) const noexcept { return t.joins != no_id ? threads_[t.joins] : t; }
    /// Whether there are threads, and each task that has some is blocked.
    ALLOT_OUTLINE bool is_deadlocked(seen how = seen::as_over) const noexcept {
        bool any = false;
        for (std::size_t n = 0, all = tasks_.size(); n != all; ++n) {
            const auto id = static_cast<task_id>((goes_on_ + n) % all);
            if (can_go_on(id, how, any)) return goes_on_ = id, false;
        }
        return any;
    }
    /// Whether the task has threads, and they wait for nothing that others hold, and none of them can go on.
    bool is_deadlocked_within(task_id of, seen how = seen::as_over) const noexcept {
        bool any = false;
        for (const thread_id id : tasks_[of].threads) {
            const thread& t = threads_[id];
            if (!takes_part(t)) continue;
            if (!is_stuck_by_itself(t, of, how)) return false;
            any = true;
        }
        return any;
    }
    /// Whether all others, or those of one task, are rolled back, or wait for other things than memory. Those of its
    /// own attempt are no others. `surely`: none of those waits may be for work that nobody does, and none of them is
    /// taken for blocked soon, since its task is.
    ALLOT_OUTLINE bool is_alone(thread_id id, task_id of = no_id, bool surely = true) const noexcept {
        const thread& owner = owner_of(threads_[id]);
        return !any_of(of, [&](const thread& t) { return is_in_way(t, surely) && &owner_of(t) != &owner; });
    }
    /// Whether an attempt that it began alone has failed, and there was no progress since.
    bool has_tried_alone(thread_id id) const noexcept { return mark_of(threads_[id]).tried == epoch_of(threads_[id]); }
    /// For tests: what its attempts alone say now, as bits; two situations that differ in nothing else go on alike.
    unsigned attempts_alone(thread_id id) const noexcept {
        const thread& t = threads_[id];
        const std::uint64_t own = t.task != no_id ? tasks_[t.task].epoch : 0;
        return (t.alone_of_all.began == epoch_ ? 1U : 0U) | (t.alone_of_all.tried == epoch_ ? 2U : 0U) |
               (t.alone_of_own.began == own ? 4U : 0U) | (t.alone_of_own.tried == own ? 8U : 0U);
    }
    /// Whether thread `a` is before thread `b`.
    ALLOT_OUTLINE bool goes_before(thread_id a, thread_id b) const noexcept {
        const thread &l = threads_[a], &r = threads_[b];
        const bool shuffles = l.kind == thread_kind::shuffle;
        if (shuffles != (r.kind == thread_kind::shuffle)) return shuffles;
        const priority p = place_of(l), q = place_of(r);
        return p == q ? a < b : is_before(p, q);
    }
    ALLOT_OUTLINE bool valid() const noexcept {
        std::array<std::uint32_t, detail::thread_states> states{};
        std::uint32_t owns = 0, delayed = 0, may_run = 0;
        for (task_id id = 0; id != tasks_.size(); ++id)
            for (const thread_id t : tasks_[id].threads)
                if (!threads_[t].used || !works_for(threads_[t], id)) return false;
        for (thread_id id = 0; id != threads_.size(); ++id) {
            const thread& t = threads_[id];
            if (!t.used) continue;
            ++states[static_cast<std::size_t>(t.state)];
            owns += t.own, delayed += t.delayed, may_run += t.may_run;
            if (t.task != no_id && !is_listed(id, t.task)) return false;
            for (const task_id other : t.others)
                if (!is_listed(id, other)) return false;
            if (t.own && (t.task == no_id || !t.others.empty())) return false;
            if (t.alone && t.state != thread_state::running && t.state != thread_state::alloc &&
                t.state != thread_state::alloc_free)
                return false;
            if (t.kind == thread_kind::dedicated && (t.task == no_id || !t.others.empty())) return false;
            if (t.task != no_id && !tasks_[t.task].used) return false;
            for (const task_id other : t.others)
                if (!tasks_[other].used) return false;
        }
        return states == states_ && owns == owns_ && delayed == delayed_ && may_run == may_run_;
    }
    friend bool operator==(const situation& a, const situation& b) noexcept {
        return a.threads_ == b.threads_ && a.tasks_ == b.tasks_ && a.resources_ == b.resources_ &&
               a.outside_ == b.outside_ && a.delay_ == b.delay_;
    }

  protected:
    static bool works_for(const thread& t, task_id of) noexcept {
        return t.task == of || std::find(t.others.begin(), t.others.end(), of) != t.others.end();
    }
    // Whether the thread works for this task (no_id: for any), and may still hold or free memory.
    ALLOT_OUTLINE static bool takes_part(const thread& t, task_id of = no_id) noexcept {
        const bool frees = t.scopes != 0; // what its attempt has, though it was removed
        if (!t.used || t.task == no_id || t.covered || (t.state == thread_state::unknown && !frees)) return false;
        return of == no_id || works_for(t, of);
    }
    // Whether this holds for one that takes part: of a task, or of all, beginning with the one that it held for last.
    template <class Holds> bool any_of(task_id of, Holds holds) const noexcept {
        if (of != no_id) {
            for (const thread_id id : tasks_[of].threads)
                if (takes_part(threads_[id]) && holds(threads_[id])) return true;
            return false;
        }
        for (std::size_t n = 0, all = threads_.size(); n != all; ++n) {
            const auto id = static_cast<thread_id>((found_ + n) % all);
            if (takes_part(threads_[id]) && holds(threads_[id])) return found_ = id, true;
        }
        return false;
    }
    bool is_other(const thread& t, thread_id than) const noexcept {
        return static_cast<std::size_t>(&t - threads_.data()) != than;
    }
    // Threads in this state.
    std::uint32_t in(thread_state s) const noexcept { return states_[static_cast<std::size_t>(s)]; }
    std::uint32_t asleep() const noexcept { return in(thread_state::blocked) + in(thread_state::bufn); }
    std::uint32_t rolled_back() const noexcept {
        return in(thread_state::bufn) + in(thread_state::bufn_throw) + in(thread_state::bufn_wait);
    }
    bool is_listed(thread_id id, task_id of) const noexcept {
        return std::binary_search(tasks_[of].threads.begin(), tasks_[of].threads.end(), id);
    }
    ALLOT_OUTLINE void list(thread_id id, task_id of) {
        auto& all = tasks_[of].threads;
        all.insert(std::upper_bound(all.begin(), all.end(), id), id);
    }
    void unlist(thread_id id, task_id of) noexcept { erase_one(tasks_[of].threads, id); }
    // A thread may work for a task twice, and a task hold a resource.
    ALLOT_OUTLINE static bool erase_one(std::vector<std::uint32_t>& from, std::uint32_t what) noexcept {
        const auto at = std::find(from.begin(), from.end(), what);
        if (at == from.end()) return false;
        return from.erase(at), true;
    }
    static bool goes_back(const thread& t) noexcept {
        return t.state == thread_state::bufn_throw || t.state == thread_state::bufn_wait;
    }
    bool is_in_way(const thread& t, bool surely) const noexcept {
        if (t.state == thread_state::blocked) return true;
        if (is_stuck(t)) return surely && is_unsure(t);
        return t.runs_on < (surely ? most_delays : 1);
    }
    // Whether it runs, though its task is blocked by the rule `any`: what it waits for may not be marked.
    bool runs_in_blocked_task(const thread& t) const noexcept {
        return rules_.task_is_blocked == blocks::any && t.kind == thread_kind::dedicated &&
               t.state == thread_state::running && t.waits == waits_for::nothing && takes_part(t) &&
               is_held_up(t.task, seen::as_over);
    }
    bool is_held_by_others(resource_id id, task_id than) const noexcept {
        for (const task_id holder : resources_[id].holders)
            if (holder != than) return true;
        return false;
    }
    // Whether only threads of this task can let it run on.
    bool is_stuck_by_itself(const thread& t, task_id of, seen how) const noexcept {
        if (t.state == thread_state::blocked || t.state == thread_state::bufn) return t.own;
        if (!is_stuck(t, how)) return false;
        if (t.waits == waits_for::task) return t.on == of;
        return t.waits == waits_for::pool || !is_held_by_others(t.on, of);
    }
    // Whether a thread of the task can go on. A dedicated one cannot while the task is blocked. Notes whether it has
    // any.
    bool can_go_on(task_id id, seen how, bool& any) const noexcept {
        bool is_blocked = false;
        for (const thread_id n : tasks_[id].threads) {
            const thread& t = threads_[n];
            if (!takes_part(t)) continue;
            any = true;
            if (is_blocked && t.kind == thread_kind::dedicated) continue;
            if (is_stuck(t, how)) continue;
            if (t.kind != thread_kind::dedicated || rules_.task_is_blocked == blocks::all || !is_held_up(id, how))
                return true;
            is_blocked = true;
        }
        return false;
    }
    // Whether a dedicated thread of the task waits for memory, or for what others hold.
    ALLOT_OUTLINE bool is_held_up(task_id id, seen how) const noexcept {
        for (const thread_id n : tasks_[id].threads) {
            const thread& t = threads_[n];
            if (!takes_part(t) || t.kind != thread_kind::dedicated || !is_stuck(t, how)) continue;
            if (t.state == thread_state::blocked || t.state == thread_state::bufn || !is_stuck_by_itself(t, id, how))
                return true;
        }
        return false;
    }
    // Whether it may be stuck, or not, for all that is known. `runners`: also one whose wait may not be marked.
    bool may_be_stuck(const thread& t, bool runners) const noexcept {
        return t.may_run || is_unsure(t) || (runners && runs_in_blocked_task(t));
    }
    // Whether it waits for work that no thread is seen to do: it may not have begun, or may be over. In a scope it is
    // the work of those that join it; each counts a latch down once.
    ALLOT_OUTLINE bool is_unsure(const thread& t) const noexcept {
        if (t.lasts || !takes_part(t) || !is_stuck(t)) return false;
        const bool for_pool = t.waits == waits_for::pool;
        std::ptrdiff_t due = 1;
        if (t.waits == waits_for::resource) { // a latch: who counts it down is not known
            const auto& holders = resources_[t.on].holders;
            if ((due = std::count(holders.begin(), holders.end(), no_id)) == 0) return false;
        } else if (t.waits != waits_for::task && !for_pool) {
            return false;
        }
        const task_id by = t.waits == waits_for::task ? t.on : t.task;
        const bool joins = !for_pool && by == t.task && t.scopes != 0;
        return !any_of(by, [&](const thread& o) {
            if (&o == &t || (for_pool && o.kind == thread_kind::dedicated)) return false;
            return (!joins || (o.joins != no_id && &owner_of(o) == &owner_of(t))) && --due <= 0;
        });
    }
    bool any_unsure() const noexcept {
        return std::any_of(threads_.begin(), threads_.end(), [&](const thread& t) { return t.used && is_unsure(t); });
    }
    const alone_mark& mark_of(const thread& t) const noexcept { return t.own ? t.alone_of_own : t.alone_of_all; }
    std::uint64_t epoch_of(const thread& t) const noexcept { return t.own ? tasks_[t.task].epoch : epoch_; }
    // The tasks that a thread's decision concerns.
    static task_id scope_of(const thread& t) noexcept { return t.own ? t.task : no_id; }
    // Whether bytes that no task holds would serve its request: those that a token announces; those that may come back.
    bool is_served_from_outside(const thread& t) const noexcept {
        const std::size_t held = outside_of(t.memory).held;
        return !t.own && held != 0 && (t.bytes <= held || t.bytes - held <= t.free);
    }
    bool may_be_served_from_outside(const thread& t) const noexcept {
        const std::size_t stays = outside_of(t.memory).stays, come = t.unknown > stays ? t.unknown - stays : 0;
        return delay_ != delay::over && rules_.unknown_holders_wait.ms != 0 && !t.own && come != 0 &&
               (t.bytes <= come || t.bytes - come <= t.free);
    }
    // What the thread's task may need beside what it keeps; all where that is not known.
    std::int64_t needs(const thread& t) const noexcept {
        if (t.task == no_id || tasks_[t.task].share == 0) return detail::whole_share;
        return std::max(tasks_[t.task].share - tasks_[t.task].keeps, std::int64_t{0});
    }
    // Of all tasks, as far as known: what each keeps, and what it may need beside while a thread of it is in a scope,
    // and not rolled back. Notes whether there is one that may.
    std::int64_t shares_in_use(bool& in_scope) const noexcept {
        const auto has_scope = [this](thread_id id) {
            const thread& t = threads_[id];
            return takes_part(t) && t.scopes != 0 && t.state != thread_state::bufn && !goes_back(t);
        };
        std::int64_t sum = 0;
        for (const task& t : tasks_) {
            if (!t.used) continue;
            const bool needs_more = t.share != 0 && std::any_of(t.threads.begin(), t.threads.end(), has_scope);
            sum += needs_more ? std::max(t.share, t.keeps) : t.keeps;
            in_scope = in_scope || needs_more;
        }
        return sum;
    }
    bool is_removed(const thread& t) const noexcept {
        return t.task != no_id && t.others.empty() && tasks_[t.task].removed;
    }
    bool is_spent(const thread& t) const noexcept { return owner_of(t).attempts >= rules_.most_attempts; }
    bool may_go_back(const thread& t) const noexcept { return may_be_rolled_back(t) && !is_spent(t); }
    // Whether a limit of this task alone refuses a request of one of its threads.
    bool has_own(task_id of) const noexcept {
        return any_of(of, [](const thread& t) { return t.own; });
    }
    // Whether a decision would be due now, if no wait that may be over was.
    bool wait_delays() const noexcept {
        if (may_run_ == 0) return false;
        for (task_id id = 0; owns_ != 0 && id != tasks_.size(); ++id)
            if (has_own(id) && is_deadlocked_within(id, seen::as_lasting)) return true;
        return is_deadlocked(seen::as_lasting);
    }
    // Whether nobody is in its way but those that may be stuck, too.
    ALLOT_OUTLINE bool may_be_alone(thread_id id, task_id of, bool surely) const noexcept {
        const thread& owner = owner_of(threads_[id]);
        const bool runners = may_go_back(threads_[id]); // else it is refused
        return !any_of(of, [&](const thread& t) {
            return is_in_way(t, surely) && &owner_of(t) != &owner && !may_be_stuck(t, runners);
        });
    }
    // Of the threads that this holds for, the first in order, or the last.
    template <class Holds> thread_id find(bool first, Holds holds) const noexcept {
        thread_id found = no_id;
        for (thread_id id = 0; id != threads_.size(); ++id)
            if (threads_[id].used && holds(threads_[id]) && (found == no_id || goes_before(id, found) == first))
                found = id;
        return found;
    }
    template <class Slot> static std::uint32_t free_id(std::vector<Slot>& slots) {
        for (std::uint32_t id = 0; id != slots.size(); ++id)
            if (!slots[id].used) return id;
        slots.emplace_back();
        return static_cast<std::uint32_t>(slots.size() - 1);
    }

    oom::rules rules_;
    std::uint64_t epoch_ = 1; // of progress: attempts alone of earlier ones say nothing
    std::vector<thread> threads_;
    std::vector<task> tasks_;
    std::vector<resource> resources_;
    std::array<outside, 2> outside_{};                          // by memory_kind
    std::array<std::uint32_t, detail::thread_states> states_{}; // threads in each
    std::uint32_t owns_ = 0, delayed_ = 0, may_run_ = 0;        // threads with these marks
    delay delay_ = delay::none;
    std::uint64_t delays_ = 0;
    bool time_runs_ = false; // of a delay for waits or runners, until one of them, or a request, has gone on
    // Where the last search ended, for the next one to begin there.
    mutable task_id goes_on_ = 0;
    mutable thread_id found_ = 0;

  private:
    // The first place in order among all tasks that it works for; of a thread of no task: the last place.
    priority place_of(const thread& t) const noexcept {
        priority first = t.task != no_id ? tasks_[t.task].place : priority{INT64_MIN, UINT64_MAX};
        for (const task_id id : t.others)
            if (is_before(tasks_[id].place, first)) first = tasks_[id].place;
        return first;
    }
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
