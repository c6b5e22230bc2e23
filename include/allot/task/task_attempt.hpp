// One attempt of a task: its inputs are pinned, its kernel runs in a retry scope of the group's task, and its result
// goes to the sink. Behind an attempt that failed for good, the task may have a result nonetheless, or ask for another
// run.
//
// Invariant: between run() and recover() nothing of the attempt stays: no pin, no scope, no promise.
// Cost: 40 bytes. Threads: the one that runs the task.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/retry_scope.hpp>
#include <allot/oom/task.hpp>
#include <allot/task/group_of_tasks.hpp>
#include <allot/task/queued_task.hpp>
#include <allot/task/task_error.hpp>
#include <allot/task/task_step.hpp>

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS
namespace detail {

class task_attempt {
  public:
    enum class ending : std::uint8_t {
        done,
        ran_out,
        parks,
        failed,  // error() ends the group
        retried, // its task begins from the start
    };

    task_attempt(task_calls& by, queued_task& of) noexcept : by_(by), t_(of) {}

    // `is_last`: no attempt follows, and others were before.
    ending run(account_reservation sure, bool is_last) noexcept {
        try {
            const oom::task_thread here{t_.of.task};
            std::optional<oom::retry_scope> scope{std::in_place};
            account_reservation promised = std::move(sure);
            const pins_end pins{t_};
            for (bool again = true; again;) {
                task_step step{by_, t_, t_.of.memory, scope ? &*scope : nullptr};
                try {
                    t_.pin_all(promised, t_.of.memory);
                    if (t_.run(step) == task_outcome::would_block) return ending::parks;
                    again = false;
                } catch (...) {
                    has_changed_ = step.has_changed_inputs();
                    if (has_changed_ || !begins_again(scope, is_last, promised)) throw;
                }
            }
            if (scope) scope->done();
        } catch (const std::exception& e) {
            why_ = std::current_exception();
            if (!ran_out_of_memory()) return fails(e.what());
            if (has_changed_)
                return fails("it ran out of memory after it had changed its inputs, and cannot begin again");
            return ending::ran_out;
        } catch (...) {
            why_ = std::current_exception();
            return fails("an error that is no std::exception");
        }
        return deliver();
    }
    // It ran out of memory, and no attempt follows.
    ending fails_for_good(const account& memory, const oom::arbiter& by, unsigned attempts) noexcept {
        error_ = error_of(t_.of.name, t_.said.name, why_, memory, by, attempts);
        return ending::failed;
    }
    // Behind one that failed: what the task makes of that. An error of its sink is none of these.
    ending recover() noexcept {
        if (why_ == nullptr) return ending::failed;
        recovery now = recovery::none;
        std::optional<oom::task_thread> here;
        try {
            here.emplace(t_.of.task);
        } catch (const std::bad_alloc&) {
            return ending::failed;
        }
        try {
            now = t_.recover(why_);
        } catch (const std::exception& e) {
            if (std::current_exception() != why_) fails(e.what());
        } catch (...) {
            if (std::current_exception() != why_) fails("an error that is no std::exception");
        }
        here.reset();
        if (now == recovery::result) return deliver();
        return now == recovery::another_run && !has_changed_ ? ending::retried : ending::failed;
    }
    const std::exception_ptr& error() const noexcept { return error_; }

  private:
    struct pins_end {
        explicit pins_end(queued_task& of) : t(of) {}
        pins_end(const pins_end&) = delete;
        pins_end& operator=(const pins_end&) = delete;
        ~pins_end() { t.unpin(); }
        queued_task& t;
    };

    // Requires: inside a handler of the error, as the next one.
    ending fails(std::string_view what) noexcept {
        error_ = std::make_exception_ptr(task_error{t_.of.name, t_.said.name, what});
        return ending::failed;
    }
    // A task that runs alone begins again in its scope: so the arbiter knows which attempts have failed. So does the
    // last attempt after others: else it might not be split before its group ends. Where it is to be split by a scope
    // inside, its own scope ends, so that the one inside is the outermost.
    // What begins again has no promise, which could refuse what it takes from objects beside its account.
    bool begins_again(std::optional<oom::retry_scope>& scope, bool is_last, account_reservation& promised) noexcept {
        verdict_error copy{{}, memory_kind::host};
        if (!scope || !(t_.is_alone || is_last)) return false;
        if (oom::detail::find_verdict(std::current_exception(), copy) == nullptr) return false;
        t_.unpin();
        promised.release();
        const verdict now = scope->wait(copy.why());
        if (now == verdict::split && scope->had_scope_inside()) return scope.reset(), true;
        return now == verdict::try_again;
    }
    ending deliver() noexcept {
        why_ = nullptr;
        try {
            t_.deliver(); // once
        } catch (const std::exception& e) {
            char line[task_error::text_bytes];
            return fails(text_writer{line}.put("its sink has failed: ").put(e.what()).view());
        } catch (...) {
            return fails("its sink has failed: an error that is no std::exception");
        }
        return ending::done;
    }

    task_calls& by_;
    queued_task& t_;
    bool has_changed_ = false;       // its inputs
    std::exception_ptr why_, error_; // as it was thrown; and as that of the group
};

} // namespace detail
#endif
} // namespace allot::inline ALLOT_ABI
