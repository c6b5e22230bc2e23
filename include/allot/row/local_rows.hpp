// local_rows: one thread's handle of a row manager, for rows of any size, without atomics on its path.
//
// It holds a cache of free slots for each size class that it has used. Rows may be released by any thread, here or
// elsewhere; rows of the manager that this handle releases go into its caches, whoever allocated them.
// Cost: 200 bytes, at the first row 64 for each size class of the set, and 512 for each that is used. Threads: one;
// must go before its manager, but for those of heap::per_thread, which are cut off when the manager goes.
// Source: thread caches, Bonwick and Adams 2001; tcmalloc 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/row/buckets.hpp>
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

template <class Set> class local_rows {
    using policies = detail::row_policies<Set>;
    using rows = typename policies::rows;
    using heap_type = typename rows::heap;

  public:
    explicit local_rows(row_manager<Set>& owner) noexcept : local_rows(detail::row_access::core(owner)) {}
    explicit local_rows(detail::row_core<Set>& core) noexcept : arena_(core.arena().view()), core_(core) {}
    local_rows(const local_rows&) = delete;
    local_rows& operator=(const local_rows&) = delete;
    ~local_rows() { close(); }

    // A row with one holder, contents unspecified; null when no memory can be had.
    ALLOT_ALWAYS_INLINE void* try_allocate(std::size_t bytes, const row_type& type = untyped) noexcept {
        thread_check_.check_thread(core_.context(), "", nullptr);
        const std::uint32_t number = type_number(type);
        const std::uint32_t index = core_.buckets().index(bytes);
        if (ALLOT_UNLIKELY(index == heap_config::no_index || type.align > 8 || number >= type_table::first_checked))
            return core_.try_allocate_shared(bytes, type, number);
        std::byte* row;
        if (ALLOT_UNLIKELY(!bins_[index & mask_].pop(row))) {
            row = pop_slow(index);
            if (row == nullptr) return nullptr;
        }
        rows::start(bins_[index & mask_].heap->cut(), false, arena_, row, number);
        sampler_.allocated(core_, bytes, type);
        return row;
    }
    // The same; on failure what the set's oom policy says.
    ALLOT_ALWAYS_INLINE void* allocate(std::size_t bytes, const row_type& type = untyped) {
        if (void* const row = try_allocate(bytes, type); ALLOT_LIKELY(row != nullptr)) return row;
        return core_.refuse(bytes, type.name);
    }
    // A constructed T; its release, through row_ptr, finds the heap by the address.
    template <class T, class... Args>
        requires(policies::counts) && (policies::host_touches_rows)
    row_ptr<T> make(Args&&... args) {
        return core_.template construct<T>(allocate(sizeof(T), row_type_of<T>), std::forward<Args>(args)...);
    }
    // Drops a holder of any row of the manager's arena.
    ALLOT_ALWAYS_INLINE void release(const void* row) noexcept {
        release_into<true>(row, [](auto& page) { return page.bucket; });
    }
    // The same, quicker where sizes vary, for a row that was asked for with so many bytes: its cache is known before
    // the row's page is read. Other bytes cost time, nothing else.
    ALLOT_ALWAYS_INLINE void release(const void* row, std::size_t bytes) noexcept {
        release_into<rows::reads_page>(row, [this, bytes](auto&) { return core_.buckets().index(bytes); });
    }
    ALLOT_ALWAYS_INLINE void link(const void* row) noexcept
        requires(policies::counts)
    {
        core_.link(row, arena_);
    }

    // Gives the free slots it holds back to their heaps.
    void flush() noexcept {
        for_each_used([](bin& b) { b.heap->flush(b); });
    }
    // Gives them back and leaves the heaps; the handle starts anew at its next use.
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
    // A row of a heap that this handle has not used, shared, or to be destroyed.
    ALLOT_NOINLINE void release_slow(std::byte* row) noexcept {
        auto& page = rows::page_at(arena_, row);
        bin& b = bins_[page.bucket & mask_];
        if (b.heap == nullptr || !rows::template is_of<false>(page, arena_, arena_.offset(row), b.heap))
            return detail::release_in(core_.arena(), row);
        if (rows::drop(page, row) && !b.push(row)) push_slow(b, row);
    }
    ALLOT_NOINLINE void push_slow(bin& b, std::byte* row) noexcept {
        if (b.heap == nullptr) return detail::release_in(core_.arena(), row); // of no heap's page: told
        b.heap->spill(b, b.batch);
        b.push(row);
    }
    // Fills the bin of a class first; null when no memory can be had.
    ALLOT_NOINLINE std::byte* pop_slow(std::uint32_t index) noexcept {
        if (bins_ == &none_ && !make_bins()) return nullptr;
        bin& b = bins_[index];
        if (b.heap == nullptr && !open(b, index)) return nullptr;
        std::byte* row;
        return b.heap->refill(b) && b.pop(row) ? row : nullptr;
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
        if (b.slots() == nullptr) return false;
        heap->adopt(b, bin::capacity);
        b.heap = heap;
        return true;
    }

    bin* bins_ = &none_; // one a size class, a power of two of them; none_ before the first row
    std::uint32_t mask_ = 0;
    const detail::arena_view arena_;
    detail::row_core<Set>& core_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_check thread_check_;
    ALLOT_NO_UNIQUE_ADDRESS detail::row_sampler<policies::watch::every_nth_row> sampler_;
    bin none_; // always empty
};

} // namespace allot::inline ALLOT_ABI
