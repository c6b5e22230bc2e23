// row_calls<Handle, Policies, Row...>: the calls that every handle of rows has: a manager, a heap, one thread's
// handles.
//
// `Row`: what a request says, a size and a type; nothing where the handle has rows of one size and type. The handle is
// a friend, and adds what it alone knows:
//   pop(row...)       a row from a cache, without a call; null: finder() may find one
//   finder()          where to look then (row_requests): itself, but of a row manager its core
//   core(), bounds()  the manager's row_core, and the bounds of its arena
//   config(), type()  of its heap, without Row
//   release_row(row), with Row also release_row(row, bytes)
// Invariant: it has no members. Cost: that of pop() and release_row(), which are inline; a call where pop() found none.
// Threads: those of the handle. Source: Barton and Nackman 1994.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/row_type.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/make_row.hpp>
#include <allot/row/row_ptr.hpp>
#include <allot/sys/lock_rank.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Requests that found no row in a cache. The finder has:
//   find(asked, row...)  one attempt; from caches too, since a step of the ladder may have filled them
//   flush()              empties its own caches, if it has any
//   core(), config()     as the handle's
template <class Finder, class... Row> class row_requests {
  public:
    // Fails as the oom policy says.
    ALLOT_OUTLINE_OF(row_requests) static ALLOT_NOINLINE void* allocate(Finder& in, Row... row) {
        memory_request asked{of(in, row...).bytes};
        asked.judged = std::remove_reference_t<decltype(in.core())>::policies::waits;
        if (void* const got = in.find(asked, row...); ALLOT_LIKELY(got != nullptr)) return got;
        return in.core().climb_or_fail(
            asked, of(in, row...).name, [&] { return in.find(asked, row...); }, [&] { flush(in); });
    }
    ALLOT_OUTLINE_OF(row_requests)
    static ALLOT_NOINLINE void* try_allocate(Finder& in, Row... row, charge_status* why,
                                             const wait_limit* wait) noexcept {
        memory_request asked{of(in, row...).bytes};
        asked.wait = wait;
        void* got = in.find(asked, row...);
        if (ALLOT_UNLIKELY(got == nullptr))
            got = in.core().climb(asked, [&] { return in.find(asked, row...); }, [&] { flush(in); });
        asked.report(why, got != nullptr);
        return got;
    }
    static void flush(Finder& in) noexcept {
        if constexpr (requires { in.flush(); }) in.flush();
    }

  private:
    // Bytes of the row, and what it is for.
    struct wanted {
        std::size_t bytes;
        const char* name;
    };
    static wanted of([[maybe_unused]] Finder& in, const Row&... row) noexcept {
        if constexpr (sizeof...(Row) == 0) return {in.config().row_bytes, in.config().name};
        else return any(row...);
    }
    static wanted any(std::size_t bytes, const row_type& type) noexcept { return {bytes, type.name}; }
};

/// The calls of row_manager, local_rows, row_heap and local_row_heap. Those of the last two have no size and type: they
/// allocate rows of the heap's.
template <class Handle, class Policies, class... Row> class row_calls {
    static constexpr bool any_size = sizeof...(Row) != 0;

  public:
    /// Allocates a row with one link. Its contents are unspecified (zero under guard::zero).
    /// Requires: type outlives the manager; type.align is 0 or a power of two up to 4096. Checked builds report another
    /// alignment as misuse; other builds fail.
    /// Returns: a row of at least `bytes` (0 is allowed), aligned to 8 or type.align, whichever is larger; null under
    /// oom::null if it fails.
    /// Throws: out_of_memory under oom::raise.
    ALLOT_ALWAYS_INLINE void* allocate(std::size_t bytes, const row_type& type = untyped)
        requires any_size
    {
        return allocate_row(bytes, type);
    }
    ALLOT_ALWAYS_INLINE void* allocate()
        requires(!any_size)
    {
        return allocate_row();
    }
    /// As allocate(), but returns null if it fails. `why`: where it is not null, the status of the request, with what
    /// refused it.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type = untyped,
                                           charge_status* why = nullptr) noexcept
        requires any_size
    {
        return try_allocate_row(bytes, type, why, nullptr);
    }
    // For buffers.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type, detail::from_caches) noexcept
        requires any_size
    {
        return self().pop(bytes, type);
    }
    void* try_allocate(detail::memory_request& asked, const row_type& type) noexcept
        requires any_size
    {
        return self().finder().find(asked, asked.bytes, type);
    }
    bool climb(detail::memory_request& asked, const detail::account_node* by, detail::attempt_ref again) noexcept
        requires any_size
    {
        return self().core().climb_with(asked, by, again,
                                        [&] { return requests_of(self().finder()).flush(self().finder()), true; });
    }
    ALLOT_ALWAYS_INLINE void* try_allocate(charge_status* why = nullptr) noexcept
        requires(!any_size)
    {
        return try_allocate_row(why, nullptr);
    }
    /// As try_allocate(), and waits while the limit of an account refuses: until rows are released, bytes are
    /// refunded, or a limit is raised. Slots that handles of other threads keep wake no request.
    /// Requires: the set has ledger::tree or ledger::pool. Inside a listener or reclaimer it does not wait.
    void* allocate_for(std::size_t bytes, const wait_limit& wait, const row_type& type = untyped,
                       charge_status* why = nullptr) noexcept
        requires any_size && (Policies::in_tree)
    {
        return try_allocate_row(bytes, type, why, &wait);
    }
    void* allocate_for(const wait_limit& wait, charge_status* why = nullptr) noexcept
        requires(!any_size) && (Policies::in_tree)
    {
        return try_allocate_row(why, &wait);
    }
    /// Allocates a row and constructs a T in it; the last release destroys it. Needs a set whose rows have link counts.
    /// The row_ptr releases by address; release() of a handle is faster.
    /// Requires, for a heap: T fits its rows in size and alignment; its type has a destructor if T needs one. Otherwise
    /// it fails as if out of memory, and is reported as misuse in checked builds.
    /// Returns: the row; null under oom::null if it cannot be allocated.
    /// Throws: what T's constructor throws; out_of_memory under oom::raise.
    template <class T, class... Args>
        requires(Policies::counts) && (Policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        return detail::make_in<T>(allocate_row_of<T>(), std::forward<Args>(args)...);
    }

    /// Adds a link. An address outside the manager's arena is ignored; checked builds report a row of another arena.
    /// Requires: the caller holds a link. With more than 983,039 links the row is never freed; the damage sink gets
    /// too_many_links once.
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(Policies::counts)
    {
        detail::check_no_lock_is_held("links a row");
        self().core().link(row, self().bounds());
    }
    /// Releases one link; the last release destroys and frees the row. Never waits, makes no system call.
    /// A handle of a heap is fastest for rows of that heap.
    /// Requires: the caller holds a link, or row is null or outside every arena. Anything else is reported as misuse in
    /// checked builds; in others it is ignored, but that a double release can release the row that took the slot, and
    /// without counts an interior pointer is undefined (docs/rules.md).
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        detail::check_no_lock_is_held("releases a row");
        self().release_row(row);
    }
    /// The same, faster in a handle of one thread, and under heap::per_thread, where sizes vary. `bytes`: the size that
    /// was requested; another size only costs time.
    ALLOT_ALWAYS_INLINE void release(const void* row, std::size_t bytes) noexcept
        requires any_size
    {
        detail::check_no_lock_is_held("releases a row");
        self().release_row(row, bytes);
    }

  private:
    ALLOT_ALWAYS_INLINE Handle& self() noexcept { return static_cast<Handle&>(*this); }
    template <class Finder> static detail::row_requests<Finder, Row...> requests_of(Finder&) noexcept { return {}; }

    // Fails as the oom policy says. Callers that pass on what this returns need no frame.
    ALLOT_ALWAYS_INLINE void* allocate_row(Row... row) {
        detail::check_no_lock_is_held("allocates a row");
        if (void* const got = self().pop(row...); ALLOT_LIKELY(got != nullptr)) return got;
        void* const got = requests_of(self().finder()).allocate(self().finder(), row...);
        if constexpr (Policies::oom::raises)
            if (got == nullptr) __builtin_unreachable(); // so that no caller tests it again
        return got;
    }
    ALLOT_ALWAYS_INLINE void* try_allocate_row(Row... row, charge_status* why, const wait_limit* wait) noexcept {
        detail::check_no_lock_is_held("allocates a row");
        if (void* const got = self().pop(row...); ALLOT_LIKELY(got != nullptr)) {
            if (why != nullptr) *why = {};
            return got;
        }
        return requests_of(self().finder()).try_allocate(self().finder(), row..., why, wait);
    }
    template <class T> void* allocate_row_of() {
        if constexpr (any_size) return allocate(sizeof(T), row_type_of<std::remove_const_t<T>>);
        else {
            auto& core = self().core();
            return core.template can_hold<T>(self().config(), self().type())
                       ? allocate()
                       : core.template refuse_to_hold<T>(self().config(), self().type());
        }
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
