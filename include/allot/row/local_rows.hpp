// local_rows: one thread's handle of a row manager. It has a cache of free slots for each size class that it has used.
//
// Cost: 200 bytes; from the first row on 64 bytes per size class of the set, and 512 per class in use. No atomic
// read-modify-write until a cache is empty or full.
// Threads: one. Source: thread caches, Bonwick and Adams 2001; tcmalloc 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/core/last_refusal.hpp>
#include <allot/row/buckets.hpp>
#include <allot/row/living_handles.hpp>
#include <allot/row/row.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_ptr.hpp>
#include <allot/row/row_sampler.hpp>
#include <allot/row/thread_check.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// A handle of one thread for rows of any size, from row_manager::local(). Its rows may be released by any thread; rows
/// of other handles that it releases go into its caches.
/// Requires: destroyed before the manager; used by one thread, others are reported as misuse in checked builds.
template <class Set> class local_rows {
    using policies = detail::row_policies<Set>;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;

  public:
    explicit local_rows(row_manager<Set>& owner) noexcept
        : arena_(owner.arena().view()), core_(detail::row_access::core(owner)), living_(core_.handles()) {}
    // A thread's cache: the manager closes it at its end, and does not count it as a handle.
    explicit local_rows(detail::row_core<Set>& core) noexcept : arena_(core.arena().view()), core_(core) {}
    local_rows(const local_rows&) = delete;
    local_rows& operator=(const local_rows&) = delete;
    ~local_rows() { close(); }

    /// As row_manager::try_allocate.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type = untyped) noexcept {
        thread_check_.check_thread(core_.context(), "", &type);
        const std::uint32_t number = type_number(type);
        const std::uint32_t index = core_.buckets().index(bytes);
        if (ALLOT_UNLIKELY(index == heap_config::no_index || !core_.has_slot_alignment(type) ||
                           number >= type_table::first_checked))
            return policies::per_thread ? core_.try_allocate_shared(bytes, type, number)
                                        : try_allocate_shared(bytes, type, number);
        std::byte* row;
        if (ALLOT_UNLIKELY(!bins_[index & mask_].pop(row))) {
            row = pop_slow(index);
            if (row == nullptr) return nullptr;
        }
        rows::start(bins_[index & mask_].heap->cut(), false, arena_, row, number);
        sampler_.allocated(core_, bytes, type);
        return row;
    }
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type, charge_status* why) noexcept {
        return detail::with_status(try_allocate(bytes, type), why, bytes);
    }
    /// As row_manager::allocate.
    ALLOT_ALWAYS_INLINE void* allocate(std::size_t bytes, const row_type& type = untyped) {
        if (void* const row = try_allocate(bytes, type); ALLOT_LIKELY(row != nullptr)) return row;
        return core_.refuse(bytes, type.name);
    }
    /// As row_manager::make. The row_ptr releases by address; release() of this handle is faster.
    template <class T, class... Args>
        requires(policies::counts) && (policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        return core_.template construct<T>(allocate(sizeof(T), row_type_of<T>), std::forward<Args>(args)...);
    }
    /// As row_manager::release.
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        release_into<true>(row, [](auto& page) { return page.bucket; });
    }
    /// The same, faster where sizes vary. `bytes`: the size that was requested; another size only costs time.
    ALLOT_ALWAYS_INLINE void release(const void* row, std::size_t bytes) noexcept {
        release_into<rows::reads_page>(row, [this, bytes](auto&) { return core_.buckets().index(bytes); });
    }
    /// As row_manager::link.
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(policies::counts)
    {
        core_.link(row, arena_);
    }

    /// Returns all cached free slots to their heaps.
    void flush() noexcept {
        for_each_used([](bin& b) { b.heap->flush(b); });
    }
    /// The same, and frees the caches. The handle creates them again when it is used.
    void close() noexcept {
        for_each_used([](bin& b) {
            b.heap->leave(b);
            delete[] b.slots();
        });
        if (bins_ != &none_) delete[] bins_;
        bins_ = &none_;
        mask_ = 0;
    }

  private:
    struct alignas(64) bin : heap_type::external_cache {
        heap_type* heap = nullptr;
    };

    template <bool ReadsPage, class Bucket>
    ALLOT_ALWAYS_INLINE void release_into(const void* row, Bucket bucket) noexcept {
        thread_check_.check_thread(core_.context(), "", nullptr);
        const std::size_t in_arena = arena_.offset(row);
        if (ALLOT_UNLIKELY(in_arena >= arena_.bytes)) return core_.ignore_foreign(row);
        if constexpr (ALLOT_CHECKED != 0)
            if (!detail::is_behind_header(core_.arena(), row)) return;
        std::byte* const at = detail::opaque_bytes(row);
        if (rows::template release_if_shared<policies::counts_first>(
                at, [this](std::byte* more) noexcept { release_slow(more); }))
            return;
        auto& page = rows::page_at(arena_, at);
        bin& b = bins_[bucket(page) & mask_];
        if (ALLOT_UNLIKELY(!rows::template is_of<ReadsPage>(page, arena_, in_arena, b.heap) ||
                           !rows::template release_if_sole<policies::counts_first>(page, at, false, in_arena)))
            return release_slow(at);
        if (ALLOT_UNLIKELY(!b.push(at))) push_slow(b, at);
    }
    template <class Visit> void for_each_used(Visit visit) noexcept {
        for (std::uint32_t i = 0; i <= mask_; ++i)
            if (bins_[i].heap != nullptr) visit(bins_[i]);
    }
    ALLOT_ALWAYS_INLINE std::uint32_t type_number(const row_type& type) noexcept {
        if constexpr (policies::counts) return core_.context().types.number(type);
        return 0;
    }
    // For a row of a heap that this handle has not used, a shared row, or one with a destructor, seal, or guard.
    ALLOT_NOINLINE void release_slow(std::byte* row) noexcept {
        auto& page = rows::page_at(arena_, row);
        bin& b = bins_[page.bucket & mask_];
        if (b.heap == nullptr || !rows::template is_of<false>(page, arena_, arena_.offset(row), b.heap))
            return detail::release_in(core_.arena(), row);
        if (rows::drop(page, row) && !b.push(row)) push_slow(b, row);
    }
    ALLOT_NOINLINE void push_slow(bin& b, std::byte* row) noexcept {
        if (b.heap == nullptr) return detail::release_in(core_.arena(), row); // in no page of a heap: reported
        b.heap->push_full(b, row);
    }
    // Fills the bin of a class first. Null if there is no memory.
    ALLOT_NOINLINE std::byte* pop_slow(std::uint32_t index) noexcept {
        if (bins_ == &none_ && !make_bins())
            return detail::note_refusal(charge_outcome::no_memory, sizeof(bin)), nullptr;
        bin& b = bins_[index];
        if (b.heap == nullptr && !open(b, index)) return nullptr;
        std::byte* row;
        if (b.heap->refill(b) && b.pop(row)) return row;
        return flush_held() && b.heap->refill(b) && b.pop(row) ? row : nullptr;
    }
    ALLOT_NOINLINE void* try_allocate_shared(std::size_t bytes, const row_type& type, std::uint32_t number) noexcept {
        void* const row = core_.try_allocate_shared(bytes, type, number);
        return row != nullptr || !flush_held() ? row : core_.try_allocate_shared(bytes, type, number);
    }
    // Before a refusal: free slots in these caches may keep pages that the request needs. False: none do.
    friend class detail::row_core<Set>;
    ALLOT_COLD bool flush_held() noexcept {
        bool held = false;
        for_each_used([&](bin& b) { held = held || b.size() != 0; });
        if (held) flush();
        return held;
    }
    bool make_bins() noexcept {
        const std::uint32_t n = std::bit_ceil(core_.buckets().count());
        bin* const made = new (std::nothrow) bin[n];
        if (made == nullptr) return false;
        bins_ = made;
        mask_ = n - 1;
        return true;
    }
    bool open(bin& b, std::uint32_t index) noexcept {
        heap_type* const heap = core_.buckets().at(index);
        if (heap == nullptr) return false;
        b.set_slots(new (std::nothrow) std::byte*[heap->cache_limit(bin::capacity)]);
        if (b.slots() == nullptr) return detail::note_refusal(charge_outcome::no_memory, sizeof(bin)), false;
        heap->adopt(b, bin::capacity);
        b.heap = heap;
        return true;
    }

    bin* bins_ = &none_; // one per size class, their number a power of two; &none_ before the first row
    std::uint32_t mask_ = 0;
    const detail::arena_bounds arena_;
    detail::row_core<Set>& core_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_check thread_check_;
    ALLOT_NO_UNIQUE_ADDRESS detail::row_sampler<policies::watch::every_nth_row> sampler_;
    ALLOT_NO_UNIQUE_ADDRESS detail::living_handles::count living_;
    bin none_; // always empty
};

} // namespace allot::inline ALLOT_ABI
