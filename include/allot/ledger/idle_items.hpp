// The items of a tree of accounts that may hold memory they do not use: asked for it when a request is refused.
//
// An item is called with the tree's mutex released, and is not removed while a call of it runs.
// Invariant: an item is in the list from add() to remove(). Cost: 8 bytes in the root; one step per item and refused
// request. Threads: any; see each function. Source: HPCC's empty pages of other managers, 2010, which nobody returns.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/ledger/account_item.hpp>
#include <allot/ledger/tree_node.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

class idle_items {
  public:
    // Requires the mutex, as remove().
    void add(account_item& item, const tree_node& home) noexcept {
        if (item.idle_ == nullptr) return;
        item.home_ = &home;
        item.leaving_ = false;
        all_.add(item);
    }
    // False: a call of it runs; release the mutex and retry.
    bool remove(account_item& item) noexcept {
        if (item.idle_ == nullptr) return true;
        item.leaving_ = true;
        if (item.calls_ != 0) return false;
        all_.remove(item);
        return true;
    }
    // Makes a request that was refused at and below `level` again, after it called the items there, except `but`; until
    // it is granted, or they return nothing. Requires that the thread holds no lock.
    template <class Request>
    bool serve(const tree_node& level, const account_item* but, sys::mutex& mutex, Request request) noexcept {
        for (unsigned turn = 0; turn != max_turns; ++turn) {
            const answer got = ask(level, but, mutex);
            if (got.items == 0) return false;
            if (request()) return true;
            if (got.bytes == 0) return false;
        }
        return false;
    }

  private:
    static constexpr unsigned max_turns = 8; // others may take what was returned, and not use it either

    struct answer {
        std::size_t items = 0, bytes = 0;
    };
    answer ask(const tree_node& level, const account_item* but, sys::mutex& mutex) noexcept {
        check_no_lock_is_held("asks for memory that others do not use");
        answer got;
        mutex.lock();
        for (account_item* i = all_.first(); i != nullptr;) {
            account_item& it = *i;
            if (&it != but && !it.leaving_ && it.home_->is_below(level)) {
                ++it.calls_;
                mutex.unlock();
                got.bytes += it.idle_(it);
                ++got.items;
                mutex.lock();
                --it.calls_;
            }
            i = all_.after(it);
        }
        mutex.unlock();
        return got;
    }

    intrusive_list<account_item, &account_item::in_tree_> all_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
