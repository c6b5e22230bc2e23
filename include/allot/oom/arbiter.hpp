// The arbiter: many tasks share too little memory, and each of them ends.
//
//     allot::oom::arbiter tasks;
//     allot::account memory{allot::name{"engine"}, allot::limit{8_GiB}, tasks};
//     // on each thread of a query (oom/task.hpp, oom/retry.hpp):
//     allot::oom::task query{tasks, "query 7"};
//     allot::oom::task_thread here{query};
//     allot::oom::with_retry(batches, halve, [&](batch& b) { join(b); });
//
// It runs the machine (oom/machine.hpp) for the accounts that were given it: where a limit refuses, a request of one of
// its threads waits; where no task can go on, one is rolled back, or splits its input. Nothing polls: each decision is
// made at the event that makes it due.
// Invariant: a thread sleeps only in the states blocked and bufn, and is signalled when it leaves them.
// Cost: nothing while no request is refused; a lock for each event else. It keeps memory of its threads until it ends.
// Threads: any. It outlives its accounts, tasks and threads.
// Source: Spark-RAPIDS' SparkResourceAdaptor, 2022.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/top_holders.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/oom/arbiter_report.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/oom/machine.hpp>
#include <allot/oom/task_record.hpp>
#include <allot/oom/task_register.hpp>
#include <allot/request/command.hpp>
#include <allot/request/judge.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/parking.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/tree_node.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace oom {

class arbiter final : public judged_by, allot::detail::judge {
  public:
    /// Requires: the log's receiver outlives the arbiter. `longest_wait`: a request that sleeps longer splits its input;
    /// where it did or cannot, it is refused.
    explicit arbiter(const oom::rules& r = {}, log_sink log = {}, time_span longest_wait = forever) noexcept
        : judged_by{this, memory_kind::host}, judge(r.rolled_back_wakes == wakes::at_free, longest_wait),
          tasks_(r, log) {}
    arbiter(const arbiter&) = delete;
    arbiter& operator=(const arbiter&) = delete;
    /// Requires: its tasks, resources and root accounts have ended. Checked builds report one that lives.
    ALLOT_OUTLINE ~arbiter() {
        wait_until_left();
        if constexpr (ALLOT_CHECKED != 0) detail::check_all_ended(tasks_), check_no_root();
    }

    /// For the accounts of a device's memory.
    judged_by device() noexcept { return {this, memory_kind::device}; }
    /// Whether it is the arbiter of the account's root.
    bool decides_for(const account& of) const noexcept { return of.node().tree().judged.by == this; }
    /// The machine now. Threads: it is copied in the lock.
    machine now() const {
        const allot::detail::lock_guard hold(tasks_.lock);
        return tasks_.states;
    }
    const oom::rules& rules() const noexcept { return tasks_.states.rules(); }
    /// Of all tasks, also those that have ended.
    task_stats stats() const noexcept { return detail::total_stats(tasks_); }

    /// Writes the tasks, what they hold, and what each thread waits for. Requires: the thread holds no lock of allot.
    void write_tasks(text_writer& out) const noexcept override { detail::write_tasks(out, tasks_); }
    /// Writes first what its accounts hold, and what was asked to free some. Requires: the same.
    void write_report(text_writer& out) noexcept {
        for_each_root([&](const account& root) { allot::detail::write_memory(out, root.node()); });
        write_tasks(out);
    }
    /// Writes the errors that keep reclaimers of its accounts from freeing memory. Requires: the same.
    void write_failures(text_writer& out) noexcept {
        for_each_root([&](const account& root) { root.write_failures(out); });
    }

    /// Bytes at and below the account that no task holds, and no reclaimer can free, which no object keeps unused:
    /// nobody knows when they come back.
    /// 0: none; or a task has no account there. Requires: the thread holds no lock of allot.
    std::size_t held_by_none(const account& at) const noexcept { return detail::held_by_none(tasks_, at); }
    /// Writes the account that has most of them, if there are some. Requires: the same.
    void write_holder(text_writer& out, const account& at) const noexcept { detail::write_holder(out, tasks_, at); }

    // For the headers of this folder.
    detail::task_register& tasks() noexcept { return tasks_; }
    using judge::post;
    // Before an attempt that is made alone: what no object uses below the accounts is returned, and pieces that streams
    // of a device have cut are joined, so that it finds what a first one would. Requires that no lock is held.
    void gather() noexcept {
        tasks_.refused_since_gathered.store(false, std::memory_order_relaxed);
        for_each_root([](const account& root) {
            static_cast<void>(allot::detail::return_idle_below(root.node(), true, SIZE_MAX));
        });
    }

  private:
    template <class Visit> void for_each_root(Visit visit) noexcept {
        roots.for_each([&](allot::detail::judged_root& r) { visit(r.root.face); });
    }
    allot::detail::judged_thread* this_thread() noexcept override {
        const detail::thread_token* const t = detail::innermost_token(*this);
        if (t == nullptr) return nullptr;
        const allot::detail::lock_guard hold(tasks_.lock);
        return tasks_.states[t->thread].task != no_id ? t->record : nullptr; // a pool thread may work for no task
    }
    ALLOT_OUTLINE answer apply(const command& what) override {
        const allot::detail::lock_guard hold(tasks_.lock);
        const std::uint32_t result = tasks_.call(what);
        return {result, what.thread != no_id ? tasks_.states.verdict_for(what.thread) : verdict::try_again};
    }
    ALLOT_OUTLINE standing of(thread_id id) const noexcept override {
        const allot::detail::lock_guard hold(tasks_.lock);
        const machine::thread& t = tasks_.states[id];
        standing now{.next = tasks_.states.verdict_for(id), .task = t.task};
        if (t.task != no_id) now.place = tasks_.states.tasks()[t.task].place;
        if (t.task != no_id && t.others.empty()) now.memory = tasks_.tasks[t.task].memory;
        if (t.delayed) now.decides_at = tasks_.decides_at;
        return now;
    }
    bool goes_before(thread_id a, thread_id b) const noexcept override {
        const allot::detail::lock_guard hold(tasks_.lock);
        return tasks_.states.goes_before(a, b);
    }
    ALLOT_OUTLINE std::size_t held_by_no_task(const allot::detail::tree_node& at) const noexcept override {
        if (rules().unknown_holders_wait.ms == 0) return 0;
        const allot::detail::lock_guard hold(tasks_.lock);
        std::size_t bytes = at.used();
        for (task_id id = 0; id != tasks_.states.tasks().size(); ++id) {
            if (!tasks_.states.tasks()[id].used) continue;
            const account* const memory = tasks_.tasks[id].memory;
            if (memory == nullptr || &memory->node().tree() != &at.tree()) return 0; // it may hold all
            if (at.is_below(memory->node())) return 0;
            if (memory->node().is_below(at)) bytes -= std::min(bytes, memory->node().used());
        }
        return bytes;
    }
    bool has_signals() const noexcept override { return tasks_.signals_due.load(std::memory_order_relaxed); }
    void deliver() noexcept override { tasks_.deliver(); }
    void check_no_root() const noexcept {
        if (!roots.empty()) allot::detail::report_misuse({.kind = misuse::living_root});
    }

    detail::task_register tasks_;
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
