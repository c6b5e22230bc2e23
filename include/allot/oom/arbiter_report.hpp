// The tasks of an arbiter as numbers and as text: states, bytes, what each thread waits for; what outlives it.
//
// Allocates nothing. Cost: O(tasks * threads). Threads: any that holds no lock of allot.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/task_register.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/tree/account_numbers.hpp>
#include <allot/tree/account_path.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace oom {
namespace detail {

ALLOT_OUTLINE task_stats total_stats(const task_register& of) noexcept {
    const allot::detail::lock_guard tasks_stay(of.tasks_lock);
    task_stats all;
    for (task_id id = 0;; ++id) {
        task_stats its;
        const account* memory = nullptr;
        {
            const allot::detail::lock_guard hold(of.lock);
            if (id == 0) all = of.ended;
            if (id == of.states.tasks().size()) return all;
            if (!of.states.tasks()[id].used) continue;
            its = of.tasks[id].stats;
            memory = of.tasks[id].memory;
        }
        if (memory != nullptr) its.bytes = memory->used(), its.peak = memory->peak();
        all += its;
    }
}
// Reports tasks and resources that have not ended as misuse.
inline void check_all_ended(const task_register& of) noexcept {
    for (task_id id = 0; id != of.states.tasks().size(); ++id)
        if (of.states.tasks()[id].used)
            allot::detail::report_misuse({.kind = misuse::living_task, .task = of.tasks[id].name});
    for (const machine::resource& r : of.states.resources())
        if (r.used) allot::detail::report_misuse({.kind = misuse::living_task});
}
// "thread 3 is blocked: waits for 64 KiB (host)". Requires the lock.
inline void write_thread(text_writer& out, const task_register& of, thread_id id) noexcept {
    const machine::thread& t = of.states[id];
    const auto name = [&](task_id which) { out.brief(*of.tasks[which].name != 0 ? of.tasks[which].name : "a task"); };
    out.put("      thread ").number(of.threads[id].number).put(": ").put(text_of(t.state));
    if (t.alone) out.put(", tries alone");
    if (t.state == thread_state::blocked || t.state == thread_state::bufn)
        out.put(t.state == thread_state::blocked ? ", waits for " : ", was refused ")
            .bytes(t.bytes)
            .put(" (")
            .put(text_of(t.memory))
            .put(")");
    if (t.delayed) out.put(", keeps the time of a decision that is put off");
    if (t.scopes == 0) out.put(", in no retry scope");
    if (t.waits == waits_for::outside) out.put(", waits for what no task holds");
    if (t.waits == waits_for::pool) out.put(", waits for pool threads");
    if (t.waits == waits_for::task) name((out.put(", waits for "), t.on));
    if (t.waits == waits_for::resource) {
        out.put(", waits for a resource of");
        for (const task_id holder : of.states.holders(t.on))
            if (holder != no_id) name((out.put(' '), holder));
            else out.put(" a thread");
    }
    if (t.may_run) out.put(", which may be over");
    if (t.attempts != 0) out.put(", ").number(t.attempts).put(" attempts without progress");
    out.newline();
}
ALLOT_OUTLINE void write_tasks(text_writer& out, const task_register& of) noexcept {
    constexpr std::size_t most = 16;
    const allot::detail::lock_guard tasks_stay(of.tasks_lock);
    std::size_t all = 0, written = 0;
    {
        const allot::detail::lock_guard hold(of.lock);
        for (const auto& t : of.states.tasks()) all += t.used;
        out.put("  tasks: ").number(all);
        if (of.states.is_deadlocked())
            out.put("; none can go on: each waits for the next, and for memory of the others");
        out.newline();
    }
    for (task_id id = 0; written != most; ++id) {
        const account* memory = nullptr;
        {
            const allot::detail::lock_guard hold(of.lock);
            if (id == of.states.tasks().size()) break;
            if (!of.states.tasks()[id].used) continue;
            const task_record& r = of.tasks[id];
            memory = r.memory;
            out.put("    ").brief(*r.name != 0 ? r.name : "a task").put(" (").number(r.number).put("): ");
            out.number(r.stats.rollbacks).put(" rollbacks, ").number(r.stats.splits).put(" splits");
        }
        if (memory != nullptr)
            out.put(", ").bytes(memory->used()).put(" held, ").bytes(memory->reclaimable()).put(" spillable");
        out.newline();
        const allot::detail::lock_guard hold(of.lock);
        for (thread_id t = 0; t != of.states.threads().size(); ++t)
            if (of.states[t].used && of.states[t].task == id) write_thread(out, of, t);
        ++written;
    }
    if (all > written) out.put("    and ").number(all - written).put(" more tasks").newline();
}

// Visits the accounts of the tasks; none of them ends meanwhile. False: visit() has ended it. A null: one has none.
template <class Visit> bool visit_memory(const task_register& of, Visit visit) noexcept {
    for (task_id id = 0;; ++id) {
        const account* memory = nullptr;
        {
            const allot::detail::lock_guard hold(of.lock);
            if (id == of.states.tasks().size()) return true;
            if (!of.states.tasks()[id].used) continue;
            memory = of.tasks[id].memory;
        }
        if (!visit(memory)) return false;
    }
}
inline bool is_at_or_below(const account& a, const account& b) noexcept {
    const account* at = &a;
    while (at != nullptr && at != &b) at = at->parent();
    return at != nullptr;
}
inline std::size_t held_by_none(const task_register& of, const account& at) noexcept {
    const auto stays = [](const account& a) {
        const std::size_t used = a.used();
        return used - std::min(used, a.reclaimable(reclaimer::idle));
    };
    const allot::detail::lock_guard tasks_stay(of.tasks_lock);
    std::size_t bytes = of.states.rules().unknown_holders_wait.ms != 0 ? stays(at) : 0;
    const bool is_known = bytes == 0 || visit_memory(of, [&](const account* memory) {
                              if (memory == nullptr || &memory->root() != &at.root() || is_at_or_below(at, *memory))
                                  return false;
                              if (is_at_or_below(*memory, at)) bytes -= std::min(bytes, stays(*memory));
                              return true;
                          });
    return is_known ? bytes : 0;
}
inline void write_holder(text_writer& out, const task_register& of, const account& at) noexcept {
    if (held_by_none(of, at) == 0) return;
    const allot::detail::lock_guard tasks_stay(of.tasks_lock);
    allot::detail::account_path::visit paths;
    allot::detail::account_path largest;
    std::size_t bytes = 0;
    const allot::detail::tree_node& within = at.node();
    allot::detail::visit_numbers(at.root().node(), [&](const account_stats& f, const account& a) {
        paths.enter(a);
        if (f.own <= bytes || !a.node().is_below(within)) return;
        if (!visit_memory(of, [&](const account* m) { return m == nullptr || !a.node().is_below(m->node()); })) return;
        bytes = f.own;
        largest = paths.path();
    });
    if (bytes != 0) out.put("; account ").name(largest.text()).put(" holds ").bytes(bytes).put(", for no task");
}

} // namespace detail
} // namespace oom
} // namespace allot::inline ALLOT_ABI
