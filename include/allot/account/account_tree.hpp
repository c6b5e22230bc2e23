// The shared state of a tree of accounts, in its root: the lock, listeners, reclaimers, requests that wait.
//
// The mutex `shape` is held while an account opens or closes, an item is added or removed, or the tree is walked; it is
// taken before the lock. All else requires the lock, but for the counts of listeners and injectors.
// Invariant: a leaf that has credit is listed at each level above (tree_node.hpp); its credit is closed when a level
// recalls it, so a recall costs what the grants since the last one cost. Cost: 256 bytes (264 in checked builds).
// Threads: any.
#pragma once

#include <allot/account/judge.hpp>
#include <allot/account/observers.hpp>
#include <allot/account/reclaimers.hpp>
#include <allot/account/tenant.hpp>
#include <allot/account/tree_lock.hpp>
#include <allot/account/tree_node.hpp>
#include <allot/account/wait_list.hpp>
#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class account_peak;

namespace detail {

// A request that waits in another tree, and ends when its account is closed.
struct closing_watch {
    static constexpr std::uint32_t closed = 4; // a signal, beside the waiter's and that of a cancellation
    explicit closing_watch(sys::parking& where) noexcept : spot(where) {}
    sys::parking& spot;
    list_hook<closing_watch> place;
};

struct account_node;                                                          // account_node.hpp
std::size_t used(const account_node& a) noexcept;                             // account_numbers.hpp
std::size_t return_idle_below(const account_node& root, bool waits) noexcept; // account_charge.hpp

// The root, as a tenant of its arbiter: what is idle below it.
struct root_tenant final : tenant {
    explicit root_tenant(account_node& a) noexcept : tenant(""), root(a) {}
    std::size_t held() const noexcept override { return used(root); }
    std::size_t return_idle(std::size_t, bool waits) noexcept override { return return_idle_below(root, waits); }
    account_node& root;
};

struct account_tree {
    tree_lock lock;
    detail::observers observers;
    std::atomic<std::uint32_t> injectors{0}; // that the judge asks before charges; no leaf has credit meanwhile
    std::atomic<bool> was_exceeded{false};   // a limit was, once: by a forced charge, in grace, or since it was lowered
    std::uint32_t waiting = 0;               // requests that wait until held bytes are confirmed or cancelled
    account_node* drained = nullptr;         // accounts to end after the unlock
    account_peak* peak_copy = nullptr;
    sys::mutex shape{lock_rank::tree_shape};
    ALLOT_NO_UNIQUE_ADDRESS detail::reclaimers reclaimers; // the mutex guards their list
    bool acts_at_unlock = false; // a copy of the peak is kept, accounts have drained, or requests wait, or:
    bool reports_frees = false;  // the judge sees refunds, since it rolled a thread back
    wait_list waiters;
    intrusive_list<closing_watch, &closing_watch::place> watches;
    judged_by judged;
    root_tenant as_tenant;

    explicit account_tree(account_node& top) noexcept : as_tenant(top) {}
    account_node& root() const noexcept { return as_tenant.root; }
    bool has_injectors() const noexcept { return injectors.load(std::memory_order_relaxed) != 0; }

    // Accounts have been closed, or a limit is lower: requests that wait look whether that ends their wait. Requires
    // the lock.
    void announce_end() noexcept {
        waiters.announce_end();
        for (closing_watch* w = watches.first(); w != nullptr; w = watches.after(*w)) w->spot.signal(w->closed);
    }

    // What recall_some() has done.
    struct recalled {
        std::size_t bytes = 0;
        bool more = false; // other leaves may have credit
    };
    // Closes the credit of some leaves at and below `within`. Requires the lock.
    static recalled recall_some(tree_node& within) noexcept {
        recalled r;
        for (unsigned n = 0; tree_node* const leaf = within.first_with_credit(); ++n) {
            if (n == 64) return r.more = true, r;
            r.bytes += leaf->close_credit();
        }
        return r;
    }
    // Closes the credit of all leaves at and below `within`. Requires the lock, which others get between some and more.
    void recall_credit(tree_node& within) noexcept {
        while (recall_some(within).more) lock.unlock_and_relock();
    }
    // The same below each exceeded limit at or above `from`. Requires the lock.
    void close_credits_where_exceeded(tree_node& from) noexcept {
        for (tree_node* n = &from; n != nullptr; n = n->parent())
            if (n->exceeds_limit()) recall_credit(*n);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
