// local_rows: one thread's handle of a row manager. It has a cache of free slots for each size class that it has used.
//
// Cost: 100 bytes and 2 KiB, and 640 bytes per size class in use (row_bins). No atomic
// read-modify-write until a cache is empty or full.
// Threads: one. Source: thread caches, Bonwick and Adams 2001; tcmalloc 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/living_handles.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_bins.hpp>
#include <allot/row/row_calls.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/thread_check.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// A handle of one thread for rows of any size, from row_manager::local(). Its rows may be released by any thread; rows
/// of other handles that it releases go into its caches.
/// Requires: destroyed before the manager; used by one thread, others are reported as misuse in checked builds.
template <class Set>
class local_rows : public row_calls<local_rows<Set>, detail::row_policies<Set>, std::size_t, const row_type&> {
  public:
    explicit local_rows(row_manager<Set>& owner) noexcept
        : core_(detail::row_access::core(owner)), bins_(core_), living_(core_.handles()) {}
    local_rows(const local_rows&) = delete;
    local_rows& operator=(const local_rows&) = delete;

    /// Calls close().
    ~local_rows() { close(); }

    /// Returns all cached free slots to their heaps. It may ask for reservations that wait for them, as no release
    /// does.
    void flush() noexcept { bins_.flush(), core_.pages().settled(); }
    /// The same, and frees the caches. The handle creates them again when it is used.
    void close() noexcept { bins_.close(), core_.pages().settled(); }

  private:
    friend row_calls<local_rows, detail::row_policies<Set>, std::size_t, const row_type&>;

    detail::row_core<Set>& core() noexcept { return core_; }
    detail::arena_bounds bounds() const noexcept { return bins_.arena(); }
    ALLOT_ALWAYS_INLINE void* pop(std::size_t bytes, const row_type& type) noexcept {
        thread_check_.check_thread(core_.context(), "", &type);
        return bins_.pop(core_, bytes, type);
    }
    void* find(detail::memory_request& asked, std::size_t, const row_type& type) noexcept {
        return bins_.try_allocate_slow(asked, type);
    }
    ALLOT_ALWAYS_INLINE void release_row(const void* row) noexcept {
        thread_check_.check_thread(core_.context(), "", nullptr);
        bins_.release(row);
    }
    ALLOT_ALWAYS_INLINE void release_row(const void* row, std::size_t bytes) noexcept {
        thread_check_.check_thread(core_.context(), "", nullptr);
        bins_.release(core_, row, bytes);
    }

    detail::row_core<Set>& core_;
    detail::row_bins<Set, detail::no_entry> bins_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_check thread_check_;
    ALLOT_NO_UNIQUE_ADDRESS detail::living_handles::count living_;
};

} // namespace allot::inline ALLOT_ABI
