// A manager's heaps for rows of any type, one per size class and alignment, created at first use.
//
// Invariant: an entry is null, or a heap that exists as long as the manager.
// Cost: 1 KiB for rows aligned to 8; 3 KiB more from the first request for 16, 32 or 64 on.
// Threads: any; a spin lock only to create a heap. Source: HPCC roxiemem's normal heaps, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/last_refusal.hpp>
#include <allot/core/size_class.hpp>
#include <allot/row/slot_rows.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline void note_no_fit(std::size_t bytes) noexcept {
    note_refusal(charge_outcome::misused, bytes, "no row of this size and alignment fits a page");
}

template <class Rows, class List> class buckets {
  public:
    using heap = typename Rows::heap;
    static constexpr std::size_t header = Rows::counting::header_bytes(false) + Rows::guard::row_bytes; // per row
    static constexpr std::size_t max_align = 64;

    buckets(page_provider& provider, row_context& context) noexcept
        : provider_(provider), context_(context), classes_(usable(provider.page_bytes())),
          largest_(classes_.largest() - header) {}
    buckets(const buckets&) = delete;
    buckets& operator=(const buckets&) = delete;
    ~buckets() { delete over_aligned_.load(std::memory_order_relaxed); }

    static constexpr std::uint32_t none = heap_config::no_index;
    static_assert(none == size_table::none && none < heap_tag::buckets);

    // The size class of a request of `bytes`, header not included; none if the row must be huge.
    ALLOT_ALWAYS_INLINE std::uint32_t index(std::size_t bytes) const noexcept {
        if (ALLOT_LIKELY(bytes <= size_table::max_direct - header))
            return static_cast<std::uint32_t>(classes_.index_for(bytes + header));
        return index_above(bytes);
    }
    std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(classes_.count()); }
    std::size_t row_bytes(std::uint32_t index) const noexcept { return classes_.slot_bytes(index) - header; }

    // The heap of a class. Null if it cannot be allocated, or no slot of this alignment fits a page.
    ALLOT_ALWAYS_INLINE heap* at(std::uint32_t index, std::size_t align = 8) noexcept {
        if (ALLOT_LIKELY(align <= 8)) {
            heap* const h = heaps_[index].load(std::memory_order_acquire);
            return ALLOT_LIKELY(h != nullptr) ? h : create(heaps_[index], index, 8);
        }
        return at_aligned(index, align);
    }

  private:
    using heap_array = std::array<std::atomic<heap*>, size_table::max_classes>;

    ALLOT_NOINLINE std::uint32_t index_above(std::size_t bytes) const noexcept {
        return bytes <= largest_ ? static_cast<std::uint32_t>(classes_.index_for(bytes + header)) : none;
    }

    // Bytes of a page that are left for slots and their free bits, whatever the alignment.
    static std::size_t usable(std::size_t page_bytes) noexcept {
        if constexpr (Rows::page::location_type::out_of_band) return align_down(page_bytes, std::size_t{8});
        return align_down(page_bytes - sizeof(typename Rows::page) - max_align - 32, std::size_t{8});
    }

    ALLOT_NOINLINE heap* at_aligned(std::uint32_t index, std::size_t align) noexcept {
        using arrays = std::array<heap_array, 3>;
        arrays* all = over_aligned_.load(std::memory_order_acquire);
        if (all == nullptr) {
            auto* const made = new (std::nothrow) arrays{};
            if (made == nullptr) return note_refusal(charge_outcome::no_memory, sizeof *made), nullptr;
            if (over_aligned_.compare_exchange_strong(all, made, std::memory_order_acq_rel)) all = made;
            else delete made;
        }
        auto& heap_slot = (*all)[log2_floor(align) - 4][index];
        heap* const h = heap_slot.load(std::memory_order_acquire);
        return h != nullptr ? h : create(heap_slot, index, align);
    }
    ALLOT_NOINLINE heap* create(std::atomic<heap*>& heap_slot, std::uint32_t index, std::size_t align) noexcept {
        heap_config plan = Rows::plan(context_, "rows", nullptr, row_bytes(index), align);
        plan.index = align <= 8 ? index : none;
        if (heap::rows_per_page(plan, provider_.page_bytes()) == 0) return note_no_fit(plan.row_bytes), nullptr;
        const lock_guard hold(create_lock_);
        heap* made = heap_slot.load(std::memory_order_acquire);
        if (made == nullptr) {
            made = new (std::nothrow) heap(provider_, plan);
            if (made == nullptr) note_refusal(charge_outcome::no_memory, sizeof *made);
            heap_slot.store(made, std::memory_order_release);
        }
        return made;
    }

    page_provider& provider_;
    row_context& context_;
    const size_classes<List> classes_;
    const std::size_t largest_;
    spin_lock create_lock_;
    heap_array heaps_{};
    std::atomic<std::array<heap_array, 3>*> over_aligned_{nullptr};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
