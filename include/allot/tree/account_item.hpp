// An item: names an owner of bytes charged to an account, in reports of the tree and of leaks.
//
//     struct my_pool { allot::account_item item{"pool", "orders", &stats_of_pool}; ... };   account.add(pool.item);
//
// Invariant: an item is in at most one account's list, and in none when it or the account ends.
// Cost: 40 bytes; adding or removing takes the tree's mutex and lock. Count short-lived objects instead
// (account::count). Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/units.hpp>
#include <allot/request/tenant.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// An entry of an account's list of owners; add it by account::add.
/// Requires: removed before it or the account ends.
class account_item {
  public:
    using stats_source = item_stats (*)(const account_item&) noexcept;

    /// Requires: the texts outlive the item. `source`, if not null, must not charge, add or remove anything: it is
    /// called with the tree's mutex held.
    account_item(const char* kind, const char* name, stats_source source) noexcept
        : kind_(kind), name_(detail::text_or_empty(name)), source_(source) {}
    account_item(const account_item&) = delete;
    account_item& operator=(const account_item&) = delete;

    const char* kind() const noexcept { return kind_; } // "pool", "row manager"
    const char* name() const noexcept { return name_; }
    item_stats stats() const noexcept { return source_ != nullptr ? source_(*this) : item_stats{}; }

    detail::list_hook<account_item> place; // in the account's list

  private:
    const char* kind_;
    const char* name_;
    stats_source source_;
};

namespace detail {

using account_items = intrusive_list<account_item, &account_item::place>;

} // namespace detail

/// Objects that are too short-lived for a list, and are counted instead.
enum class counted : unsigned char { buffers };

} // namespace allot::inline ALLOT_ABI
