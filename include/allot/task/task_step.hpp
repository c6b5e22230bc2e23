// What a kernel may ask while it runs; and handles of tasks, for those that wake them, move them, or take them back.
//
// A handle outlives its task, and does nothing then. Cost: 40 bytes of the process' heap for a task that is known.
// Threads: as each says. Source: BlazingSQL's kernels, 2021; wakers as in Rust's futures, 2018.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/oom/retry_scope.hpp>
#include <allot/task/queued_task.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS

namespace detail {

struct known_task;

// What the handles of a task ask its executor.
class task_calls {
  public:
    virtual void wake(known_task& of) noexcept = 0;
    virtual bool set_number(known_task& of, std::int64_t number) noexcept = 0;
    virtual bool withdraw(known_task& of) noexcept = 0;

  protected:
    ~task_calls() = default;
};

// Where others find a task that may have ended; the executor's lock guards it.
struct known_task {
    known_task(task_calls& runs, queued_task& t) noexcept : in(runs), of(&t) {}
    task_calls& in;
    queued_task* of; // null: it has ended
};

} // namespace detail

/// Has a task called again that ended as would_block; by any thread, also before it has ended so, or after its end.
/// Requires: the executor outlives it. Copies are the same.
class task_waker {
  public:
    void operator()() const noexcept { of_->in.wake(*of_); }

  private:
    friend class task_step;
    explicit task_waker(std::shared_ptr<detail::known_task> of) noexcept : of_(std::move(of)) {}
    std::shared_ptr<detail::known_task> of_;
};

/// A task that was added, for those that give it another place, or take it back. Any thread, also after its end.
/// Requires: the executor outlives it. Copies are the same.
class task_ref {
  public:
    task_ref() noexcept = default;
    /// Its place is that of tasks of a group with this number, from now on. False: it has ended.
    bool set_number(std::int64_t number) const noexcept { return of_ != nullptr && of_->in.set_number(*of_, number); }
    /// Ends it, if it does not run now. False: it runs, or has ended.
    bool withdraw() const noexcept { return of_ != nullptr && of_->in.withdraw(*of_); }

  private:
    friend class executor;
    explicit task_ref(std::shared_ptr<detail::known_task> of) noexcept : of_(std::move(of)) {}
    std::shared_ptr<detail::known_task> of_; // null: none
};

/// What a kernel may ask while it runs.
class task_step {
  public:
    task_step(detail::task_calls& in, detail::queued_task& of, account& memory, oom::retry_scope* scope) noexcept
        : in_(in), of_(of), memory_(memory), scope_(scope) {}
    task_step(const task_step&) = delete;
    task_step& operator=(const task_step&) = delete;

    /// The account of the group: for what it makes, and what it takes meanwhile.
    account& memory() const noexcept { return memory_; }
    /// The inputs are changed, so it cannot begin again: where it runs out of memory then, its group ends with an
    /// error.
    void note_inputs_changed() noexcept {
        has_changed_ = true;
        if (scope_ != nullptr) scope_->note_inputs_changed();
    }
    bool has_changed_inputs() const noexcept { return has_changed_; }
    /// Attempts before this one that ran out of memory.
    unsigned attempts() const noexcept { return of_.attempts; }
    /// Throws: std::bad_alloc.
    task_waker waker() const {
        if (of_.known == nullptr) of_.known = std::make_shared<detail::known_task>(in_, of_);
        return task_waker{of_.known};
    }

  private:
    detail::task_calls& in_;
    detail::queued_task& of_;
    account& memory_;
    oom::retry_scope* const scope_; // null: a scope of the kernel is the outermost
    bool has_changed_ = false;
};

#endif
} // namespace allot::inline ALLOT_ABI
