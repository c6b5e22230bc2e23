// A part of a thread's work that may be rolled back and begun again.
//
// with_retry() (oom/retry.hpp) does this; by hand, for code without exceptions:
//
//     allot::oom::retry_scope scope;
//     for (;;) {
//         allot::charge_status why;
//         if (attempt(input, why)) break;                     // its requests may wait, and pass on why they failed
//         if (!allot::is_verdict(why.outcome)) return why;    // another refusal
//         input.make_spillable();
//         const allot::verdict next = scope.wait(why);
//         if (next == allot::verdict::split) input = halve(input);
//         else if (next != allot::verdict::try_again) return why; // removed, or refused for good
//     }
//     scope.done();
//
// A rollback begins the outermost scope again, so that all that the thread took is free: the wait() of one inside it
// returns roll_back, and its caller passes `why` on.
// Cost: 24 bytes; the arbiter's lock at begin and end. Threads: that of its construction. Without a task_thread it does
// nothing. The last that began ends first, before its task_thread: checked builds report another order.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/task.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace oom {

class retry_scope {
  public:
    retry_scope() noexcept : here_(task_thread::now()) {
        if (here_ == nullptr) return;
        if (outer_ != nullptr) outer_->had_inside_ = true;
        allot::detail::of_this_thread.scope = this;
        here_->enter_scope();
    }
    retry_scope(const retry_scope&) = delete;
    retry_scope& operator=(const retry_scope&) = delete;
    ~retry_scope() { leave(false); }

    /// Whether the thread works for a task, and the scope has not ended.
    bool is_active() const noexcept { return here_ != nullptr; }
    /// Whether no scope of the same task_thread is around it, and none that the token has joined.
    bool is_outermost() const noexcept {
        for (const retry_scope* o = outer_; o != nullptr; o = o->outer_)
            if (o->here_ == here_) return false;
        return here_ == nullptr || !here_->is_joined();
    }
    /// After an attempt that ended with this verdict, whose memory has been freed: sleeps until the next may begin.
    /// Returns: try_again; split: with a smaller input; roll_back: at once, in a scope inside another, which is to be
    /// begun again; removed or refused: the work is to be given up. Of a status that is no verdict: refused.
    ALLOT_OUTLINE verdict wait(const charge_status& why) noexcept {
        if (here_ == nullptr || !task_thread::is_alive(here_)) return verdict::refused;
        if (!is_verdict(why.outcome)) return verdict::refused;
        verdict next = why.outcome == charge_outcome::split ? verdict::split : verdict::removed;
        if (why.outcome == charge_outcome::rolled_back) {
            if (!is_outermost()) return verdict::roll_back;
            next = here_->wait_until_ready();
        }
        ++attempts_; // reports count the one that ended, also where none follows
        here_->begin_attempt();
        return next;
    }
    /// The part is finished: this is progress, for which others may be woken.
    void done() noexcept { leave(true); }

    /// The body of an attempt has changed its inputs: it cannot be begun again.
    void note_inputs_changed() noexcept { inputs_changed_ = true; }
    bool has_changed_inputs() const noexcept { return inputs_changed_; }
    /// Whether another scope of its thread has begun inside it.
    bool had_scope_inside() const noexcept { return had_inside_; }
    /// Attempts that were rolled back or split, so far.
    std::uint32_t attempts() const noexcept { return attempts_; }
    /// The report of the arbiter: the memory of its accounts, and its tasks.
    void write_report(text_writer& out) const noexcept {
        if (here_ != nullptr) here_->by().write_report(out);
    }
    /// Why what could have left memory did not.
    void write_failures(text_writer& out) const noexcept {
        if (here_ != nullptr) here_->by().write_failures(out);
    }
    /// The innermost scope of the calling thread; null: none.
    static retry_scope* now() noexcept { return allot::detail::of_this_thread.scope; }

  private:
    friend class task_thread;
    // Once: a second call does nothing. The thread's token may have ended before its scope, which is misuse.
    ALLOT_OUTLINE void leave(bool done) noexcept {
        task_thread* const here = std::exchange(here_, nullptr);
        if (here == nullptr) return;
        detail::take_out(allot::detail::of_this_thread.scope, *this, &retry_scope::outer_, misuse::scope_order);
        if (ALLOT_LIKELY(task_thread::is_alive(here))) here->leave_scope(done);
    }

    task_thread* here_;
    retry_scope* outer_ = allot::detail::of_this_thread.scope;
    std::uint32_t attempts_ = 0;
    bool inputs_changed_ = false, had_inside_ = false;
};

/// The calling thread must not be rolled back, from construction to destruction: inside a capture of a device's stream,
/// say, which could not be begun again. Its requests wait; where none can go on, they are refused.
class no_rollback {
  public:
    no_rollback() noexcept { note(true); }
    no_rollback(const no_rollback&) = delete;
    no_rollback& operator=(const no_rollback&) = delete;
    ~no_rollback() { note(false); }

  private:
    void note(bool now) noexcept {
        if (here_ != nullptr) here_->by().post({.what = event::barred, .detail = now, .thread = here_->id()});
    }
    task_thread* const here_ = task_thread::now();
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
