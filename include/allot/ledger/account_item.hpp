// An owner of bytes that are charged to an account: its place in the account's list, for reports of the tree and of
// leaks.
//
//     struct my_pool { allot::account_item item{"pool", "orders", &tell}; ... };   account.add(pool.item);
//
// Invariant: an item is in at most one account's list, and in none when it or the account ends. Cost: 48 bytes an item;
// a short lock of the tree to add or remove one. Objects that come and go by the million are counted instead
// (account::count). Threads: any. `source` is called with the tree's mutex held: it must not charge, add or remove.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// In bytes; 0 if unknown.
struct item_stats {
    std::size_t charged = 0;
    std::size_t committed = 0; // promised by the system
    std::size_t resident = 0;  // in memory now
};

class account_item {
  public:
    using stats_source = item_stats (*)(const account_item&) noexcept;

    // The texts must outlive the item.
    account_item(const char* kind, const char* name, stats_source source) noexcept
        : kind_(kind), name_(name), source_(source) {}
    account_item(const account_item&) = delete;
    account_item& operator=(const account_item&) = delete;

    const char* kind() const noexcept { return kind_; } // "buffer", "row manager"
    const char* name() const noexcept { return name_; }
    item_stats stats() const noexcept { return source_ != nullptr ? source_(*this) : item_stats{}; }

    list_place<account_item> place; // the account's

  private:
    const char* kind_;
    const char* name_;
    stats_source source_;
};

using account_items = intrusive_list<account_item, &account_item::place>;

/// Objects that come and go too often for a list.
enum class counted : unsigned char { buffers, reservations };

} // namespace allot::inline ALLOT_ABI
