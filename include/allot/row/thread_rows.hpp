// heap::per_thread: the bins that threads have of a manager, made at a thread's 32nd allocation there or later.
//
// sync/thread_cache_registry.hpp finds them, lets threads and managers end in either order, and empties the bins of all
// threads when memory is short. Cost: that of it and of row_bins.
#pragma once

#include <allot/row/row_bins.hpp>
#include <allot/sync/thread_cache_registry.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> class thread_bins : public row_bins<Set, thread_cache_base> {
  public:
    explicit thread_bins(row_core<Set>& core) noexcept : row_bins<Set, thread_cache_base>(core) {
        this->set_up();
        this->make_table(); // without it, requests go past the caches
    }

    // As thread_cache_registry::empty_all() calls them.
    void block_owner() noexcept {
        thread_cache_base::block_owner();
        this->hide_bins();
    }
    void unblock_owner() noexcept {
        this->show_bins();
        thread_cache_base::unblock_owner();
    }
};

template <class Set> using thread_rows = thread_cache_registry<row_core<Set>, thread_bins<Set>>;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
