// Decides what becomes of requests that wait: the seam between the accounts and an arbiter (oom/arbiter.hpp).
//
// An account that waits for memory on a thread that the judge knows posts each step of the request as an event; the
// answer is what becomes of it. The judge may end the wait of any of its threads by a signal to the thread's place;
// look() says how then.
// Invariant: the judge's lock is inside that of a tree; that of the injectors outside of both.
// Cost: two words per tree of accounts. Threads: any, as said.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/memory_kind.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/command.hpp>
#include <allot/request/priority.hpp>
#include <allot/sync/called_objects.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class account;

namespace detail {

struct account_node; // account_node.hpp
class judged_thread;
class tree_node; // tree_node.hpp

// A root account, as one that a judge was given to.
struct judged_root {
    explicit judged_root(account_node& a) noexcept : root(a) {}
    account_node& root;
    called_hook<judged_root> place;
};

// Refuses charges on purpose, for tests (oom/injection.hpp).
class injector {
  public:
    // Whether this charge of `by` is refused. Requires the judge's lock of injectors.
    virtual bool refuses(const account& by, std::size_t bytes) noexcept = 0;

  protected:
    injector() = default;
    ~injector() = default;
    injector(const injector&) = delete;
    injector& operator=(const injector&) = delete;

  private:
    friend class judge;
    list_hook<injector> place_;
};

class judge {
  public:
    called_objects<judged_root, &judged_root::place> roots; // the accounts that were given it
    // Whether refunds are posted once a thread was rolled back, with the bytes that are free at the root then.
    const bool sees_refunds;
    const time_span longest_sleep; // of a request

    // ---- injectors: asked before each charge that is not forced, in the trees that have some

    void add(injector& i) noexcept {
        const lock_guard hold(injecting);
        injectors_.add(i);
    }
    void remove(injector& i) noexcept {
        const lock_guard hold(injecting);
        injectors_.remove(i);
    }
    bool injects(const account& by, std::size_t bytes) noexcept {
        const lock_guard hold(injecting);
        injector* i = injectors_.first();
        while (i != nullptr && !i->refuses(by, bytes)) i = injectors_.after(*i);
        return i != nullptr;
    }
    sys::mutex injecting{lock_rank::tasks};

    // ---- requests that wait

    // What an event does, and what its thread does next.
    struct answer {
        std::uint32_t result = 0; // of oom::machine::apply()
        verdict next = verdict::try_again;
    };
    // The one way in: applies the command, logs it, and signals the threads whose waits it ended. Requires no lock of a
    // tree. Throws: std::bad_alloc where a task, thread, resource or hold begins.
    ALLOT_OUTLINE_WARM answer post(const oom::command& what) {
        const answer a = apply(what);
        deliver();
        return a;
    }
    // The same in a tree's lock; deliver() follows after it.
    virtual answer apply(const oom::command& what) = 0;
    // Whether waits were ended of threads that have no signal yet.
    virtual bool has_signals() const noexcept = 0;
    // Signals the threads whose waits were ended.
    virtual void deliver() noexcept = 0;
    // A hold of a tree's lock leaves a post or a delivery for behind it. The root, and the judge then, may end in
    // between: the judge's end waits until it has left. Requires that lock; leave(): the last access.
    void enter() noexcept { inside_.fetch_add(1, std::memory_order_relaxed); }
    void leave() noexcept {
        std::atomic<std::uint32_t>* const at = &inside_;
        if (at->fetch_sub(1, std::memory_order_release) == 1) at->notify_all();
    }
    // The calling thread, if the judge knows it; else null.
    virtual judged_thread* this_thread() noexcept = 0;
    // What it knows of a thread now.
    struct standing {
        verdict next = verdict::try_again;
        oom::task_id task = oom::no_id;                 // the first one that it works for
        oom::priority place{};                          // of that task
        const account* memory = nullptr;                // of its only task; null: not known
        std::uint64_t decides_at = sys::parking::never; // a decision that is put off while it sleeps; on fine_clock
    };
    virtual standing of(oom::thread_id id) const noexcept = 0;
    virtual bool goes_before(oom::thread_id a, oom::thread_id b) const noexcept = 0;
    // Bytes at and below the account that are in no account of a task; 0 where a task has none in this tree: then what
    // it holds is not known. Requires the tree's lock.
    virtual std::size_t held_by_no_task(const tree_node& at) const noexcept = 0;
    // For reports: the tasks, what they hold, and what each waits for. Requires: no lock of allot is held.
    virtual void write_tasks(text_writer& out) const noexcept = 0;

  protected:
    judge(bool sees, time_span longest) noexcept : sees_refunds(sees), longest_sleep(longest) {}
    ~judge() = default;
    // Before it ends.
    void wait_until_left() noexcept {
        while (const std::uint32_t now = inside_.load(std::memory_order_acquire))
            inside_.wait(now, std::memory_order_acquire);
    }

  private:
    intrusive_list<injector, &injector::place_> injectors_;
    std::atomic<std::uint32_t> inside_{0};
};

// A thread that a judge knows: where it sleeps, and its id there. All: the thread itself, but where said.
class judged_thread {
  public:
    static constexpr std::uint32_t decided = 8; // a signal to its spot, beside those of waits

    judged_thread(judge& by, oom::thread_id id) noexcept : by_(by), id_(id) {}
    judged_thread(const judged_thread&) = delete;
    judged_thread& operator=(const judged_thread&) = delete;

    // Tells the judge an event of this thread.
    verdict post(oom::command what) noexcept {
        what.thread = id_;
        return by_.post(what).next;
    }
    // Any thread, in a tree's lock: the judge's deliver() follows.
    verdict post_in_lock(oom::command what) noexcept {
        what.thread = id_;
        return by_.apply(what).next;
    }
    // Now: it may have been decided since by an event of another thread.
    verdict look() const noexcept { return now().next; }
    judge::standing now() const noexcept { return by_.of(id_); }
    // Any thread, in the tree's lock: whether its requests go before the other's.
    bool goes_before(const judged_thread& other) const noexcept {
        return &other.by_ == &by_ && by_.goes_before(id_, other.id_);
    }
    std::size_t held_by_no_task(const tree_node& at) const noexcept { return by_.held_by_no_task(at); }
    // If it sleeps from now on, what it posts then, and when, on fine_clock.
    struct alarm {
        std::uint64_t at = sys::parking::never;
        oom::event what = oom::event::overdue;
    };
    alarm next_alarm(std::uint64_t overdue) const noexcept {
        const std::uint64_t decides = now().decides_at;
        return decides < overdue ? alarm{decides, oom::event::waited_long} : alarm{overdue, oom::event::overdue};
    }
    // On fine_clock, of a sleep that begins now.
    std::uint64_t overdue_at() const noexcept { return wait_limit{by_.longest_sleep}.deadline(); }
    // Sleeps while it is rolled back.
    verdict wait_until_ready() noexcept {
        const std::uint64_t overdue = overdue_at();
        verdict v = post({.what = oom::event::ready});
        while (v == verdict::sleep) {
            const alarm next = next_alarm(overdue);
            v = spot.wait_until(next.at) == 0 ? post({.what = next.what}) : look();
        }
        return v;
    }

    sys::parking spot;
    // How its next request fails that an injector refuses; fits: as it did.
    charge_outcome injected = charge_outcome::fits;

  private:
    judge& by_;
    const oom::thread_id id_;
};

} // namespace detail

/// For a root account: who decides over requests that wait, and whose memory it counts. An arbiter is one for the
/// host's memory, arbiter.device() for a device's.
struct judged_by {
    detail::judge* by = nullptr;
    memory_kind kind = memory_kind::host;
};

} // namespace allot::inline ALLOT_ABI
