// One account's place in its tree, and the requests' two phases: check every level, then change every level.
//
//     check_levels()   from the account up to the root: changes nothing, finds the level that limits the request
//     grant()          from the account up to the root: adds the bytes
//
// Both run under one hold of the tree's lock. So no other request, and no peak, ever sees a request that failed.
// Invariant: total = granted + the subtree charges of the children. Complexity: O(depth) per climb. Cost: 272 bytes.
// Threads: the holder of the tree's lock, unless a function says otherwise; a change of shape also requires the mutex.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/sync/mpsc_stack.hpp>
#include <allot/tree/account_status.hpp>
#include <allot/tree/leaf_credit.hpp>
#include <allot/tree/level_totals.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {

struct account_tree; // account_tree.hpp

class tree_node {
  public:
    using change = level_totals::change;
    // The result of check_levels(): the level that limits a request, if any.
    struct limit_check {
        charge_outcome outcome = charge_outcome::fits;
        bool overflows = false; // the sum here would exceed max_charged: refused even by force
        tree_node* at = nullptr;
        std::size_t used = 0, limit = 0; // of `at`, before the request
        std::size_t more = 0;            // bytes that `at` refuses

        bool fitted() const noexcept { return outcome == charge_outcome::fits; }
        bool charged() const noexcept { return is_charged(outcome); }
        // True: the request would fit without the held bytes.
        bool only_held_bytes_prevent() const noexcept {
            return !overflows && at->totals_.only_held_bytes_prevent(more);
        }
    };

    tree_node(const char* name, account_tree& tree, tree_node* parent, std::size_t limit, std::size_t watermark,
              std::size_t step) noexcept
        : credit_(step), totals_(limit, watermark), tree_(&tree), parent_(parent), name_(name),
          detached_(parent != nullptr) {}
    tree_node(const tree_node&) = delete;
    tree_node& operator=(const tree_node&) = delete;

    // Any thread.
    const char* name() const noexcept { return name_; }
    account_tree& tree() const noexcept { return *tree_; }
    leaf_credit& credit() noexcept { return credit_; }
    const leaf_credit& credit() const noexcept { return credit_; }
    wait_queue& waits() noexcept { return waits_; }
    const wait_queue& waits() const noexcept { return waits_; }
    level_totals& totals() noexcept { return totals_; }
    const level_totals& totals() const noexcept { return totals_; }

    // ---- statistics ------------------------------------------------------------------------------------------

    tree_node* parent() const noexcept { return parent_; }
    std::uint32_t depth() const noexcept { return depth_; }
    std::size_t used() const noexcept { return totals_.total() - credit_.unused(); }
    std::size_t peak() const noexcept { return totals_.peak(credit_.word().low_water()); }
    std::size_t headroom() const noexcept;
    account_stats stats() const noexcept;
    // Own bytes that are confirmed: without those of children.
    std::size_t confirmed_own() const noexcept;

    bool is_below(const tree_node& other) const noexcept;        // or equal
    tree_node& common_ancestor(const tree_node& other) noexcept; // the lowest
    bool has_children() const noexcept { return !below_.empty(); }
    // The first node from here upwards whose limit is exceeded; null if none.
    static const tree_node* first_over_limit(const tree_node* from) noexcept;
    bool exceeds_limit() const noexcept { return used() > totals_.limit(); }
    void set_limit(std::size_t bytes) noexcept {
        totals_.set_limit(bytes);
        lowered_ = exceeds_limit();
    }
    // Whether a leaf may have credit: no listener, no exceeded limit, no request that recalls it and no bytes to come
    // that its refunds would settle, here and above.
    bool may_hold_credit() const noexcept;

    // Stored objects of its bytes have left for their home. Any thread.
    void count_spilled(std::size_t bytes) noexcept {
        for (tree_node* n = this; n != nullptr; n = n->parent_) n->totals_.count_spilled(bytes);
    }

    // ---- check -----------------------------------------------------------------------------------------------

    // Checks whether the total of `from` may grow by `more`, and the levels above accordingly, up to and without `end`.
    static limit_check check_levels(tree_node* from, std::size_t more, const tree_node* end = nullptr) noexcept;
    // Whether a total above this node, up to and without `end`, would exceed max_charged if this one grew by `more`.
    bool overflows_above(std::size_t more, const tree_node* end) const noexcept {
        const tree_node* n = this;
        while (n != end && more <= max_charged - n->totals_.total()) {
            more = n->totals_.subtree_charge_with(more) - n->totals_.subtree_charge();
            n = n->parent_;
        }
        return n != end;
    }
    // Whether the bytes alone would be granted here and above.
    bool can_ever_fit(std::size_t bytes) const noexcept {
        const tree_node* n = this;
        while (n != nullptr && n->totals_.can_ever_fit(bytes)) n = n->parent_;
        return n == nullptr;
    }
    // By how much the subtree charge at `end` would change if this node's own bytes grew (`more`) or shrank by `bytes`.
    std::size_t subtree_charge_change(const tree_node& end, std::size_t bytes, bool more) const noexcept;

    // ---- commit ----------------------------------------------------------------------------------------------

    // Grows the grant by `more` on every level, and charges or holds `bytes` of it. `open`: the rest stays as credit.
    // False: a charge or refund changed the credit meanwhile, so nothing is granted.
    bool grant(credit_word from, std::size_t more, std::size_t bytes, bool held, bool open) noexcept;
    // Takes charged bytes off every level. More than was charged is reported, and only what was charged is taken off.
    void refund(std::size_t bytes) noexcept;
    // Takes unused credit off every level: all of it, or what exceeds whole steps. Returns bytes.
    std::size_t take_back(bool all, bool open) noexcept;
    // Takes all of it, and closes the credit until the account is granted more. Returns bytes.
    std::size_t close_credit() noexcept { return take_back(true, false); }
    // The first node at and below this one that may have credit; null if none. Complexity: O(depth).
    tree_node* first_with_credit() noexcept {
        tree_node* n = this;
        while (n != nullptr && !n->listed_) n = n->creditors_.first();
        return n;
    }
    // After a refund: keeps whole steps in an open credit, nothing in a closed one.
    void settle() noexcept {
        if (const credit_word w = credit_.word(); w.credit() != 0) take_back(!w.open(), w.open());
    }
    void confirm(std::size_t bytes) noexcept; // held bytes are in use
    void cancel(std::size_t bytes) noexcept;  // held bytes are refunded
    // Each returns the change for `end`.
    change reserve(std::size_t bytes, const tree_node* end = nullptr, std::size_t owed = 0) noexcept {
        return climb(parent_, totals_.reserve(bytes, owed), end);
    }
    // `bytes` of the unused reserved bytes are owed: the parent does not count them.
    change owe(std::size_t bytes, const tree_node* end = nullptr) noexcept {
        return climb(parent_, totals_.owe(bytes), end);
    }
    // The levels above count owed bytes again, as far as they have room.
    void pay() noexcept {
        std::size_t bytes = totals_.owed();
        while (bytes != 0) {
            const std::size_t more = totals_.subtree_charge_paid(bytes) - totals_.subtree_charge();
            const limit_check found = check_levels(parent_, more);
            if (found.fitted()) return static_cast<void>(climb(parent_, totals_.pay(bytes)));
            const std::size_t room = found.at->totals_.room(), fewer = found.more - (found.more > room ? room : 0);
            bytes -= fewer < bytes ? fewer : bytes;
        }
    }
    void count_listener(bool added) noexcept { listeners_ += added ? 1 : UINT32_MAX; }
    // Changes own bytes, on every level below `end`; returns the change for `end`.
    change move_own(std::ptrdiff_t by, const tree_node& end) noexcept;
    // Adds a change of a child's subtree charge to each level, up to and without `end`; returns the change for `end`.
    static change climb(tree_node* from, change by, const tree_node* end = nullptr) noexcept;

    // ---- shape: also requires the tree's mutex ---------------------------------------------------------------

    // Requires a parent.
    void attach() noexcept;
    // Returns the subtree charge to the parent, which gets the children. Requires a parent, and that no account from
    // here downwards can have credit any more.
    void detach() noexcept;
    // Visits this node and all below, parents first. Does not require the lock.
    template <class Visit> void walk(Visit visit) const { walk_from(*this, visit); }
    template <class Visit> void walk(Visit visit) { walk_from(*this, visit); }
    template <class Visit> void each_child(Visit visit) const {
        for (const tree_node* c = below_.first(); c != nullptr; c = below_.after(*c)) visit(*c);
    }
    // Checks the numbers and links of this node and all below.
    bool valid() const noexcept;

  private:
    friend class tree_lock;     // deferred refunds
    friend struct account_tree; // what is owed

    bool leads_to_credit() const noexcept { return listed_ || !creditors_.empty(); }
    void list_credit() noexcept;
    void unlist_credit() noexcept;
    std::size_t begin_change() noexcept;
    std::size_t at_most_held(std::size_t bytes) const noexcept;
    template <class Node, class Visit> static void walk_from(Node& top, Visit& visit) {
        for (Node* n = &top; n != nullptr; n = next_in(top, n)) visit(*n);
    }
    // The node that a walk of `top` visits after `n`; null if none. Takes no stack, at any depth.
    static tree_node* next_in(const tree_node& top, const tree_node* n) noexcept {
        if (tree_node* const child = n->below_.first()) return child;
        for (; n != &top; n = n->parent_)
            if (tree_node* const next = n->parent_->below_.after(*n)) return next;
        return nullptr;
    }
    bool is_sound() const noexcept;
    void report_over_refunded() const noexcept {
        if (!detached_) report_misuse({.kind = misuse::over_refunded, .heap = name_}); // else close() has reported it
    }

    ALLOT_NO_UNIQUE_ADDRESS leaf_credit credit_;
    level_totals totals_;
    account_tree* const tree_;
    tree_node* parent_;
    std::atomic<tree_node*> next_deferred_{nullptr}; // in the lock's list
    list_hook<tree_node> creditor_;                  // in the parent's creditors_, if it leads to credit

    const char* name_;
    list_hook<tree_node> sibling_;
    list_hook<tree_node> owed_place_;    // in the tree's list of those that are owed bytes
    const tree_node* owed_by_ = nullptr; // a pool's; null: several
    intrusive_list<tree_node, &tree_node::sibling_> below_;
    intrusive_list<tree_node, &tree_node::creditor_> creditors_; // of below_: those that lead to credit
    wait_queue waits_;
    std::uint32_t depth_ = 0, children_ = 0;
    std::uint32_t listeners_ = 0; // that were added here
    std::atomic<bool> has_deferred_{false};
    bool listed_ = false;  // may have credit: from a grant until it is closed
    bool lowered_ = false; // the limit was set below what was used
    bool is_owed_ = false; // in the tree's list, and at most until the next unlock if nothing is owed any more
    bool detached_;        // not, or no longer, a child of its parent: late refunds are ignored

  public:
    using deferred_nodes = mpsc_stack<tree_node, &tree_node::next_deferred_>;
    using owed_nodes = intrusive_list<tree_node, &tree_node::owed_place_>;
};

// ---- statistics --------------------------------------------------------------------------------------------------

inline bool tree_node::is_below(const tree_node& other) const noexcept {
    const tree_node* n = this;
    while (n->depth_ > other.depth_) n = n->parent_;
    return n == &other;
}
inline tree_node& tree_node::common_ancestor(const tree_node& other) noexcept {
    tree_node* n = this;
    while (!other.is_below(*n)) n = n->parent_;
    return *n;
}
inline const tree_node* tree_node::first_over_limit(const tree_node* n) noexcept {
    while (n != nullptr && !n->exceeds_limit()) n = n->parent_;
    return n;
}
inline bool tree_node::may_hold_credit() const noexcept {
    for (const tree_node* n = this; n != nullptr; n = n->parent_)
        if (n->listeners_ != 0 || n->waits_.recalls_credit() || n->totals_.to_come() != 0 || n->exceeds_limit())
            return false;
    return true;
}
inline std::size_t tree_node::headroom() const noexcept {
    std::size_t most = max_charged, unused = 0; // of reservations below `n`: a charge within them does not climb
    for (const tree_node* n = this; n != nullptr; n = n->parent_) {
        const level_totals& t = n->totals_;
        const std::size_t bound = t.limit() < max_charged ? t.limit() : max_charged,
                          here = bound > t.total() ? bound - t.total() : 0;
        if (here < most && here + unused < most) most = here + unused;
        unused += t.unused();
    }
    return most + credit_.unused();
}
inline std::size_t tree_node::confirmed_own() const noexcept {
    std::size_t own = totals_.confirmed();
    each_child([&](const tree_node& c) { own -= c.totals_.confirmed_subtree_charge(); });
    return own;
}
inline account_stats tree_node::stats() const noexcept {
    account_stats f = totals_.stats();
    f.peak = peak();
    f.name = name_;
    f.used = used();
    f.own = credit_.charged();
    f.credit = credit_.unused();
    f.depth = depth_;
    f.children = children_;
    f.lowered = lowered_;
    return f;
}

// ---- check -------------------------------------------------------------------------------------------------------

inline tree_node::limit_check tree_node::check_levels(tree_node* from, std::size_t more,
                                                      const tree_node* end) noexcept {
    for (tree_node* n = from; n != end && more != 0; n = n->parent_) {
        const level_totals& here = n->totals_;
        if (ALLOT_UNLIKELY(!here.fits(more)))
            return {charge_outcome::over_limit, here.overflows(more), n, n->used(), here.limit(), more};
        more = n->totals_.subtree_charge_with(more) - n->totals_.subtree_charge();
    }
    return {};
}
inline std::size_t tree_node::subtree_charge_change(const tree_node& end, std::size_t bytes, bool more) const noexcept {
    for (const tree_node* n = this; n != &end; n = n->parent_) {
        const std::size_t now = n->totals_.subtree_charge(), then = more ? n->totals_.subtree_charge_with(bytes)
                                                                         : n->totals_.subtree_charge_without(bytes);
        bytes = more ? then - now : now - then;
    }
    return bytes;
}

// ---- commit ------------------------------------------------------------------------------------------------------

// Notes the peak before a change. Returns the credit, for note_peak() after it: later refunds deferred into a closed
// credit do not show in its low water.
inline std::size_t tree_node::begin_change() noexcept {
    const credit_word was = credit_.reset_low_water();
    totals_.note_peak(was.low_water());
    return was.credit();
}
inline tree_node::change tree_node::climb(tree_node* from, change by, const tree_node* end) noexcept {
    for (tree_node* n = from; n != end && (by.all != 0 || by.confirmed != 0); n = n->parent_) {
        const std::size_t credit = n->begin_change();
        by = n->totals_.add(by);
        n->totals_.note_peak(credit);
    }
    return by;
}
inline bool tree_node::grant(credit_word from, std::size_t more, std::size_t bytes, bool held, bool open) noexcept {
    if (!credit_.grow(from, more, bytes, open)) return false; // first: it alone can fail
    totals_.note_peak(from.low_water());                      // the highest use until now; further down, that of now
    const auto by = static_cast<std::ptrdiff_t>(more);
    const change above = totals_.add({by, held ? by - static_cast<std::ptrdiff_t>(bytes) : by});
    totals_.note_peak(from.credit() + more - bytes);
    climb(parent_, above);
    if (open) credit_.open(), list_credit();
    return true;
}
inline void tree_node::list_credit() noexcept {
    bool listed = leads_to_credit();
    listed_ = true;
    for (tree_node* n = this; !listed && n->parent_ != nullptr; n = n->parent_) {
        listed = n->parent_->leads_to_credit();
        n->parent_->creditors_.add(*n);
    }
}
inline void tree_node::unlist_credit() noexcept {
    if (!listed_) return;
    listed_ = false;
    for (tree_node* n = this; !n->leads_to_credit() && n->parent_ != nullptr; n = n->parent_)
        n->parent_->creditors_.remove(*n);
}
inline void tree_node::refund(std::size_t bytes) noexcept {
    if (ALLOT_UNLIKELY(bytes > credit_.charged())) {
        report_over_refunded();
        bytes = credit_.charged();
    }
    begin_change();
    credit_.shrink(bytes);
    climb(parent_, totals_.take_off(bytes));
}
inline std::size_t tree_node::take_back(bool all, bool open) noexcept {
    if (all && !open) unlist_credit();
    const leaf_credit::returned r = credit_.take_back(all, open);
    if (ALLOT_UNLIKELY(r.over_refunded)) report_over_refunded();
    if (!r.changed) return 0;
    totals_.note_peak(r.before.low_water());
    climb(parent_, totals_.take_off(r.bytes));
    return r.bytes;
}
// Clamps to what is held, which is 0 after the account's end.
inline std::size_t tree_node::at_most_held(std::size_t bytes) const noexcept {
    if (ALLOT_LIKELY(bytes <= totals_.held())) return bytes;
    report_over_refunded();
    return totals_.held();
}
inline void tree_node::confirm(std::size_t bytes) noexcept {
    bytes = at_most_held(totals_.still_held(bytes));
    const std::size_t credit = begin_change();
    const change above = totals_.add({0, static_cast<std::ptrdiff_t>(bytes)});
    totals_.note_peak(credit);
    climb(parent_, above);
}
inline void tree_node::cancel(std::size_t bytes) noexcept {
    bytes = at_most_held(bytes);
    begin_change();
    credit_.shrink(bytes);
    climb(parent_, totals_.add({-static_cast<std::ptrdiff_t>(bytes), 0}));
}
inline tree_node::change tree_node::move_own(std::ptrdiff_t by, const tree_node& end) noexcept {
    begin_change();
    credit_.shrink(0 - static_cast<std::size_t>(by));
    if (this == &end) return {by, by};
    const std::size_t credit = begin_change();
    const change above = by < 0 ? totals_.take_off(0 - static_cast<std::size_t>(by)) : totals_.add({by, by});
    totals_.note_peak(credit);
    return climb(parent_, above, &end);
}

// ---- shape -------------------------------------------------------------------------------------------------------

inline void tree_node::attach() noexcept {
    depth_ = parent_->depth_ + 1;
    parent_->below_.add(*this);
    ++parent_->children_;
    detached_ = false;
}
inline void tree_node::detach() noexcept {
    change with = totals_.end();
    for (tree_node* c = below_.first(); c != nullptr;) {
        tree_node* const following = below_.after(*c);
        with.all += static_cast<std::ptrdiff_t>(c->totals_.subtree_charge()),
            with.confirmed += static_cast<std::ptrdiff_t>(c->totals_.confirmed_subtree_charge());
        parent_->below_.add(*c);
        ++parent_->children_;
        c->parent_ = parent_;
        c->walk([](tree_node& n) { --n.depth_; });
        c = following;
    }
    below_.clear();
    climb(parent_, with);
    credit_.shrink(credit_.granted());
    children_ = 0;
    parent_->below_.remove(*this);
    --parent_->children_;
    detached_ = true;
}
inline bool tree_node::valid() const noexcept {
    for (const tree_node* n = this; n != nullptr; n = next_in(*this, n))
        if (!n->is_sound()) return false; // its links are not followed
    return true;
}
// The numbers of this node, and the links to its children.
inline bool tree_node::is_sound() const noexcept {
    std::size_t subtree_charges = 0, confirmed_charges = 0, n = 0, creditors = 0;
    for (const tree_node* c = below_.first(); c != nullptr; c = below_.after(*c), ++n) {
        if (c->parent_ != this || c->depth_ != depth_ + 1 || c->tree_ != tree_) return false;
        creditors += c->leads_to_credit();
        subtree_charges += c->totals_.subtree_charge();
        confirmed_charges += c->totals_.confirmed_subtree_charge();
    }
    for (const tree_node* c = creditors_.first(); c != nullptr; c = creditors_.after(*c)) --creditors;
    return n == children_ && creditors == 0 && creditors_.valid() && below_.valid() && totals_.valid() &&
           credit_.valid() && totals_.total() == credit_.granted() + subtree_charges &&
           (subtree_charges == confirmed_charges || totals_.held() != 0);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
