// heap::per_thread: the bins that threads have of a manager, made at a thread's 32nd allocation there or later.
//
// heap/thread_cache_registry.hpp finds them, lets threads and managers end in either order, and empties the bins of all
// threads when memory is short. Cost: that of it and of row_bins.
#pragma once

#include <allot/heap/thread_cache_registry.hpp>
#include <allot/row/row_bins.hpp>
#include <allot/sync/owner_entry.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> class thread_bins : public row_bins<Set, owner_entry> {
  public:
    using row_bins<Set, owner_entry>::row_bins;

    // As thread_cache_registry::empty_all() calls them.
    owner_entry& entry() noexcept { return this->own_entry(); }
    void block_owner() noexcept {
        entry().block_owner();
        this->hide_bins();
    }
    void unblock_owner() noexcept {
        this->show_bins();
        entry().unblock_owner();
    }
};

template <class Set> using thread_rows = thread_cache_registry<row_core<Set>, thread_bins<Set>>;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
