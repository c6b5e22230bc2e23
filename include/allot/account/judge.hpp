// Decides what becomes of requests that wait: the seam between the accounts and an arbiter (oom/arbiter.hpp).
//
// An account that waits for memory on a thread that the judge knows reports each step: the request is announced before
// each try, and its failure reported, in the lock of the accounts' tree. The judge may end the wait of any of its
// threads by a signal to the thread's place; look() says how then.
// Invariant: the judge's lock is inside that of a tree; that of the injectors outside of both. Cost: two words per tree of accounts. Threads: any, as said.
#pragma once

#include <allot/account/tenant.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/memory_kind.hpp>
#include <allot/core/text.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class account;

/// What becomes of a request that was refused.
enum class verdict : std::uint8_t {
    none,      // the thread is not known: the request is refused
    sleep,     // until memory may be free, or others end
    try_again, // at once
    roll_back, // free what was taken, and begin again
    split,     // and with a smaller input
    removed,   // its task was removed
    refused,   // it can be neither rolled back nor split
};

namespace detail {

// A thread that a judge knows. All: the thread itself, but where said.
class judged_thread {
  public:
    static constexpr std::uint32_t decided = 8; // a signal to its spot, beside those of waits

    judged_thread() = default;
    judged_thread(const judged_thread&) = delete;
    judged_thread& operator=(const judged_thread&) = delete;

    // Its request was refused (`first`: for the first time), before its wait. One that was rolled back, and has not
    // waited since, sleeps here.
    virtual verdict begin(bool first) noexcept = 0;
    // How its request is to fail that an injector refused; fits: as it did.
    virtual charge_outcome take_injected() noexcept = 0;
    // Its request for these bytes was refused, and is made again now. sleep, try_again: it is; else how it ends.
    virtual verdict announce(memory_kind kind, std::size_t bytes) noexcept = 0;
    // The request can never fit at what refused it.
    virtual verdict never_fits(memory_kind kind, std::size_t bytes) noexcept = 0;
    virtual void granted() noexcept = 0;
    // The request ends without memory: its time has come, or it was cancelled or refused.
    virtual void give_up() noexcept = 0;
    // The decision since fails(). accept(): the request ends by it.
    virtual verdict look() noexcept = 0;
    virtual void accept() noexcept = 0;
    // Any thread, in the tree's lock: whether its requests go before the other's.
    virtual bool goes_before(const judged_thread& other) const noexcept = 0;
    // The same: its request may fit, or memory was announced. False: it was ended otherwise.
    virtual bool may_try() noexcept = 0;
    // The account of its only task; null: not known.
    virtual const account* memory_of_task() const noexcept = 0;
    // Any thread, in the tree's lock: its request was refused again, and there is no memory for it. `own`: by a limit
    // at or below the account of its task.
    virtual void fails(bool own) noexcept = 0;
    // It has slept since fails() as long as it may, by overdue_at(), on fine_clock.
    virtual void overdue() noexcept = 0;
    virtual std::uint64_t overdue_at() const noexcept = 0;

    sys::parking spot;

  protected:
    ~judged_thread() = default;
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
    tenants roots; // the accounts that were given it

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

    // The calling thread, if the judge knows it; else null.
    virtual judged_thread* this_thread() noexcept = 0;
    // Signals the threads whose waits were ended in a tree's lock, which the caller has left.
    virtual void deliver() noexcept = 0;
    // Whether freed() is to be called once a thread was rolled back: bytes were refunded, and this many are free at
    // the root now. Requires that no lock of a tree is held.
    virtual bool sees_frees() const noexcept = 0;
    virtual void freed(memory_kind whose, std::size_t free_bytes) noexcept = 0;
    // For reports: the tasks, what they hold, and what each waits for. Requires: no lock of allot is held.
    virtual void write_tasks(text_writer& out) const noexcept = 0;

  protected:
    judge() = default;
    ~judge() = default;

  private:
    intrusive_list<injector, &injector::place_> injectors_;
};

} // namespace detail

/// For a root account: who decides over requests that wait, and whose memory it counts. An arbiter is one for the
/// host's memory, arbiter.device() for a device's.
struct judged_by {
    detail::judge* by = nullptr;
    memory_kind kind = memory_kind::host;
};

} // namespace allot::inline ALLOT_ABI
