// The tasks of one query: its account, its place in the order, and its end.
//
//     allot::task_group query{run, name{"query 7"}};                       // `run`: an executor
//     query.add({.name = "sum", .output = 8}, std::move(batches), [&](std::span<batch::pinned> all) { ... });
//     query.add({.name = "join"}, std::move(rows), [](auto pins, task_step& step) { return ...; }, into_cache);
//     query.wait();                                                        // throws the error of the first that failed
//
// A kernel is called with the pins of its inputs, or with the inputs themselves, which it pins or takes one by one; and
// with the step, if it takes that. What it returns goes to the sink, once the attempt has ended well. It may be called
// several times, so it changes nothing that stays, unless it says so: task_step::note_inputs_changed().
// Cost: 2 KiB. Threads: any add; one waits. Source: BlazingSQL's query graph, 2021.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/spill/spillable.hpp>
#include <allot/task/executor.hpp>
#include <allot/task/queued_task.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS

/// Requires: the executor and the name outlive it.
class task_group {
  public:
    /// `number`: of a larger one tasks start first, and are rolled back last. Throws: std::bad_alloc; out_of_memory if
    /// the executor's account is closed.
    ALLOT_OUTLINE explicit task_group(executor& in, allot::name called = allot::name{"tasks"}, std::int64_t number = 0)
        : in_(in), group_(in.tasks(), in.memory(), called, number) {
        in_.count_group(1);
    }
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    /// Calls cancel(), and waits for tasks that run. Requires: not inside a task. What its tasks have put elsewhere, as
    /// into a store, ends before it.
    ~task_group() {
        in_.cancel(group_);
        in_.wait(group_);
        in_.count_group(-1);
    }

    const char* name() const noexcept { return group_.name; }
    /// The account of its tasks: below the executor's.
    account& memory() noexcept { return group_.memory; }
    /// Adds a task; it may start at once. Of a group that was cancelled it ends at once.
    /// Throws: std::bad_alloc, and what moving the arguments throws; the inputs have ended then.
    template <spillable Input, class Kernel, class Sink>
    void add(const task_needs& says, std::vector<Input> inputs, Kernel kernel, Sink sink) {
        in_.add(std::make_unique<detail::kernel_task<Kernel, Input, Sink>>(group_, says, std::move(inputs),
                                                                           std::move(kernel), std::move(sink)));
    }
    template <spillable Input, class Kernel>
    void add(const task_needs& says, std::vector<Input> inputs, Kernel kernel) {
        add(says, std::move(inputs), std::move(kernel), detail::no_sink{});
    }
    /// Without inputs.
    template <detail::kernel_without_inputs Kernel, class Sink>
    void add(const task_needs& says, Kernel kernel, Sink sink) {
        add(says, std::vector<detail::no_input>{}, std::move(kernel), std::move(sink));
    }
    template <detail::kernel_without_inputs Kernel> void add(const task_needs& says, Kernel kernel) {
        add(says, std::vector<detail::no_input>{}, std::move(kernel));
    }
    /// As add(), and returns a reference to the task, which can get another place, or be taken back.
    template <spillable Input, class Kernel, class Sink = detail::no_sink>
    task_ref add_known(const task_needs& says, std::vector<Input> inputs, Kernel kernel, Sink sink = {}) {
        auto made = std::make_unique<detail::kernel_task<Kernel, Input, Sink>>(group_, says, std::move(inputs),
                                                                               std::move(kernel), std::move(sink));
        task_ref of = in_.refer_to(*made);
        in_.add(std::move(made));
        return of;
    }
    /// Without inputs.
    template <detail::kernel_without_inputs Kernel, class Sink = detail::no_sink>
    task_ref add_known(const task_needs& says, Kernel kernel, Sink sink = {}) {
        return add_known(says, std::vector<detail::no_input>{}, std::move(kernel), std::move(sink));
    }
    /// Waits until all its tasks have ended; runs tasks, of any group, if the executor has no threads. Requires: not
    /// inside a task. Throws: task_error, once, if one has failed: the others that waited have ended without a call.
    void wait() {
        in_.wait(group_);
        if (const std::exception_ptr error = in_.take_error(group_)) std::rethrow_exception(error);
    }
    /// The same; the error stays for wait().
    void join() { in_.wait(group_); }
    /// Ends its tasks: those that wait, at once; those that run, when they next ask for memory in vain.
    void cancel() noexcept { in_.cancel(group_); }
    /// The same, with an error for wait(). Nothing, if it was cancelled before.
    void fail(std::exception_ptr error) noexcept { in_.fail(group_, std::move(error)); }

    /// The task that its threads work for, at the arbiter.
    const oom::task& task() const noexcept { return group_.task; }

  private:
    template <spillable T> friend class task_cache;
    template <spillable T> friend class operand_graph;

    void add(detail::group_watch& w) noexcept {
        group_.watches.add(w);
        if (in_.is_cancelled(group_)) w.cancelled();
    }
    void end_if_unfinished() {
        if (in_.is_finished(group_)) return;
        cancel();
        join();
    }
    // A thread is to wait for its tasks.
    void expects_no_task() const noexcept { in_.expects_no_task(group_.name); }
    // For a thread that waits for something else than the end of tasks: it runs tasks of an executor without threads.
    bool runs_tasks() const noexcept { return !in_.has_threads(); }
    std::uint64_t news() const noexcept { return in_.news_so_far(); }
    bool run_one() { return in_.run_one(); }
    void sleep(std::uint64_t seen) noexcept { in_.sleep(seen); }
    void tell() noexcept { in_.tell(); }
    void remove(detail::group_watch& w) noexcept { group_.watches.remove(w); }

    executor& in_;
    detail::group_of_tasks group_;
};

#endif

} // namespace allot::inline ALLOT_ABI
