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
#include <type_traits>

namespace allot::inline ALLOT_ABI {

namespace detail {

// `Set`: answers_of<the manager's set>.
template <class Set>
class local_rows_of : public row_calls<local_rows_of<Set>, row_policies<Set>, std::size_t, const row_type&> {
  public:
    /// Requires: a manager of a set with these answers.
    template <class Of>
        requires std::is_same_v<answers_of<Of, product::row_manager>, Set>
    explicit local_rows_of(row_manager<Of>& owner) noexcept
        : core_(row_access::core(owner)), bins_(core_), living_(core_.handles()) {}
    local_rows_of(const local_rows_of&) = delete;
    local_rows_of& operator=(const local_rows_of&) = delete;

    /// Calls close().
    ~local_rows_of() { close(); }

    /// Returns all cached free slots to their heaps. It may ask for reservations that wait for them, as no release
    /// does.
    void flush() noexcept { bins_.flush(), core_.pages().settled(); }
    /// The same, and frees the caches. The handle creates them again when it is used.
    void close() noexcept { bins_.close(), core_.pages().settled(); }

  private:
    friend row_calls<local_rows_of, row_policies<Set>, std::size_t, const row_type&>;
    friend row_requests<local_rows_of, std::size_t, const row_type&>;

    local_rows_of& finder() noexcept { return *this; }
    row_core<Set>& core() noexcept { return core_; }
    arena_bounds bounds() const noexcept { return bins_.arena(); }
    ALLOT_ALWAYS_INLINE void* pop(std::size_t bytes, const row_type& type) noexcept {
        thread_check_.check_thread(core_.context(), "", &type);
        return bins_.pop(core_, bytes, type);
    }
    void* find(memory_request& asked, std::size_t, const row_type& type) noexcept {
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

    row_core<Set>& core_;
    row_bins<Set, no_entry> bins_;
    ALLOT_NO_UNIQUE_ADDRESS thread_check thread_check_;
    ALLOT_NO_UNIQUE_ADDRESS living_handles::count living_;
};

} // namespace detail

/// A handle of one thread for rows of any size, from row_manager::local(). Its rows may be released by any thread; rows
/// of other handles that it releases go into its caches.
/// Requires: destroyed before the manager; used by one thread, others are reported as misuse in checked builds.
template <class Set> using local_rows = detail::local_rows_of<detail::answers_of<Set, product::row_manager>>;

} // namespace allot::inline ALLOT_ABI
