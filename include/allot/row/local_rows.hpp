// local_rows: one thread's handle of a row manager, for rows of any size, without atomics on its path.
//
// It holds a cache of free slots for each size class that it has used. Rows may be released by any thread, here or
// elsewhere; rows of the manager that this handle releases go into its caches, whoever allocated them.
// Cost: 2 KiB, and 576 bytes for each size class used. Threads: one; must go before its manager, but for those of
// heap::per_thread, which are cut off when the manager goes.
// Source: thread caches, Bonwick and Adams 2001; tcmalloc 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/row/buckets.hpp>
#include <allot/row/row.hpp>
#include <allot/row/row_policies.hpp>
#include <allot/row/row_ptr.hpp>
#include <allot/row/thread_guard.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <class Set>
class row_manager;

template <class Set>
class local_rows {
    using policies = detail::row_policies<Set>;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;

  public:
    explicit local_rows(row_manager<Set>& manager) noexcept
        : manager_(manager), page_mask_(manager.arena().page_mask()) {}
    local_rows(const local_rows&) = delete;
    local_rows& operator=(const local_rows&) = delete;
    ~local_rows() { close(); }

    // A row with one holder, contents unspecified; null when no memory can be had.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type = untyped) noexcept {
        guard_.used(manager_.context(), "", nullptr);
        const std::uint32_t number = type_number(type);
        const std::uint32_t index = manager_.buckets().index(bytes);
        if (ALLOT_UNLIKELY(index >= bins_.size() || type.align > 8 || number >= type_table::checked))
            return manager_.try_allocate_shared(bytes, type);
        bin& b = bins_[index];
        std::byte* row = b.cache != nullptr ? b.cache->pop() : nullptr;
        if (ALLOT_UNLIKELY(row == nullptr)) {
            row = pop_slowly(b, index);
            if (row == nullptr) return nullptr;
        }
        rows::start(b.heap->cut(), false, page_mask_, row, number);
        return row;
    }
    // The same; on failure what the set's oom policy says.
    ALLOT_ALWAYS_INLINE void* allocate(std::size_t bytes, const row_type& type = untyped) {
        if (void* const row = try_allocate(bytes, type); ALLOT_LIKELY(row != nullptr)) return row;
        return manager_.refuse(bytes, type.name);
    }
    // A constructed T; its release, through row_ptr, finds the heap by the address.
    template <class T, class... Args>
        requires(policies::counts)
    row_ptr<T> make(Args&&... args) {
        return manager_.template construct<T>(allocate(sizeof(T), row_type_of<T>), std::forward<Args>(args)...);
    }
    // Drops a holder of any row of the manager's arena.
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        guard_.used(manager_.context(), "", nullptr);
        if (ALLOT_UNLIKELY(!manager_.arena().contains(row))) return manager_.not_ours(row);
        std::byte* const at = detail::bytes_of(row);
        auto& page = rows::page_at(at, page_mask_);
        bin& b = bins_[page.bucket % bins_.size()];
        if (ALLOT_UNLIKELY(page.owner != b.heap || !rows::drop_only(page, at))) return release_slowly(at);
        if (ALLOT_UNLIKELY(!b.cache->push(at))) push_slowly(b, at);
    }
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(policies::counts)
    {
        manager_.link(row);
    }

    // Gives the free slots it holds back to their heaps.
    void flush() noexcept {
        for (bin& b : bins_)
            if (b.cache != nullptr) b.heap->spill(*b.cache, b.cache->size());
    }
    // Gives them back and leaves the heaps; the handle starts anew at its next use.
    void close() noexcept {
        for (bin& b : bins_) {
            if (b.cache == nullptr) continue;
            b.heap->leave(*b.cache);
            delete b.cache;
            b = {};
        }
    }

  private:
    struct bin {
        heap_type* heap = nullptr;
        slot_cache<64>* cache = nullptr;
    };

    ALLOT_ALWAYS_INLINE std::uint32_t type_number(const row_type& type) noexcept {
        if constexpr (policies::counts) return manager_.context().types.number(type);
        return 0;
    }
    // A row of a heap that this handle has not used, shared, or to be destroyed.
    ALLOT_NOINLINE void release_slowly(std::byte* row) noexcept {
        auto& page = rows::page_at(row, page_mask_);
        bin& b = bins_[page.bucket % bins_.size()];
        if (page.owner != b.heap) return allot::release(row);
        if (rows::drop(page, row) && !b.cache->push(row)) push_slowly(b, row);
    }
    ALLOT_NOINLINE void push_slowly(bin& b, std::byte* row) noexcept {
        b.heap->spill(*b.cache, b.cache->batch);
        b.cache->push(row);
    }
    ALLOT_NOINLINE std::byte* pop_slowly(bin& b, std::uint32_t index) noexcept {
        if (b.cache == nullptr) {
            heap_type* const heap = manager_.buckets().at(index);
            auto* const cache = heap != nullptr ? new (std::nothrow) slot_cache<64> : nullptr;
            if (cache == nullptr) return nullptr;
            heap->adopt(*cache, cache->capacity);
            b = {heap, cache};
        }
        return b.heap->refill(*b.cache) ? b.cache->pop() : nullptr;
    }

    row_manager<Set>& manager_;
    std::uintptr_t page_mask_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_guard guard_;
    std::array<bin, 128> bins_{};
};

} // namespace allot::inline ALLOT_ABI
