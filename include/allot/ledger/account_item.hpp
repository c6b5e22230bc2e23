// An item: names an owner of bytes charged to an account, in reports of the tree and of leaks; and returns those that
// it does not use, when a request of the tree is short.
//
//     struct my_pool : allot::account_item {
//         my_pool() : account_item("pool", "orders", &stats_of_pool, &return_idle) {} // static_cast<const
//         my_pool&>(item)
//     };
//     account.add(pool);
//
// Invariant: an item is in at most one account's list, and in none when it or the account ends.
// Cost: 80 bytes; adding or removing takes the tree's mutex and lock. Count short-lived objects instead
// (account::count). Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {
class tree_node;
class idle_items;
} // namespace detail

/// Statistics of an item, in bytes; 0 if unknown.
struct item_stats {
    std::size_t charged = 0;
    std::size_t committed = 0; // promised by the system
    std::size_t resident = 0;  // in memory now
};

/// An entry of an account's list of owners; add it by account::add.
/// Requires: removed before it or the account ends.
class account_item {
  public:
    using stats_source = item_stats (*)(const account_item&) noexcept;
    /// Refunds bytes that the owner does not use, and returns their number. Called on a thread that is short of them,
    /// with no lock of the library held; several threads may call it at once.
    /// Requires: it charges nothing, and waits for no lock that is held while a charge is made.
    using idle_source = std::size_t (*)(const account_item&) noexcept;

    /// Requires: the texts outlive the item. `source`, if not null, must not charge, add or remove anything: it is
    /// called with the tree's mutex held. `idle`: null if it has no bytes that it does not use.
    account_item(const char* kind, const char* name, stats_source source, idle_source idle = nullptr) noexcept
        : kind_(kind), name_(name), source_(source), idle_(idle) {}
    account_item(const account_item&) = delete;
    account_item& operator=(const account_item&) = delete;

    const char* kind() const noexcept { return kind_; } // "pool", "row manager"
    const char* name() const noexcept { return name_; }
    item_stats stats() const noexcept { return source_ != nullptr ? source_(*this) : item_stats{}; }

    list_hook<account_item> place; // in the account's list

  private:
    friend class detail::idle_items;

    const char* kind_;
    const char* name_;
    stats_source source_;
    idle_source idle_;
    list_hook<account_item> in_tree_;         // among the tree's idle_items
    const detail::tree_node* home_ = nullptr; // the account that it was added to
    std::uint32_t calls_ = 0;                 // of idle_ that run now
    bool leaving_ = false;                    // no call begins any more
};

using account_items = intrusive_list<account_item, &account_item::place>;

/// Objects that are too short-lived for a list, and are counted instead.
enum class counted : unsigned char { buffers, buffer_reservations };

} // namespace allot::inline ALLOT_ABI
