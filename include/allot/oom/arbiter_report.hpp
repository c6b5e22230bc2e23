// The tasks of an arbiter as numbers and as text: states, bytes, what each thread waits for; what outlives it. Part of
// arbiter.hpp.
//
// Allocates nothing. Cost: O(tasks * threads). Threads: any that holds no lock of allot.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/sync/lock_guard.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace oom {

inline task_stats arbiter::stats() const noexcept {
    const allot::detail::lock_guard tasks_stay(tasks_lock_);
    task_stats all;
    for (task_id id = 0;; ++id) {
        task_stats its;
        const account* memory = nullptr;
        {
            const allot::detail::lock_guard hold(lock_);
            if (id == 0) all = ended_;
            if (id == machine_.tasks().size()) return all;
            if (!machine_.tasks()[id].used) continue;
            its = tasks_[id].stats;
            memory = tasks_[id].memory;
        }
        if (memory != nullptr) its.bytes = memory->used(), its.peak = memory->peak();
        all += its;
    }
}
inline void arbiter::check_ends_last() const noexcept {
    for (task_id id = 0; id != machine_.tasks().size(); ++id)
        if (machine_.tasks()[id].used) report_misuse({.kind = misuse::living_task, .task = tasks_[id].name});
    for (const machine::resource& r : machine_.resources())
        if (r.used) report_misuse({.kind = misuse::living_task});
    if (!roots.empty()) report_misuse({.kind = misuse::living_root});
}
// "thread 3 is blocked: waits for 64 KiB (host)". Requires the lock.
inline void arbiter::write_thread(text_writer& out, thread_id id) const noexcept {
    const machine::thread& t = machine_[id];
    const auto name = [&](task_id which) { out.brief(*tasks_[which].name != 0 ? tasks_[which].name : "a task"); };
    out.put("      thread ").number(threads_[id].number).put(": ").put(text_of(t.state));
    if (t.alone) out.put(", tries alone");
    if (t.state == thread_state::blocked || t.state == thread_state::bufn)
        out.put(t.state == thread_state::blocked ? ", waits for " : ", was refused ")
            .bytes(t.bytes)
            .put(" (")
            .put(text_of(t.memory))
            .put(")");
    if (t.scopes == 0) out.put(", in no retry scope");
    if (t.waits == waits_for::outside) out.put(", waits for what no task holds");
    if (t.waits == waits_for::pool) out.put(", waits for pool threads");
    if (t.waits == waits_for::task) name((out.put(", waits for "), t.on));
    if (t.waits == waits_for::resource) {
        out.put(", waits for a resource of");
        for (const task_id holder : machine_.holders(t.on)) name((out.put(' '), holder));
    }
    if (t.attempts != 0) out.put(", ").number(t.attempts).put(" attempts without progress");
    out.newline();
}
inline void arbiter::write_tasks(text_writer& out) const noexcept {
    constexpr std::size_t most = 16;
    const allot::detail::lock_guard tasks_stay(tasks_lock_);
    std::size_t all = 0, written = 0;
    {
        const allot::detail::lock_guard hold(lock_);
        for (const auto& t : machine_.tasks()) all += t.used;
        out.put("  tasks: ").number(all);
        if (machine_.is_deadlocked())
            out.put("; none can go on: each waits for the next, and for memory of the others");
        out.newline();
    }
    for (task_id id = 0; written != most; ++id) {
        const account* memory = nullptr;
        {
            const allot::detail::lock_guard hold(lock_);
            if (id == machine_.tasks().size()) break;
            if (!machine_.tasks()[id].used) continue;
            const detail::task_record& r = tasks_[id];
            memory = r.memory;
            out.put("    ").brief(*r.name != 0 ? r.name : "a task").put(" (").number(r.number).put("): ");
            out.number(r.stats.rollbacks).put(" rollbacks, ").number(r.stats.splits).put(" splits");
        }
        if (memory != nullptr) {
            std::size_t spillable = 0;
            memory->visit_reclaimers([&](const reclaimer& r) {
                if (r.cost() != reclaimer::idle && r.reclaimable() != SIZE_MAX) spillable += r.reclaimable();
            });
            out.put(", ").bytes(memory->used()).put(" held, ").bytes(spillable).put(" spillable");
        }
        out.newline();
        const allot::detail::lock_guard hold(lock_);
        for (thread_id t = 0; t != machine_.threads().size(); ++t)
            if (machine_[t].used && machine_[t].task == id) write_thread(out, t);
        ++written;
    }
    if (all > written) out.put("    and ").number(all - written).put(" more tasks").newline();
}

} // namespace oom
} // namespace allot::inline ALLOT_ABI
