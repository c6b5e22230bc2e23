// The shared state of a tree of accounts, in its root: the lock, listeners, reclaimers, requests that wait.
//
// The mutex `shape` is held while an account opens or closes, an item is added or removed, or the tree is walked; it is
// taken before the lock. All else requires the lock, but for the counts of listeners and injectors.
// Invariant: a leaf that has credit is listed at each level above (tree_node.hpp); its credit is closed when a level
// recalls it, so a recall costs what the grants since the last one cost. Cost: 312 bytes (320 in checked builds).
// Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/request/judge.hpp>
#include <allot/request/reclaimers.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/sys/fault.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>
#include <allot/tree/observers.hpp>
#include <allot/tree/tree_lock.hpp>
#include <allot/tree/tree_node.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

class account_peak;

namespace detail {

// A request that waits in another tree, and ends when its account is closed; a close that waits for an account to
// drain.
struct closing_watch {
    static constexpr std::uint32_t closed = 4; // a signal, beside the waiter's and that of a cancellation
    explicit closing_watch(sys::parking& where) noexcept : spot(where) {}
    sys::parking& spot;
    list_hook<closing_watch> place;
};

struct account_node; // account_node.hpp

inline bool is_freed_unseen(const shared_level* of) noexcept { return of != nullptr && of->is_freed_unseen(); }

// News that memory of a tree was freed, or has become unused, for the judge, once it has rolled a thread back, and for
// passes that ask each object once for idle memory: one that was asked may have some later. One word:
//
//   31 ..... 16  15 ..... 1  0
//   news         passes      the judge wants them
class free_news {
  public:
    class pass {
      public:
        explicit pass(free_news& of) noexcept
            : of_(of), begun_(of.word_.fetch_add(one_pass, std::memory_order_seq_cst) / one_news) {}
        pass(const pass&) = delete;
        pass& operator=(const pass&) = delete;
        ~pass() { of_.word_.fetch_sub(one_pass, std::memory_order_relaxed); }
        // Whether memory has become unused since it began.
        bool any() const noexcept { return of_.word_.load(std::memory_order_seq_cst) / one_news != begun_; }

      private:
        free_news& of_;
        const std::uint32_t begun_;
    };

    bool are_wanted() const noexcept { return word_.load(std::memory_order_relaxed) % one_news != 0; }
    bool go_to_judge() const noexcept { return (word_.load(std::memory_order_relaxed) & judge) != 0; }
    void add_judge() noexcept { word_.fetch_or(judge, std::memory_order_relaxed); }
    void add() noexcept { word_.fetch_add(one_news, std::memory_order_seq_cst); }

  private:
    static constexpr std::uint32_t judge = 1, one_pass = 2, one_news = 1u << 16;
    std::atomic<std::uint32_t> word_{0};
};

struct account_tree {
    tree_lock lock;
    detail::observers observers;
    std::atomic<std::uint32_t> injectors{0}; // that the judge asks before charges; no leaf has credit meanwhile
    // What a request looks at before it takes unused memory of its object, one word. Written under the lock.
    //   31 ............. 2   1              0
    //   requests that wait   one was due    a limit was exceeded, once: by a forced charge, or since it was lowered
    // Those that only look (memory_look.hpp) are not in it: nobody passes them.
    std::atomic<std::uint32_t> strain{0};
    std::atomic<std::size_t> uncharged_books{0}; // bytes (ledger/account_books.hpp)
    std::uint32_t waiting = 0;                   // requests that wait until held bytes are confirmed or cancelled
    std::uint32_t sleeping = 0;                  // threads that sleep for such an end, or for one of `waiting`
    std::atomic<std::uint32_t> changes{0};       // counted under the lock while threads sleep
    free_news frees;
    account_node* drained = nullptr;                             // accounts to end after the unlock
    void (*end_drained)(account_node* first) noexcept = nullptr; // by this, once one is to end by itself
    account_peak* peak_copy = nullptr;
    sys::mutex shape{lock_rank::tree_shape};
    ALLOT_NO_UNIQUE_ADDRESS detail::reclaimers reclaimers; // the mutex guards their list
    // What the next unlock does. acts: a copy of the peak is kept, accounts have drained, threads sleep, bytes to come
    // are reserved, some are owed, there is a watermark, or what waits has changed.
    enum class unlocking : std::uint8_t { unlocks, serves_waiters, acts };
    unlocking at_unlock = unlocking::unlocks;
    bool looks_at_all = false; // for requests that fit: at every level
    bool may_grant = false;    // a queued reservation, at this unlock
    mutable std::atomic<std::uint32_t> number_at{0};
    waits_of_tree waits;
    std::uint32_t waits_for_unseen = 0; // requests whose level is freed unseen
    std::uint32_t reservations = 0;     // of bytes to come
    tree_node::owed_nodes owed;
    intrusive_list<closing_watch, &closing_watch::place> watches;
    judged_by judged;
    judged_root as_root;

    explicit account_tree(account_node& top) noexcept : as_root(top) {}
    account_node& root() const noexcept { return as_root.root; }
    // Of no other tree of the process, for reports; given when it is first asked for.
    std::uint32_t number() const noexcept {
        static std::atomic<std::uint32_t> last{0};
        std::uint32_t has = number_at.load(std::memory_order_relaxed);
        if (has == 0) {
            const std::uint32_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
            if (number_at.compare_exchange_strong(has, next, std::memory_order_relaxed)) has = next;
        }
        return has;
    }
    // What a thread looks at behind a charge, once it holds no lock, for one test: an account has, or had, a watermark;
    // there is news for reservations that wait without a thread.
    bool frees_ahead() const noexcept { return frees_ahead_.load(std::memory_order_relaxed) != 0; }
    bool has_watermarks() const noexcept { return (frees_ahead_.load(std::memory_order_relaxed) & watermarks) != 0; }
    bool asks_for_queued() const noexcept { return (frees_ahead_.load(std::memory_order_relaxed) & queued) != 0; }
    // Requires the lock, as the next one.
    void add_watermark() noexcept {
        set_frees_ahead(watermarks, true);
        act_at_unlock();
    }
    void set_asks_for_queued(bool now) noexcept { set_frees_ahead(queued, now); }
    bool has_injectors() const noexcept { return injectors.load(std::memory_order_relaxed) != 0; }

    // Requires the lock, as the next three.
    void act_at_unlock() noexcept { at_unlock = unlocking::acts; }
    // The next unlock looks for requests that fit, at every level.
    void look_at_all() noexcept {
        looks_at_all = true;
        if (has_waiters()) act_at_unlock();
    }
    // Accounts have been closed, or a limit is lower: requests that wait look whether that ends their wait.
    void announce_end() noexcept {
        look_at_all();
        // One that tries may have looked before; and one of those that it charges, too, may be closed.
        note_missed([](const waiter& w) { return w.trying || w.charges_others; });
        wake_watches();
    }
    // They look whether what they wait for is there.
    void wake_watches() noexcept {
        for (closing_watch* w = watches.first(); w != nullptr; w = watches.after(*w)) w->spot.signal(w->closed);
    }

    // Sleeps until another thread has changed the tree, which all do that end what is held. Requires the lock, but not
    // the mutex.
    ALLOT_NOINLINE void sleep_unlocked() noexcept {
        ++sleeping;
        act_at_unlock();
        const std::uint32_t begun = changes.load(std::memory_order_relaxed);
        lock.unlock();
        check_no_lock_is_held("sleeps");
        if (sys::fault::is_directed()) sys::fault::sleep(&changes, UINT64_MAX);
        else changes.wait(begun, std::memory_order_relaxed);
        lock.lock();
        --sleeping;
    }
    // Requires the lock.
    void wake_sleepers() noexcept {
        if (sleeping == 0) return;
        changes.store(changes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (sys::fault::is_directed()) sys::fault::wake(&changes);
        else changes.notify_all();
    }

    // Without the lock, as the next three: as it was a moment ago.
    bool has_waiters() const noexcept { return waiters_.load(std::memory_order_relaxed) != 0; }
    // Of those that do not only look.
    std::uint32_t in_order() const noexcept { return strain.load(std::memory_order_relaxed) / one_waiter; }
    bool was_exceeded() const noexcept { return (strain.load(std::memory_order_relaxed) & exceeded) != 0; }
    // False: no waiter is due.
    bool may_have_due() const noexcept { return (strain.load(std::memory_order_relaxed) & one_due) != 0; }
    // Requires the lock, as the next one.
    void note_exceeded() noexcept { set_strain(strain.load(std::memory_order_relaxed) | exceeded); }
    void note_due() noexcept { set_strain(strain.load(std::memory_order_relaxed) | one_due); }
    // Requires the lock, as the next one. It tries from now on.
    void add(waiter& w) noexcept {
        waits.all.add(w);
        waits.begin_try(w);
        waiters_.store(waiters_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (!w.looks) set_strain(strain.load(std::memory_order_relaxed) + one_waiter);
        act_at_unlock();
    }
    void remove(waiter& w) noexcept {
        if (w.trying) waits.triers.remove(w);
        waits.all.remove(w);
        act_at_unlock();
        waits_for_unseen -= is_freed_unseen(w.short_of);
        waiters_.store(waiters_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        if (w.looks) return;
        const std::uint32_t left = strain.load(std::memory_order_relaxed) - one_waiter;
        set_strain(left >= one_waiter ? left : left & exceeded);
    }
    // It tries once more, or is asked for where it waits without a thread. Requires the lock, and that a look follows.
    void note_missed(waiter& w) noexcept {
        const_cast<tree_node*>(w.in)->waits().note_missed(w);
        if (w.queued != nullptr) set_asks_for_queued(true);
    }
    // The same for those for which it holds.
    template <class Holds> void note_missed(Holds holds) noexcept {
        for (waiter* w = waits.all.first(); w != nullptr; w = waits.all.after(*w))
            if (holds(*w)) note_missed(*w);
    }
    // The same for those that wait for a shared level, but for one.
    void note_missed_at(const shared_level& at, const waiter* but) noexcept {
        note_missed([&](const waiter& w) {
            return &w != but && w.shared != nullptr && (w.trying ? w.shared->has(at) : w.short_of == &at);
        });
    }

    // Bytes that were used before a reservation of bytes to come return to the parent once they are refunded: at and
    // above `from`, without `end`, the change for which is returned. Requires the lock, as the next one, which does it
    // for all at and below `within`, whose credit is recalled: whether some returned.
    static tree_node::change settle_reservations(tree_node& from, const tree_node* end = nullptr) noexcept {
        tree_node::change sum{};
        for (tree_node* n = &from; n != end; n = n->parent())
            if (n->totals().to_come() != 0) sum += n->reserve(n->totals().reserved_at_most(), end);
        return sum;
    }
    bool settle_reservations_below(tree_node& within) const noexcept {
        if (reservations == 0) return false;
        const std::size_t before = within.totals().total();
        within.walk([](tree_node& n) {
            if (n.totals().to_come() != 0) settle_reservations(n);
        });
        return within.totals().total() != before;
    }

    // A block has returned to its pool, and its account keeps the bytes reserved. If there is no room for both, the
    // pool owes the bytes to the account: no level above counts them twice, and the next block of the account is of
    // them. Up to `missing` bytes that are reserved at and above `from`, and below `top`. `at_top`: the change of that
    // level. False: none are. Requires the lock, as the next ones.
    bool owe(tree_node& from, const tree_node& top, const tree_node& of_pool, std::size_t missing,
             tree_node::change& at_top) noexcept {
        tree_node* at = nullptr;
        for (tree_node* n = &from; n != &top; n = n->parent())
            if (n->totals().unused() != 0) at = n; // the highest one: what is above passes on the change
        if (at == nullptr) return false;
        at_top += owe(*at, &of_pool, min(missing, at->totals().unused()), &top);
        return true;
    }
    tree_node::change owe(tree_node& to, const tree_node* by, std::size_t bytes,
                          const tree_node* end = nullptr) noexcept {
        note_owed(to, by);
        return to.owe(bytes, end);
    }
    // More will be owed to an account. `by`: a pool's; null: several.
    void note_owed(tree_node& to, const tree_node* by) noexcept {
        to.owed_by_ = to.totals().owed() == 0 || to.owed_by_ == by ? by : nullptr;
        if (!std::exchange(to.is_owed_, true)) owed.add(to);
        act_at_unlock();
    }
    // Free bytes pay what is owed before they are granted: first what the pool owes at which they became free. Requests
    // that wait hear of it, since more of a pool's blocks are then for all.
    void pay_owed(const tree_node& at) noexcept {
        bool less = false;
        for (const bool all : {false, true})
            for (tree_node* n = owed.first(); n != nullptr;) {
                tree_node* const following = owed.after(*n);
                const std::size_t before = n->totals().owed();
                if (all || n->owed_by_ == &at) n->pay();
                less = less || n->totals().owed() < before;
                if (n->totals().owed() == 0) forget_owed(*n);
                n = following;
            }
        if (less) note_owed_less();
    }
    void note_owed_less() noexcept {
        look_at_all();
        note_missed([](const waiter&) { return true; });
    }
    void forget_owed(tree_node& to) noexcept {
        if (std::exchange(to.is_owed_, false)) owed.remove(to);
    }
    // An account ends: nothing is owed to it. It may be a pool's, whose pages have paid.
    void leave_owed(tree_node& a) noexcept {
        if (a.is_owed_) note_owed_less();
        forget_owed(a);
        for (tree_node* n = owed.first(); n != nullptr; n = owed.after(*n))
            if (n->owed_by_ == &a) n->owed_by_ = nullptr;
    }
    std::size_t owed_below(const tree_node& top) const noexcept {
        return owed_if([&](const tree_node& n) { return n.is_below(top); });
    }
    // Bytes that a pool owes to accounts other than `but` and those above it.
    std::size_t owed_to_others(const tree_node& by, const tree_node& but) const noexcept {
        return owed_if(
            [&](const tree_node& n) { return (n.owed_by_ == &by || n.owed_by_ == nullptr) && !but.is_below(n); });
    }
    static const tree_node* owed_by(const tree_node& to) noexcept { return to.owed_by_; }

    // What recall_some() has done.
    struct recalled {
        std::size_t bytes = 0;
        bool more = false; // other leaves may have credit
    };
    // Closes the credit of some leaves at and below `within`, until `enough` bytes are returned. Requires the lock.
    recalled recall_some(tree_node& within, std::size_t enough = SIZE_MAX) noexcept {
        recalled r;
        for (unsigned n = 0; tree_node* const leaf = within.first_with_credit(); ++n) {
            if (n == 64 || r.bytes >= enough) {
                r.more = true;
                break;
            }
            r.bytes += leaf->close_credit();
        }
        if (r.bytes != 0 && has_waiters()) look_at_all(); // for patient ones
        return r;
    }
    // Closes the credit of all leaves at and below `within`. Requires the lock, which others get between some and more.
    ALLOT_OUTLINE_WARM void recall_credit(tree_node& within) noexcept {
        while (recall_some(within).more) lock.unlock_and_relock();
        static_cast<void>(settle_reservations_below(within));
    }
    // The same below each exceeded limit at or above `from`. Requires the lock.
    void close_credits_where_exceeded(tree_node& from) noexcept {
        for (tree_node* n = &from; n != nullptr; n = n->parent())
            if (n->exceeds_limit()) recall_credit(*n);
    }

  private:
    template <class Holds> std::size_t owed_if(Holds holds) const noexcept {
        std::size_t sum = 0;
        for (const tree_node* n = owed.first(); n != nullptr; n = owed.after(*n))
            if (holds(*n)) sum += n->totals().owed();
        return sum;
    }
    static constexpr std::uint32_t exceeded = 1, one_due = 2, one_waiter = 4; // of `strain`
    static constexpr std::uint8_t watermarks = 1, queued = 2;                 // of `frees_ahead_`
    void set_strain(std::uint32_t now) noexcept { strain.store(now, std::memory_order_relaxed); }
    void set_frees_ahead(std::uint8_t what, bool now) noexcept {
        const std::uint8_t others = frees_ahead_.load(std::memory_order_relaxed) & static_cast<std::uint8_t>(~what);
        frees_ahead_.store(now ? others | what : others, std::memory_order_relaxed);
    }

    std::atomic<std::uint32_t> waiters_{0};
    std::atomic<std::uint8_t> frees_ahead_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
