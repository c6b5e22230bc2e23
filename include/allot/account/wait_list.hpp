// Requests that wait for memory, in the order of their begin; where an arbiter knows both, in its order.
//
// A waiter is on the stack of its request. It is `trying` while the request is made again, else it sleeps. Whenever
// memory may have become free, wake() chooses those that may try: each that fits beside what others try for. One that
// does not fit lets at most `most_bypasses` later ones of the same level go first; then they wait for it.
// Unused memory that no charge shows, as free slots, is announced: then waiters try one after the other whether they
// fit or not, each once.
// A try may take memory and return it, since another part of it was refused (undoing). It needs room for both, and what
// it returns is announced only to those that may have missed it: they tried meanwhile.
// No wake-up is lost: a waiter is added, then its request is made again; each end of a try is followed by a wake(); and
// what is announced during a try is tried for after it.
// Cost: 16 bytes; wake() is O(waiters), and with bypasses O(waiters^2). Threads: requires the owner's lock, but for empty().
#pragma once

#include <allot/account/command.hpp>
#include <allot/account/judge.hpp>
#include <allot/account/tree_node.hpp>
#include <allot/config.hpp>
#include <allot/sys/parking.hpp>
#include <allot/sys/thread_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline std::size_t sum_or_max(std::size_t a, std::size_t b) noexcept { return b < SIZE_MAX - a ? a + b : SIZE_MAX; }

struct bytes_below {
    const tree_node* account = nullptr;
    std::size_t bytes = 0;
};

struct waiter {
    static constexpr std::uint32_t try_again = 1; // a signal: it was woken; one that is `trying` ends after it
    const tree_node* by = nullptr;                // the account that requests
    const tree_node* at = nullptr;     // the account that refused last; bytes: those requested; valid while it sleeps
    const tree_node* widest = nullptr; // the highest account that refused: unused memory below it is not kept in caches
    std::size_t bytes = 0;
    bytes_below also;   // needed beside these
    bytes_below undone; // of its last try; used by its thread alone, as the next
    bool undoes = false;
    bool trying = true;
    bool announced = false;      // unused memory was, since its last try began
    bool for_arena = false;      // it waits for pages: it tries when bytes are refunded
    bool charges_others = false; // the request needs further accounts, which the list does not know
    std::uint8_t bypasses = 0;
    std::uint64_t began = 0, slept = 0; // its last try and its last sleep, in the list's count of both
    std::size_t undone_at(const tree_node* account) const noexcept {
        return undone.account == account ? undone.bytes : 0;
    }
    std::size_t needs() const noexcept { return sum_or_max(bytes, also.bytes); }
    waiter* next = nullptr; // in the list, a ring
    waiter* prev = nullptr;
    waiter* next_woken = nullptr;
    judged_thread* judged = nullptr; // null: no arbiter knows it
    bool asks = false;               // judged, and to be said that its last try failed
    bool own = false;                // `at` is at or below the account of the thread's task
    sys::parking own_spot;
    sys::parking* spot = &own_spot;
};

// While a try returns what it has taken, since an account refused the rest; null: another reason.
class undoing {
  public:
    explicit undoing(const tree_node* refused) noexcept {
        of_this_thread.undoes = true;
        if (waiter_ == nullptr || refused == nullptr) return;
        waiter_->undone = {refused, 0};
        waiter_->undoes = true;
    }
    undoing(const undoing&) = delete;
    undoing& operator=(const undoing&) = delete;
    ~undoing() {
        of_this_thread.undoes = false;
        if (waiter_ != nullptr) waiter_->undoes = false;
    }
    // That of this thread; null if none does.
    static waiter* now() noexcept {
        waiter* const w = of_this_thread.trying;
        return w != nullptr && w->undoes ? w : nullptr;
    }
    // Bytes of the account are refunded. Requires the lock.
    static void count(std::size_t bytes, const tree_node& account) noexcept {
        if (waiter* const w = now(); w != nullptr && account.is_below(*w->undone.account))
            w->undone.bytes = sum_or_max(w->undone.bytes, bytes);
    }

  private:
    waiter* const waiter_ = of_this_thread.trying;
};

class wait_list {
  public:
    static constexpr std::uint8_t most_bypasses = 16;

    // Any thread.
    bool empty() const noexcept { return first() == nullptr; }

    void add(waiter& w) noexcept {
        w.began = ++tries_;
        waiter* const f = first();
        if (f == nullptr) {
            w.next = w.prev = &w;
            return first_.store(&w, std::memory_order_relaxed);
        }
        waiter* const behind = w.judged != nullptr ? first_behind(w) : nullptr; // null: it is the last
        w.next = behind != nullptr ? behind : f;
        w.prev = w.next->prev;
        w.prev->next = w.next->prev = &w;
        if (behind == f) first_.store(&w, std::memory_order_relaxed);
    }
    void remove(waiter& w) noexcept {
        if (first() == &w) first_.store(w.next == &w ? nullptr : w.next, std::memory_order_relaxed);
        w.next->prev = w.prev;
        w.prev->next = w.next;
    }
    void sleep(waiter& w) noexcept {
        w.trying = false;
        w.asks = w.judged != nullptr;
        w.slept = tries_;
    }
    // Whether a request of `by` that does not wait yet must not go first: an earlier one was bypassed too often.
    bool is_due_before(const tree_node& by) const noexcept {
        bool due = false;
        each([&](const waiter& w) { due = due || (w.bypasses >= most_bypasses && by.is_below(*w.at)); });
        return due;
    }
    // Whether unused memory of this account may serve a waiter.
    bool any_above(const tree_node& account) const noexcept {
        bool any = false;
        each([&](const waiter& w) { any = any || (w.widest != nullptr && account.is_below(*w.widest)); });
        return any;
    }
    // Requests of accounts at and below `at` that do not try now.
    std::uint32_t sleeping_below(const tree_node& at) const noexcept {
        std::uint32_t n = 0;
        each([&](const waiter& w) { n += !w.trying && w.by->is_below(at); });
        return n;
    }
    // Chooses the waiters that may try now; signal() them without the lock. `would_fit(waiter&, bytes of others)`:
    // whether the request would fit, or can never; else `at` says what refuses.
    template <class Fits> waiter* wake(Fits would_fit) noexcept {
        std::size_t promised = 0;
        bool one_tries = false;
        each([&](const waiter& w) {
            if (!w.trying) return;
            promised = sum_or_max(promised, w.needs());
            one_tries = true;
        });
        waiter* woken = nullptr;
        const waiter* due = nullptr; // later ones of its level wait for it
        each([&](waiter& w) {
            if (w.trying || (due != nullptr && w.by->is_below(*due->at))) return;
            const bool fits = would_fit(w, promised);
            const bool chosen = fits || (w.announced && !one_tries);
            if (chosen && (w.judged == nullptr || tell_that_it_may_fit(*w.judged))) { // asks only for a chosen one
                promised = sum_or_max(promised, w.needs());
                woken = set_trying(w, woken);
                one_tries = true;
                if (!fits) return;
                if (const waiter* const now_due = count_bypasses_before(w); due == nullptr) due = now_due;
            } else if (due == nullptr && w.bypasses >= most_bypasses) {
                due = &w;
            }
        });
        each([](waiter& w) {
            if (!w.trying && std::exchange(w.asks, false)) // once those are chosen that may try
                w.judged->post_in_lock({.what = oom::event::failed, .detail = w.own});
        });
        return woken;
    }
    // Unused memory of `at` is announced to those that wait for it, or will when their try has ended. A wake() follows.
    // `from`: a waiter that returns it.
    void announce(const tree_node& at, const waiter* from = nullptr) noexcept {
        each([&](waiter& w) {
            if (&w == from) return;
            const bool missed_it = from == nullptr || w.slept >= from->began;
            w.announced = w.announced || w.trying || (missed_it && at.is_below(*w.at));
        });
    }
    // Bytes were refunded, so an arena may have pages again.
    void announce_pages() noexcept {
        each([](waiter& w) { w.announced = w.announced || (w.for_arena && !w.undoes); });
    }
    // An account was closed, or its limit lowered: a request that needs further accounts looks whether it was one of
    // them. A wake() follows, which finds the others that can never fit now.
    void announce_end() noexcept {
        each([](waiter& w) { w.announced = w.announced || w.charges_others; });
    }
    // Any thread, without the lock.
    static void signal(waiter* woken) noexcept {
        while (woken != nullptr) {
            waiter& w = *woken;
            woken = w.next_woken; // first: the waiter may end
            w.spot->signal(waiter::try_again);
        }
    }

  private:
    // Those before it of its level are bypassed by it. Returns the first that is due now; null: none.
    const waiter* count_bypasses_before(const waiter& w) const noexcept {
        const waiter* due = nullptr;
        for (waiter* before = first(); before != &w; before = before->next)
            if (!before->trying && before->bypasses < most_bypasses && w.by->is_below(*before->at))
                if (++before->bypasses == most_bypasses && due == nullptr) due = before;
        return due;
    }
    // Tells the arbiter. False: it ends the thread's wait otherwise.
    static bool tell_that_it_may_fit(judged_thread& t) noexcept {
        return t.post_in_lock({.what = oom::event::may_fit}) == verdict::try_again;
    }
    waiter* first_behind(const waiter& w) const noexcept {
        waiter* found = nullptr;
        each([&](waiter& o) {
            if (found == nullptr && o.judged != nullptr && w.judged->goes_before(*o.judged)) found = &o;
        });
        return found;
    }
    waiter* set_trying(waiter& w, waiter* woken) noexcept {
        w.trying = true;
        w.asks = false;
        w.began = ++tries_;
        w.announced = false;
        w.next_woken = woken;
        return &w;
    }
    waiter* first() const noexcept { return first_.load(std::memory_order_relaxed); }
    template <class Visit> void each(Visit visit) const noexcept {
        waiter* w = first();
        if (w == nullptr) return;
        do {
            visit(*w);
            w = w->next;
        } while (w != first());
    }

    std::atomic<waiter*> first_{nullptr};
    std::uint64_t tries_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
