// Waits that are not for memory: the arbiter must know them, or it cannot see that no task can go on.
//
//     allot::oom::resource permits{tasks, 4};    // a semaphore of four
//     {
//         allot::oom::scoped_wait w{permits};    // this thread waits for those that hold permits
//         semaphore.acquire();
//     }
//     {
//         allot::oom::resource::holder mine{permits}; // its task holds one; it ends before the permit is given back
//         ...
//     }
//     semaphore.release();
//     allot::oom::latch built{tasks};             // by worker: build(); built.count_down();
//     built.wait();                               // for the threads that count it down
//     { allot::oom::scoped_wait w{other_task};           result.get(); }
//     { allot::oom::scoped_wait w{allot::oom::for_pool}; pool_done.wait(); } // for pool threads that work for its task
//     { allot::oom::scoped_wait w{allot::oom::outside};  ::read(...); }       // for a disk: it ends by itself
//
// The arbiter knows the end of a wait for a latch or a resource when it is counted down or let go. That of a task or
// of a pool is over, for all that the arbiter knows, when one of their threads ends: then it waits for a while until
// the waiting thread has run.
// On a thread without a task_thread waits are not known.
// Cost: 32 bytes a wait; the arbiter's lock at begin and end. Threads: one each, but resource and latch: any.
#pragma once

#include <allot/config.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/task.hpp>

#include <cstddef>
#include <cstdint>
#include <latch>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace oom {

/// What tasks hold and others wait for: a semaphore, a pool of buffers, a lock that is held while memory is requested.
class resource {
  public:
    /// `permits`: how many tasks can hold it at a time, 1 or more. Requires: it outlives its holders and waits; the
    /// arbiter outlives it. Throws: std::bad_alloc.
    explicit resource(arbiter& by, std::uint32_t permits = 1)
        : by_(by), id_(by.post({.what = event::resource_begun, .number = permits}).result) {}
    resource(const resource&) = delete;
    resource& operator=(const resource&) = delete;
    ~resource() { by_.post({.what = event::resource_ended, .on = id_}); }

    /// The task of the calling thread holds the resource, from construction to destruction, on any thread. End it
    /// before the permit is given back: where more tasks hold the resource than it has permits, a decision is put off
    /// for those that wait for it.
    class holder {
      public:
        explicit holder(resource& r) : of_(r) {
            const task_thread* const here = task_thread::now(r.by_);
            if (here != nullptr) task_ = here->task_now();
            if (task_ == no_id) return;
            number_ = r.by_.tasks().number_of(task_);
            r.by_.post({.what = event::held, .thread = here->id(), .on = r.id_, .number = task_});
        }
        holder(const holder&) = delete;
        holder& operator=(const holder&) = delete;
        ~holder() {
            if (task_ != no_id && of_.by_.tasks().number_of(task_) == number_)
                of_.by_.post({.what = event::let_go, .on = of_.id_, .number = task_});
        }

      private:
        resource& of_;
        task_id task_ = no_id;
        std::uint64_t number_ = 0; // its number: ids are used again, and a task's holds end with it
    };

  private:
    friend class scoped_wait;
    friend class latch;

    arbiter& by_;
    const resource_id id_;
};

/// As std::latch: a counter that threads wait for, until others have counted it down to 0. The arbiter knows that a
/// wait is over before its thread has run, so it takes no thread for stuck that can go on.
class latch {
  public:
    /// Requires: `count` is not negative; it outlives its waits and calls of count_down(); the arbiter outlives it.
    /// Throws: std::bad_alloc.
    explicit latch(arbiter& by, std::ptrdiff_t count = 1) : open_(by), left_(count) {
        for (std::ptrdiff_t n = 0; n < count; ++n) post(event::held);
    }
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    /// Call it before the token of the thread ends. Requires: it was called less than `count` times; another call does
    /// nothing, and checked builds report it.
    void count_down() noexcept {
        if (ALLOT_LIKELY(post(event::let_go))) return left_.count_down();
        if constexpr (ALLOT_CHECKED != 0) allot::detail::report_misuse({.kind = misuse::open_latch});
    }
    void wait() const noexcept;
    bool try_wait() const noexcept { return left_.try_wait(); }

  private:
    friend class scoped_wait;
    // By no task. False: it was not held.
    bool post(event what) { return open_.by_.post({.what = what, .on = open_.id_, .number = no_id}).result != 0; }

    resource open_; // held once for each that is to come
    std::latch left_;
};

namespace detail {

struct for_pool_t {};
struct outside_t {};

} // namespace detail
inline constexpr detail::for_pool_t for_pool{};
inline constexpr detail::outside_t outside{};

/// The calling thread waits, from construction to destruction. One inside another is what it waits for meanwhile.
class scoped_wait {
  public:
    explicit scoped_wait(const resource& r) noexcept
        : scoped_wait(task_thread::now(r.by_), waits_for::resource, r.id_) {}
    /// For what another thread does before it counts the latch down: a future, a queue.
    explicit scoped_wait(const latch& l) noexcept : scoped_wait(l.open_) {}
    explicit scoped_wait(const task& t) noexcept : scoped_wait(task_thread::now(t.by()), waits_for::task, t.id()) {}
    explicit scoped_wait(detail::for_pool_t) noexcept : scoped_wait(task_thread::now(), waits_for::pool, no_id) {}
    explicit scoped_wait(detail::outside_t) noexcept : scoped_wait(task_thread::now(), waits_for::outside, no_id) {}
    scoped_wait(const scoped_wait&) = delete;
    scoped_wait& operator=(const scoped_wait&) = delete;
    ~scoped_wait() {
        if (here_ == nullptr) return;
        here_->wait_ = outer_;
        note(outer_);
    }

  private:
    scoped_wait(task_thread* here, waits_for what, std::uint32_t on) noexcept : here_(here), what_(what), on_(on) {
        if (here_ == nullptr) return;
        outer_ = std::exchange(here_->wait_, this);
        if (what == waits_for::task) task_ = here_->by().tasks().number_of(on);
        note(this);
    }
    // The thread waits for what `w` does; for nothing if that is null, or a task that has ended.
    void note(const scoped_wait* w) const noexcept {
        if (w != nullptr && w->what_ == waits_for::task && here_->by().tasks().number_of(w->on_) != w->task_)
            w = nullptr;
        const waits_for what = w != nullptr ? w->what_ : waits_for::nothing;
        here_->by().post({.what = event::waits,
                          .detail = static_cast<std::uint8_t>(what),
                          .thread = here_->id(),
                          .on = w != nullptr ? w->on_ : no_id,
                          .number = what == waits_for::outside ? here_->kept_by_task() : -1});
    }

    task_thread* const here_;
    scoped_wait* outer_ = nullptr;
    const waits_for what_;
    const std::uint32_t on_;
    std::uint64_t task_ = 0; // its number: ids are used again
};

inline void latch::wait() const noexcept {
    const scoped_wait here{*this};
    left_.wait();
}

} // namespace oom
} // namespace allot::inline ALLOT_ABI
