// local_rows: one thread's handle of a row manager. It has a cache of free slots for each size class that it has used.
//
// Cost: 100 bytes and 2 KiB, and 640 bytes per size class in use (row_bins). No atomic
// read-modify-write until a cache is empty or full.
// Threads: one. Source: thread caches, Bonwick and Adams 2001; tcmalloc 2005.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/config.hpp>
#include <allot/row/living_handles.hpp>
#include <allot/row/make_row.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_bins.hpp>
#include <allot/row/row_failure.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_ptr.hpp>
#include <allot/row/thread_check.hpp>

#include <cstddef>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// A handle of one thread for rows of any size, from row_manager::local(). Its rows may be released by any thread; rows
/// of other handles that it releases go into its caches.
/// Requires: destroyed before the manager; used by one thread, others are reported as misuse in checked builds.
template <class Set> class local_rows {
    using policies = detail::row_policies<Set>;

  public:
    explicit local_rows(row_manager<Set>& owner) noexcept
        : core_(detail::row_access::core(owner)), bins_(core_), living_(core_.handles()) {}
    local_rows(const local_rows&) = delete;
    local_rows& operator=(const local_rows&) = delete;

    /// As row_manager::try_allocate.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type = untyped,
                                           charge_status* why = nullptr) noexcept {
        thread_check_.check_thread(core_.context(), "", &type);
        if (void* const row = bins_.pop(core_, bytes, type); ALLOT_LIKELY(row != nullptr)) {
            if (why != nullptr) *why = {};
            return row;
        }
        return try_allocate_slow(bytes, type, why);
    }
    /// As row_manager::allocate.
    ALLOT_ALWAYS_INLINE void* allocate(std::size_t bytes, const row_type& type = untyped) {
        thread_check_.check_thread(core_.context(), "", &type);
        if (void* const row = bins_.pop(core_, bytes, type); ALLOT_LIKELY(row != nullptr)) return row;
        void* const row = allocate_slow(bytes, type);
        if constexpr (policies::oom::raises)
            if (row == nullptr) __builtin_unreachable(); // so that no caller tests it again
        return row;
    }
    /// As row_manager::allocate_for.
    void* allocate_for(std::size_t bytes, const wait_limit& wait, const row_type& type = untyped,
                       charge_status* why = nullptr) noexcept
        requires(policies::in_tree)
    {
        thread_check_.check_thread(core_.context(), "", &type);
        detail::memory_request asked{bytes};
        asked.wait = &wait;
        const auto find = [&] { return find_again(asked, type); };
        void* const row = core_.request(asked, find, find, [&] { bins_.flush(); });
        asked.report(why, row != nullptr);
        return row;
    }
    /// As row_manager::make. The row_ptr releases by address; release() of this handle is faster.
    template <class T, class... Args>
        requires(policies::counts) && (policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        return detail::make_in<T>(allocate(sizeof(T), row_type_of<T>), std::forward<Args>(args)...);
    }
    /// As row_manager::release.
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        thread_check_.check_thread(core_.context(), "", nullptr);
        bins_.release(row);
    }
    /// The same, faster where sizes vary. `bytes`: the size that was requested; another size only costs time.
    ALLOT_ALWAYS_INLINE void release(const void* row, std::size_t bytes) noexcept {
        thread_check_.check_thread(core_.context(), "", nullptr);
        bins_.release(core_, row, bytes);
    }
    /// As row_manager::link.
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(policies::counts)
    {
        core_.link(row, bins_.arena());
    }

    /// Returns all cached free slots to their heaps.
    void flush() noexcept { bins_.flush(); }
    /// The same, and frees the caches. The handle creates them again when it is used.
    void close() noexcept { bins_.close(); }

  private:
    void* find_again(detail::memory_request& asked, const row_type& type) noexcept {
        void* const row = bins_.pop(core_, asked.bytes, type);
        return row != nullptr ? row : bins_.try_allocate_slow(asked, type);
    }
    ALLOT_NOINLINE void* try_allocate_slow(std::size_t bytes, const row_type& type, charge_status* why) noexcept {
        detail::memory_request asked{bytes};
        void* const row = core_.request(
            asked, [&] { return bins_.try_allocate_slow(asked, type); }, [&] { return find_again(asked, type); },
            [&] { bins_.flush(); });
        asked.report(why, row != nullptr);
        return row;
    }
    ALLOT_NOINLINE void* allocate_slow(std::size_t bytes, const row_type& type) {
        detail::memory_request asked{bytes};
        return core_.request_or_fail(
            asked, type.name, [&] { return bins_.try_allocate_slow(asked, type); },
            [&] { return find_again(asked, type); }, [&] { bins_.flush(); });
    }

    detail::row_core<Set>& core_;
    detail::row_bins<Set, detail::no_entry> bins_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_check thread_check_;
    ALLOT_NO_UNIQUE_ADDRESS detail::living_handles::count living_;
};

} // namespace allot::inline ALLOT_ABI
