// Requests that wait for memory of one level, in the order of their begin; where an arbiter knows both, in its order.
// Patient ones come behind all others.
//
// A waiter is on the stack of its request, in the queue of the highest level that refused it. It is `trying` while the
// request is made again, else it sleeps. Where memory may have become free, choose() looks for those that may try: each
// that fits beside what others try for. At most `most_bypasses` later requests of the level pass the first one; then it
// is due, and those that may wait go behind it (account_waiting.hpp says which pass).
// Unused memory that no charge shows, as free slots, is announced: then waiters try one after the other whether they
// fit or not, each once.
// A try may take memory and return it, since another part of it was refused (undoing). It needs room for both, and what
// it returns is announced only to those that may have missed it: they tried meanwhile.
// No wake-up is lost: a waiter is added, then its request is made again; each end of a try is followed by a look; and
// what is announced during a try is tried for after it.
// Cost: 40 bytes a level, 280 a waiter. A look is O(1) where no waiter of the level fits, O(waiters of the level) else,
// and where one waits without a thread.
// Threads: requires the lock of the level.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/request/command.hpp>
#include <allot/request/judge.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sys/parking.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline std::size_t sum_or_max(std::size_t a, std::size_t b) noexcept { return b < SIZE_MAX - a ? a + b : SIZE_MAX; }

struct account_node;
struct account_tree;
class shared_level; // shared_level.hpp, as the next one
class shared_waits;
class threadless_request;
class tree_node;
struct waiter;

// What a request makes of reservations, for the order of those that wait (account_reservation.hpp). Requires the lock.
class reserved_need {
  public:
    struct needs {
        std::size_t more = 0;                  // bytes that above() must have free
        const account_node* refuser = nullptr; // it is closed, or these exceed its limit; null: none
        std::size_t wanted = 0, used = 0;      // bytes in all, there; and without them
    };
    virtual needs need() const noexcept = 0;
    virtual bool can_ever_fit() const noexcept = 0;
    // Whether it ends where that account is closed.
    virtual bool concerns(const tree_node& a) const noexcept = 0;
    // Null: it needs nothing of others.
    virtual tree_node* above() const noexcept = 0;

  protected:
    ~reserved_need() = default;
};

// What an account has reserved; account_reservation.hpp owns it.
struct reserved_bytes {
    account_node* by = nullptr; // null: none
    std::size_t bytes = 0;
    std::size_t used_before = 0; // by the account, when the reservation began
    reserves kind = reserves::to_come;
};
// A request that waits without a thread, and was decided: it is called once no lock is held.
struct granted_call {
    threadless_request* to = nullptr; // null: none
    account_node* by = nullptr;       // kept until then, as by a refund
    reserved_bytes made{};
    charge_status status{};
};
class threadless_request {
  public:
    // Makes it. Returns: none, if it sleeps on. Requires the lock.
    virtual granted_call make(waiter& w, account_tree& tree) noexcept = 0;
    // Without a lock.
    virtual void call(const granted_call& made) noexcept = 0;

  protected:
    ~threadless_request() = default;
};

struct bytes_below {
    const tree_node* account = nullptr;
    std::size_t bytes = 0;
};

// What a queue knows of its waiters; in the first one, since most levels have none.
struct waits_of_level {
    std::size_t least = 0;            // bytes that the level must have free for one of those that sleep; 0: not known
    waiter* next_announced = nullptr; // the next one that tries for unused memory; null: none
    waiter* first_patient = nullptr;
    std::uint32_t trying = 0; // their number
    std::uint32_t missed = 0; // waiters that have missed something
    std::uint32_t queued = 0; // that recall credit, though they are patient
};

struct waiter {
    static constexpr std::uint32_t try_again = 1; // a signal: it was woken; one that is `trying` ends after it
    static constexpr std::uint8_t most_bypasses = 16;
    const tree_node* by = nullptr;    // the account that requests
    const tree_node* holds = nullptr; // what its task has is charged there
    const tree_node* at = nullptr;    // the level that refused last; bytes: those requested; valid while it sleeps
    const tree_node* in = nullptr;    // the level in whose queue it is: the highest that refused
    std::size_t bytes = 0;
    std::size_t least = 0; // bytes that `in` must have free for it, at least; valid while it sleeps
    bytes_below also;      // needed beside these
    bytes_below undone;    // of its last try; used by its thread alone, as the next
    bool undoes = false;
    bool trying = true;
    bool missed = false;                    // what may serve it, since its last try began
    const shared_waits* shared = nullptr;   // the levels that are no accounts and refused it; null: none
    const shared_level* short_of = nullptr; // the last one, if no account refused last: it tries at news
    std::size_t used = 0;                   // bytes there
    bool charges_others = false;            // the request needs further accounts, which the tree does not know
    bool patient = false;                   // it holds back patient ones alone, and shuts no cache
    bool held_back = false;                 // it fits, but another one is due
    bool passes = false;                    // though another one is due
    bool looks = false;        // it takes nothing: last, never due, and signalled in the lock (memory_look.hpp)
    std::uint8_t bypasses = 0; // requests that may wait, and were granted before it while it was first
    const reserved_need* reserves = nullptr;
    threadless_request* queued = nullptr; // no thread waits: the one that frees memory makes its request
    std::uint32_t passed = 0;             // the same, with those that never wait
    std::uint32_t most_cost = UINT32_MAX; // of the reclaimers that are asked for it while it has no thread
    std::uint64_t began = 0, slept = 0;   // its last try and its last sleep, in the tree's count of both
    waits_of_level level;                 // of the first one
    std::size_t undone_at(const tree_node* account) const noexcept {
        return undone.account == account ? undone.bytes : 0;
    }
    std::size_t needs() const noexcept { return sum_or_max(bytes, also.bytes); }
    bool is_due() const noexcept { return bypasses >= most_bypasses && !looks; }
    // Whether a refund into credit would not reach it.
    bool recalls_credit() const noexcept { return queued != nullptr || looks; }
    // For its arbiter: the detail of oom::event::failed.
    std::uint8_t how_it_failed() const noexcept {
        return static_cast<std::uint8_t>((own ? oom::detail::failed_by_own_limit : 0) |
                                         (held_back ? oom::detail::failed_held_back : 0));
    }
    waiter* next = nullptr; // in the queue, a ring
    waiter* prev = nullptr;
    waiter* next_woken = nullptr;
    list_hook<waiter> in_tree, as_trier;
    judged_thread* judged = nullptr; // null: no arbiter knows it
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

  private:
    waiter* const waiter_ = of_this_thread.trying;
};

// All waiters of a tree, and those that try.
struct waits_of_tree {
    intrusive_list<waiter, &waiter::in_tree> all;
    intrusive_list<waiter, &waiter::as_trier> triers;
    std::uint64_t tries = 0; // so far

    void begin_try(waiter& w) noexcept {
        w.trying = true;
        w.missed = w.passes = false;
        w.began = ++tries;
        triers.add(w);
    }
    void end_try(waiter& w) noexcept {
        w.trying = false;
        w.slept = tries;
        triers.remove(w);
    }
};

class wait_queue {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    waiter* first() const noexcept { return first_; }
    // The first that is patient, or that is not; null: none.
    waiter* first(bool patient) const noexcept {
        if (first_ == nullptr || first_->patient == patient) return first_;
        return patient ? first_->level.first_patient : nullptr;
    }
    // Whether caches below are shut: one that is not patient waits.
    bool shuts() const noexcept { return first_ != nullptr && !first_->patient; }
    // Whether credit is recalled: one of these waits, or one that a refund into credit would not wake.
    bool recalls_credit() const noexcept { return shuts() || (first_ != nullptr && first_->level.queued != 0); }

    // In order; what the level knows of all is in the first one, and moves with that.
    ALLOT_OUTLINE_WARM void add(waiter& w) noexcept {
        waiter* const f = first_;
        waiter* const follower = first_behind(w); // null: it is the last
        if (f == nullptr) {
            w.next = w.prev = first_ = &w;
            w.level = {};
        } else {
            w.next = follower != nullptr ? follower : f;
            w.prev = w.next->prev;
            w.prev->next = w.next->prev = &w;
            if (follower == f) set_first(w);
        }
        waits_of_level& l = first_->level;
        if (w.patient && (l.first_patient == nullptr || l.first_patient == follower)) l.first_patient = &w;
        l.trying += w.trying;
        l.missed += w.missed;
        l.queued += w.recalls_credit();
    }
    ALLOT_OUTLINE_WARM void remove(waiter& w) noexcept {
        waits_of_level& l = first_->level;
        l.trying -= w.trying;
        l.missed -= w.missed;
        l.queued -= w.recalls_credit();
        if (w.is_due()) l.least = 0; // of those that it held back
        if (l.next_announced == &w) l.next_announced = behind(w);
        if (l.first_patient == &w) l.first_patient = behind(w);
        if (first_ == &w && w.next != &w) set_first(*w.next);
        else if (first_ == &w) first_ = nullptr;
        w.next->prev = w.prev;
        w.prev->next = w.next;
    }
    void begin_try(waiter& w, waits_of_tree& tree) noexcept {
        first_->level.missed -= w.missed;
        ++first_->level.trying;
        tree.begin_try(w);
    }
    // Its try has ended, and it sleeps.
    void sleep(waiter& w, waits_of_tree& tree) noexcept {
        tree.end_try(w);
        --first_->level.trying;
        if (w.least < first_->level.least) first_->level.least = w.least;
    }
    // Unused memory is announced to those that wait here, or will when their try has ended: in turn; to those that look
    // or have no thread, all at once. A look follows. Returns: whether there are some without a thread.
    bool announce() noexcept {
        if (first_ == nullptr) return false;
        if (!first_->looks) first_->level.next_announced = first_;
        if (first_->level.queued == 0) return false;
        bool any = false;
        each([&](waiter& w) {
            if (w.recalls_credit()) note_missed(w), any = any || w.queued != nullptr;
        });
        return any;
    }
    // It tries once more, behind its try; where it has no thread, it is asked for.
    void note_missed(waiter& w) noexcept {
        if (!std::exchange(w.missed, true)) ++first_->level.missed;
    }
    // It is asked for from here on. False: there was no news.
    bool take_missed(waiter& w) noexcept {
        first_->level.missed -= w.missed;
        return std::exchange(w.missed, false);
    }
    // Whether none of those that wait here tries for so few bytes, nor for news.
    bool has_none_for(std::size_t room) const noexcept {
        if (first_ == nullptr) return true;
        const waits_of_level& l = first_->level;
        return room < l.least && l.next_announced == nullptr && l.missed == 0;
    }
    // Chooses those that may try now, in front of `woken`; signal() them without the lock. `room`: bytes that the level
    // has free beside those that others try for; SIZE_MAX: not known. `fits(waiter&)`: whether its request would fit,
    // or can never, or it looks and has missed something.
    template <class Fits> waiter* choose(std::size_t room, waits_of_tree& tree, Fits fits, waiter* woken) noexcept {
        if (has_none_for(room)) return woken;
        waits_of_level& l = first_->level;
        const waiter* due = nullptr; // later ones wait for it
        std::size_t least = SIZE_MAX;
        bool reached = false; // the next one that tries for unused memory
        each([&](waiter& w) {
            reached = reached || &w == l.next_announced;
            const waiter* const before = due;
            if (due == nullptr && w.is_due() && (&w == first_ || &w == l.first_patient)) due = &w;
            if (w.trying) return;                              // its thread writes `passes`
            const bool may_go = before == nullptr || w.passes; // none is due before it, or the arbiter lets it pass
            // It has a thread, and it is its turn to look for unused memory, whether it fits or not: one at a time.
            const bool in_turn = !w.recalls_credit() && l.trying == 0 && (reached || w.missed);
            if (may_go && (fits(w) || in_turn) && (w.judged == nullptr || tell_that_it_may_fit(*w.judged))) {
                if (in_turn && reached) l.next_announced = behind(w), reached = false;
                if (w.looks && w.queued == nullptr) w.trying = true; // signal_looks() removes it before the unlock
                else begin_try(w, tree);
                w.next_woken = woken;
                woken = &w;
            } else if (may_go && w.least < least) {
                least = w.least;
            }
        });
        l.least = least;
        return woken;
    }
    // Any thread, without the lock.
    static void signal(waiter* woken) noexcept {
        while (woken != nullptr) {
            waiter& w = *woken;
            woken = w.next_woken; // first: the waiter may end
            w.spot->signal(waiter::try_again);
        }
    }
    template <class Visit> void each(Visit visit) const noexcept {
        waiter* w = first_;
        if (w == nullptr) return;
        do {
            visit(*w);
            w = w->next;
        } while (w != first_);
    }

  private:
    // Tells the arbiter. False: it ends the thread's wait otherwise.
    static bool tell_that_it_may_fit(judged_thread& t) noexcept {
        return t.post_in_lock({.what = oom::event::may_fit}) == verdict::try_again;
    }
    waiter* behind(const waiter& w) const noexcept { return w.next != first_ && !w.next->looks ? w.next : nullptr; }
    waiter* first_behind(const waiter& w) const noexcept {
        waiter* found = nullptr;
        each([&](waiter& o) {
            const bool before = w.looks != o.looks ? o.looks
                                : w.patient != o.patient
                                    ? o.patient
                                    : w.judged != nullptr && o.judged != nullptr && w.judged->goes_before(*o.judged);
            if (found == nullptr && before) found = &o;
        });
        return found;
    }
    void set_first(waiter& w) noexcept {
        w.level = first_->level;
        first_ = &w;
    }

    waiter* first_ = nullptr;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
