// A reclaimer: frees memory when a request is short of it. A cache that drops entries, rows that can be written to a
// file, unused pages.
//
//     struct answers : allot::reclaimer {
//         answers() : reclaimer("cached answers", 2) {}
//         bool reclaim(const allot::shortage& s) noexcept override { return drop_oldest(s.missing()); }
//     };
//     query.add(cache);          // may be called for requests that `query`, or an account above it, refuses
//
// One that only begins to free, as by a write to a file, says how much: comes(bytes), and later, from any thread,
// arrived(bytes) behind the refund, or failed(bytes). A request that may wait asks no other reclaimer for those bytes,
// and an arbiter takes nothing from tasks that they would serve.
//
// One whose call takes its time does the same, then calls shortage::let_others_go_on(), and frees them in that call.
//
// Rules of a call. It may free, refund and release; unregister itself and others; and wait for no lock that a thread
// may hold while it requests memory: it tries such a lock. A request that it makes is served from what is free, or
// refused.
// Invariant: a reclaimer is in one list at most. Cost: 104 bytes; nothing until a request is refused.
// Threads: on a thread that is short of memory; one call at a time, but several for idle memory, and behind
// let_others_go_on(). Source: HPCC Roxie's IBufferedRowCallback, 2011.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/sync/called_list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class account;
namespace detail {
class reclaimers;
enum class arrival : std::uint8_t { expected, arrived, failed };
// Hears of bytes of a reclaimer of `home`.
using arrival_call = void (*)(const account& home, std::size_t bytes, arrival) noexcept;
} // namespace detail

/// Derive from it, and add it to the account that its memory is charged to.
/// Requires: removed before it ends, and before the account ends. One whose account is closed is not called any more. It
/// is in one account at most; added to a second one, it stays in the first.
class reclaimer {
  public:
    /// The cost of unused memory. It is returned for every request, also for pages.
    static constexpr std::uint32_t idle = 0;
    /// As a cap: all reclaimers.
    static constexpr std::uint32_t any = UINT32_MAX;

    /// For which requests it is called: those that its account refuses, or one above; or one below it, too: a reclaimer
    /// whose memory is charged there.
    enum class reach : std::uint8_t { own_account, below_too };

    /// Lower costs are called first; the same cost in turn. Requires: the name outlives the reclaimer.
    explicit reclaimer(const char* name, std::uint32_t cost = 1, reach asked = reach::own_account) noexcept
        : name_(detail::text_or_empty(name)), cost_(cost), reach_(asked) {}
    reclaimer(const reclaimer&) = delete;
    reclaimer& operator=(const reclaimer&) = delete;

    /// Whether a call may help; not ahead of need, unless a derived class says so: what it frees may be needed again.
    /// Called with a lock held: it compares numbers, and does nothing else.
    virtual bool helps(const shortage& s) const noexcept { return !s.ahead; }
    /// Frees at least what is missing, if it has as much; in a critical shortage all that it can.
    /// Returns: whether it freed something. Then the request is tried again.
    virtual bool reclaim(const shortage&) noexcept = 0;

    /// Whether a call frees its bytes without the help of other threads. Then a request that does not wait for memory
    /// waits for the end of a call that lets others go on, before it is refused; else the call could wait for it.
    virtual bool frees_alone() const noexcept { return false; }
    /// When a call may free more than before, though nothing says so then, as behind a pause after an error: on
    /// sys::fine_clock, in nanoseconds; UINT64_MAX: never. Requests that wait ask again then. Called with a lock held.
    virtual std::uint64_t tries_again_at() const noexcept { return UINT64_MAX; }
    /// For reports: bytes that a call could free now of what is charged to the account, or below it; SIZE_MAX: it does
    /// not say. Called with a lock held: it reads numbers, and does nothing else.
    virtual std::size_t reclaimable(const account&) const noexcept { return SIZE_MAX; }
    /// For the report of an out_of_memory: what it adds to its line. The same.
    virtual void describe(text_writer&) const noexcept {}
    /// For the line of an out_of_memory: "; " and the error that keeps calls from freeing what there is, as of a disk,
    /// and how long it waits before it tries again. Nothing: there is none. The same.
    virtual void describe_failure(text_writer&) const noexcept {}
    /// Where it waits after an error before it tries again: the next call tries.
    virtual void end_pause() noexcept {}

    const char* name() const noexcept { return name_; }
    std::uint32_t cost() const noexcept { return cost_; }
    reach asked() const noexcept { return reach_; }
    /// Bytes that became free during its calls, as counted where the requests were refused, and that arrived() since.
    std::size_t freed() const noexcept { return freed_.load(std::memory_order_relaxed); }
    /// Bytes that a call has announced by comes(), and that have neither arrived nor failed.
    std::size_t coming() const noexcept { return coming_.load(std::memory_order_relaxed); }
    /// Bytes that were coming have been refunded. Any thread, while it is added; more than are coming count as these.
    /// As account::notify_unused(), it may call reclaimers.
    void arrived(std::size_t bytes) noexcept { end(bytes, detail::arrival::arrived); }
    /// Bytes that were coming will not be refunded: requests that wait for them ask others. The same.
    void failed(std::size_t bytes) noexcept { end(bytes, detail::arrival::failed); }
    /// Calls so far, and the nanoseconds that they took.
    std::size_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }
    std::uint64_t nanoseconds() const noexcept { return nanoseconds_.load(std::memory_order_relaxed); }

  protected:
    /// For a call of reclaim(): this much will become free by what the call has begun, behind it. It returns whether it
    /// freed something already.
    void comes(std::size_t bytes) noexcept {
        if (bytes == 0 || home_ == nullptr) return;
        coming_.fetch_add(bytes, std::memory_order_relaxed);
        tells_(*home_, bytes, detail::arrival::expected);
    }
    ~reclaimer() {
        if (home_ != nullptr) detail::report_misuse({.kind = misuse::living_reclaimer, .heap = name_});
    }

  private:
    friend class detail::reclaimers;

    // For unused memory: requests began to wait for it, or no longer do.
    virtual void settle_waits() noexcept {}

    void end(std::size_t bytes, detail::arrival how) noexcept {
        std::size_t now = coming_.load(std::memory_order_relaxed), less = 0;
        do less = bytes < now ? bytes : now;
        while (!coming_.compare_exchange_weak(now, now - less, std::memory_order_relaxed));
        if (how == detail::arrival::arrived) freed_.fetch_add(less, std::memory_order_relaxed);
        if (less != 0 && home_ != nullptr) tells_(*home_, less, how);
    }

    const char* name_;
    const std::uint32_t cost_;
    const reach reach_;
    mutable bool is_called_ = false; // by a sweep; requires the mutex of the tree's shape
    const account* home_ = nullptr;  // that it was added to; null: none
    detail::called_hook<reclaimer> place_;
    std::atomic<std::size_t> freed_{0}, calls_{0};
    std::atomic<std::uint64_t> nanoseconds_{0};
    std::atomic<std::size_t> coming_{0};
    detail::arrival_call tells_ = nullptr;
};

} // namespace allot::inline ALLOT_ABI
