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

#include <allot/account/command.hpp>
#include <allot/account/judge.hpp>
#include <allot/config.hpp>
#include <allot/core/units.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/oom/machine.hpp>
#include <allot/oom/task_record.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace oom {

class task;
class task_thread;
class scoped_wait;

class arbiter final : public judged_by, allot::detail::judge {
  public:
    /// Requires: the log's receiver outlives the arbiter. `longest_wait`: a request that sleeps longer splits its input;
    /// where it did or cannot, it is refused.
    explicit arbiter(const oom::rules& r = {}, log_sink log = {}, time_span longest_wait = forever) noexcept
        : judged_by{this, memory_kind::host}, judge(r.rolled_back_wakes == wakes::at_free, longest_wait), machine_(r),
          log_(log) {}
    arbiter(const arbiter&) = delete;
    arbiter& operator=(const arbiter&) = delete;
    /// Requires: its tasks, resources and root accounts have ended. Checked builds report one that lives.
    ~arbiter() {
        if constexpr (ALLOT_CHECKED != 0) check_ends_last();
    }

    /// For the accounts of a device's memory.
    judged_by device() noexcept { return {this, memory_kind::device}; }
    /// The machine now. Threads: it is copied in the lock.
    machine now() const {
        const allot::detail::lock_guard hold(lock_);
        return machine_;
    }
    const oom::rules& rules() const noexcept { return machine_.rules(); }
    /// Of all tasks, also those that have ended.
    task_stats stats() const noexcept;

    /// Writes the tasks, what they hold, and what each thread waits for. Requires: the thread holds no lock of allot.
    void write_tasks(text_writer& out) const noexcept override;

    // For the headers of this folder.
    // Of all tasks so far; 0: none has this id now.
    std::uint64_t number_of(task_id id) const noexcept {
        const allot::detail::lock_guard hold(lock_);
        return machine_.tasks()[id].used ? tasks_[id].number : 0;
    }
    using judge::post;
    // Before an attempt that is made alone: what no object uses below the accounts is returned, and pieces that streams
    // of a device have cut are joined, so that it finds what a first one would. Requires that no lock is held.
    void gather() noexcept {
        refused_since_gathered_.store(false, std::memory_order_relaxed);
        roots.for_each([](tenant& root) { static_cast<void>(root.return_idle(SIZE_MAX, true)); });
    }

  private:
    friend task;
    friend task_thread;

    allot::detail::judged_thread* this_thread() noexcept override;
    answer apply(const command& what) override {
        const allot::detail::lock_guard hold(lock_);
        const std::uint32_t result = call(what);
        return {result, what.thread != no_id ? machine_.verdict_for(what.thread) : verdict::try_again};
    }
    verdict look(thread_id id) const noexcept override {
        const allot::detail::lock_guard hold(lock_);
        return machine_.verdict_for(id);
    }
    bool goes_before(thread_id a, thread_id b) const noexcept override {
        const allot::detail::lock_guard hold(lock_);
        return machine_.goes_before(a, b);
    }
    const account* memory_of_task(thread_id id) const noexcept override {
        const allot::detail::lock_guard hold(lock_);
        const machine::thread& t = machine_[id];
        return t.task != no_id && t.others.empty() ? tasks_[t.task].memory : nullptr;
    }
    void deliver() noexcept override {
        while (signals_due_.load(std::memory_order_relaxed)) {
            constexpr std::size_t most = 32;
            detail::thread_record* due[most];
            std::size_t n = 0;
            {
                const allot::detail::lock_guard hold(lock_);
                for (detail::thread_record& r : threads_)
                    if (n != most && std::exchange(r.to_signal, false)) due[n++] = &r;
                signals_due_.store(n == most, std::memory_order_relaxed);
            }
            for (std::size_t i = 0; i != n; ++i) due[i]->spot.signal(allot::detail::judged_thread::decided);
        }
    }

    // ---- requires the lock --------------------------------------------------------------------------------------

    std::uint32_t call(const command& c) {
        ++sequence_;
        if (c.what == event::announced) refused_since_gathered_.store(true, std::memory_order_relaxed);
        if (c.what == event::requested) stats_of(c.thread).outside += machine_[c.thread].scopes == 0;
        if (c.what == event::injected) {
            stats_of(c.thread).rollbacks += c.detail == static_cast<std::uint8_t>(charge_outcome::rolled_back);
            stats_of(c.thread).splits += c.detail == static_cast<std::uint8_t>(charge_outcome::split);
        }
        if (log_.write != nullptr) log_.write(log_.context, {.sequence = sequence_, .what = c, .became = {}});
        return machine_.apply(c, [this](const change& made) { note(made); });
    }
    thread_state state_of(thread_id id) const noexcept { return machine_[id].state; }
    static bool is_asleep(thread_state s) noexcept { return s == thread_state::blocked || s == thread_state::bufn; }
    task_stats& stats_of(thread_id id) noexcept { return tasks_[machine_[id].task].stats; }
    void note(const change& made) {
        if (log_.write != nullptr)
            log_.write(log_.context, {.sequence = sequence_, .is_change = true, .what = {}, .became = made});
        if (made.thread >= threads_.size() || machine_[made.thread].task == no_id) return;
        detail::thread_record& r = threads_[made.thread];
        task_stats& s = stats_of(made.thread);
        const bool slept = is_asleep(made.from), sleeps = is_asleep(made.to);
        if (slept != sleeps || made.by == event::thrown) {
            const std::uint64_t now = sys::fine_clock::now();
            if (sleeps) r.slept_at = now;
            if (slept && !sleeps) {
                s.blocked_ns += now - r.slept_at;
                r.slept_in_attempt += now - r.slept_at;
                r.slept_at = 0;
            }
            if (made.by == event::thrown && r.attempt_at != 0) {
                s.lost_ns += now - r.attempt_at - r.slept_in_attempt;
                r.attempt_at = 0;
            }
        }
        s.waits += made.to == thread_state::blocked;
        s.rollbacks += made.by == event::thrown && made.from == thread_state::bufn_throw;
        s.splits += made.by == event::thrown && made.from == thread_state::split_throw;
        s.refused += made.by == event::refused;
        if (slept && !sleeps && made.by != event::may_fit && made.by != event::given_up && made.by != event::ended) {
            r.to_signal = true;
            signals_due_.store(true, std::memory_order_relaxed);
        }
    }
    void write_thread(text_writer& out, thread_id id) const noexcept;
    void check_ends_last() const noexcept;

    mutable sys::mutex tasks_lock_{lock_rank::tasks}; // no task ends meanwhile
    mutable sys::mutex lock_{lock_rank::arbiter};
    machine machine_;
    std::deque<detail::thread_record> threads_; // by id
    std::deque<detail::task_record> tasks_;     // by id
    task_stats ended_;                          // of tasks that have ended
    std::uint64_t sequence_ = 0, tasks_so_far_ = 0, threads_so_far_ = 0;
    bool is_unused_ = true; // no scope has begun, so nothing has cut free memory
    std::atomic<bool> signals_due_{false}, refused_since_gathered_{false};
    const log_sink log_;
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI

#include <allot/oom/arbiter_report.hpp>
#include <allot/oom/task.hpp>
