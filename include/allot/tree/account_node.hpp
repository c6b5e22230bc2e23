// One account of a tree, behind its face (account.hpp): its numbers and place, its life, its items and its log. The
// parts that charge, transfer, wait, open and close work on it: each is a header of functions.
//
// Invariant: `face` outlives it. Cost: 768 bytes. Threads: see each member; those of tree_node
// as it says.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/min_max.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/tree/account_arguments.hpp>
#include <allot/tree/account_item.hpp>
#include <allot/tree/account_lifetime.hpp>
#include <allot/tree/account_log.hpp>
#include <allot/tree/account_status.hpp>
#include <allot/tree/account_tree.hpp>
#include <allot/tree/tree_node.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {

class account;

namespace detail {

// The object whose pages an account is charged for. Its functions are called with the lock.
struct charged_object {
    // Bytes that are charged there, and that the object does not use, as far as it knows.
    virtual std::size_t unused_bytes() const noexcept { return 0; }
    // Whether an account at or below this one pays parts of what is charged there (ledger/split.hpp).
    virtual bool is_paid_below(const tree_node& at) const noexcept { return static_cast<void>(at), false; }

  protected:
    ~charged_object() = default;
};

struct alignas(64) account_node final : tree_node {
    ALLOT_OUTLINE_WARM account_node(account& a, account_node* above, const account_arguments& requested) noexcept
        : tree_node(requested.name, above != nullptr ? above->tree() : own_tree, above, requested.limit,
                    requested.watermark, requested.has_valid_step() ? requested.step : 0),
          leaks(requested.leaks), face(a) {}

    static account_node& of(tree_node& n) noexcept { return static_cast<account_node&>(n); }
    static const account_node& of(const tree_node& n) noexcept { return static_cast<const account_node&>(n); }

    // Any thread.
    account_node& root() const noexcept { return tree().root(); }
    sys::mutex& shape() const noexcept { return tree().shape; }
    bool is_open() const noexcept { return life.accepts_charges(); }
    account_log* log() const noexcept { return log_at.load(std::memory_order_acquire); }
    // Requires the lock.
    account_node* above() const noexcept { return static_cast<account_node*>(parent()); }
    bool may_take_credit() const noexcept {
        return credit().has_step() && is_open() && log() == nullptr && tree().peak_copy == nullptr &&
               !tree().has_injectors() && may_hold_credit();
    }

    // Whether bytes that are charged to it are charged there or below, at least in part.
    bool is_charged_below(const tree_node& at) const noexcept {
        return is_below(at) || (object != nullptr && object->is_paid_below(at));
    }

    // Charged bytes here and below without what objects do not use. Requires the lock.
    std::size_t in_use() const noexcept {
        std::size_t unused_bytes = 0;
        walk([&](const tree_node& n) {
            if (of(n).object != nullptr) unused_bytes += of(n).object->unused_bytes();
        });
        return used() - min(used(), unused_bytes);
    }
    // A status that names this account as what refused.
    charge_status status(charge_outcome outcome, std::size_t requested, std::size_t used,
                         std::size_t limit) const noexcept {
        return {outcome, {}, refuser::account, 0, &face, requested, used, limit, name()};
    }
    charge_status refused(charge_outcome why, std::size_t requested) const noexcept {
        return status(why, requested, used(), totals().limit());
    }
    static charge_status status_of(const limit_check& found, std::size_t requested) noexcept {
        if (found.fitted()) return {};
        return of(*found.at).status(found.outcome, requested, found.used, found.limit);
    }

    account_lifetime life;
    std::atomic<account_log*> log_at{nullptr};
    account_items items; // requires the tree's mutex
    charge_status refusal;
    leak_sink leaks;
    account& face;
    const charged_object* object = nullptr;   // written with the lock; read with it, or by who is charged here
    alignas(64) account_tree own_tree{*this}; // of a root
};

// The node of an account: account.hpp.
account_node& node_of(account& a) noexcept;
const account_node& node_of(const account& a) noexcept;

// Holds the tree's lock, for who reads, or changes nothing that others wait for; else tree_change.hpp.
class locked_tree {
  public:
    ALLOT_ALWAYS_INLINE explicit locked_tree(const account_node& a) noexcept : tree(a.tree()) { tree.lock.lock(); }
    locked_tree(const locked_tree&) = delete;
    locked_tree& operator=(const locked_tree&) = delete;
    ALLOT_ALWAYS_INLINE ~locked_tree() { tree.lock.unlock(); }

    account_tree& tree;
};

ALLOT_COLD inline charge_status refused_closed(const account_node& a, std::size_t requested) noexcept {
    if (a.refusal.outcome != charge_outcome::closed)
        return a.life.closed_by()->refused(charge_outcome::closed, requested);
    charge_status never_opened = a.refusal; // names the account that was closed then
    never_opened.requested = requested;
    return never_opened;
}
// The status of a charge that a closed account refuses; fits while the account is open.
inline charge_status why_closed(const account_node& a, std::size_t bytes) noexcept {
    const locked_tree scope(a);
    return a.is_open() ? charge_status{} : refused_closed(a, bytes);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
