// A manager's heaps for rows of any type, one per size class, created at first use. A row aligned to 16 is in the heap
// of its class, or of the class 8 bytes above, if those slots are multiples of 16; each other alignment has its heaps.
//
// Invariant: an entry is null, or a heap that exists as long as the manager.
// Cost: 2 KiB; 1 KiB more from the first request for such an alignment on, for each.
// Threads: any; a spin lock only to create a heap. Source: HPCC roxiemem's normal heaps, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/size_class.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/slot_rows.hpp>
#include <allot/row/spare_bins.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline void refuse_no_fit(memory_request& asked, std::size_t bytes) noexcept {
    asked.refuse(charge_outcome::misused, bytes, "no row of this size and alignment fits a page");
}

template <class Rows, class List> class buckets {
  public:
    using heap = typename Rows::heap;
    static constexpr std::size_t header = Rows::counting::header_bytes(false) + Rows::guard::row_bytes; // per row

    // `most`: the most bytes of pages, as of now. `most_of_row`: index() serves no larger rows.
    ALLOT_OUTLINE_OF(buckets)
    buckets(page_provider& provider, row_context& context, std::size_t most, std::size_t most_of_row) noexcept
        : provider_(provider), context_(context), classes_(usable(provider.page_bytes()), most <= small_limit),
          largest_(min(classes_.largest() - header, most_of_row)) {
        while (fitting_ != 0 && !fits(plan(fitting_ - 1, 8))) --fitting_;
    }
    buckets(const buckets&) = delete;
    buckets& operator=(const buckets&) = delete;
    ~buckets() {
        for (auto& heaps : over_aligned_) delete heaps.load(std::memory_order_relaxed);
    }

    // Up to here the list fine has few size classes: 64 pages of 16 KiB, or fewer.
    static constexpr std::size_t small_limit = std::size_t{1} << 20;
    static constexpr std::uint32_t none = heap_config::no_index;
    static_assert(none == size_table::none && none < heap_tag::buckets);

    // The size class of a request of `bytes`, header not included; none if the row must be huge, or is in a span.
    ALLOT_ALWAYS_INLINE std::uint32_t index(std::size_t bytes) const noexcept {
        if (ALLOT_LIKELY(bytes <= size_table::max_direct - header))
            return static_cast<std::uint32_t>(classes_.direct_index_for(bytes + header));
        return index_above(bytes);
    }
    // The same for rows aligned to `align`; none also where no class has such slots, and at() makes a heap for them.
    ALLOT_ALWAYS_INLINE std::uint32_t index(std::size_t bytes, std::size_t align) const noexcept {
        const std::uint32_t any = index(bytes);
        if (ALLOT_LIKELY(align <= 8)) return any;
        return align == 16 ? static_cast<std::uint32_t>(classes_.aligned_to_16(any)) : none;
    }
    // The same where rows in spans have a class, too: for heaps of one size.
    std::uint32_t class_of(std::size_t bytes) const noexcept {
        return bytes <= classes_.largest() - header ? static_cast<std::uint32_t>(classes_.index_for(bytes + header))
                                                    : none;
    }
    // The same without a call; none also for more than 4 KiB.
    ALLOT_ALWAYS_INLINE std::uint32_t direct_index(std::size_t bytes, std::size_t align) const noexcept {
        return ALLOT_LIKELY(bytes <= size_table::max_direct - header) ? index(bytes, align) : none;
    }
    std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(classes_.count()); }
    std::size_t row_bytes(std::uint32_t index) const noexcept { return classes_.slot_bytes(index) - header; }

    // Bytes that a row of at() may use; 0 where that is null, and the row must be huge.
    ALLOT_OUTLINE_OF(buckets) std::size_t capacity_for(std::size_t bytes, std::size_t align) const noexcept {
        std::uint32_t index = class_of(bytes);
        if (index == none) return 0;
        if (align == 16)
            if (const auto of_16 = static_cast<std::uint32_t>(classes_.aligned_to_16(index)); of_16 != none)
                index = of_16, align = 8;
        if (align < 8) align = 8;
        if (align == 8 ? index >= fitting_ : !fits(plan(index, align))) return 0;
        return align_up(classes_.slot_bytes(index), align) - header;
    }
    auto& spare_bins() noexcept { return spare_bins_; }
    // The heap of a class; null: at() creates it.
    ALLOT_ALWAYS_INLINE heap* find(std::uint32_t index) const noexcept {
        return heaps_[index].load(std::memory_order_acquire);
    }
    // The heap of a class for rows of this alignment. Null if it cannot be allocated, or no slot of this alignment fits
    // a page.
    ALLOT_ALWAYS_INLINE heap* at(std::uint32_t index, memory_request& asked, std::size_t align = 8) noexcept {
        if (ALLOT_LIKELY(align <= 8)) {
            heap* const h = find(index);
            return ALLOT_LIKELY(h != nullptr) ? h : create(heaps_[index], index, 8, asked);
        }
        return at_aligned(index, align, asked);
    }

  private:
    using heap_array = std::array<std::atomic<heap*>, size_table::max_classes>;

    ALLOT_OUTLINE_OF(buckets) ALLOT_NOINLINE std::uint32_t index_above(std::size_t bytes) const noexcept {
        return bytes <= largest_ ? static_cast<std::uint32_t>(classes_.index_for(bytes + header)) : none;
    }

    // Bytes of a page that are left for slots and their free bits, for alignments up to 64.
    static std::size_t usable(std::size_t page_bytes) noexcept {
        if constexpr (Rows::page::location_type::out_of_band) return align_down(page_bytes, std::size_t{8});
        return align_down(page_bytes - sizeof(typename Rows::page) - 64 - 32, std::size_t{8});
    }

    ALLOT_OUTLINE_OF(buckets)
    ALLOT_NOINLINE heap* at_aligned(std::uint32_t index, std::size_t align, memory_request& asked) noexcept {
        if (align == 16 && classes_.aligned_to_16(index) != none)
            return at(static_cast<std::uint32_t>(classes_.aligned_to_16(index)), asked);
        auto& aligned = over_aligned_[log2_floor(align) - 4];
        heap_array* heaps = aligned.load(std::memory_order_acquire);
        if (heaps == nullptr) {
            if (!provider_.books().pay(asked)) return nullptr;
            auto* const made = new (std::nothrow) heap_array{};
            if (made == nullptr) return asked.refuse(charge_outcome::no_memory, sizeof *made);
            if (aligned.compare_exchange_strong(heaps, made, std::memory_order_acq_rel)) {
                heaps = made;
                provider_.books().owe(sizeof *made);
            } else {
                delete made;
            }
        }
        auto& heap_slot = (*heaps)[index];
        heap* const h = heap_slot.load(std::memory_order_acquire);
        return h != nullptr ? h : create(heap_slot, index, align, asked);
    }
    // Of the heap of a class for rows of this alignment, at least 8.
    heap_config plan(std::uint32_t index, std::size_t align) const noexcept {
        heap_config config = Rows::plan(context_, "rows", nullptr, row_bytes(index), align);
        if (align == 8) {
            config.index = index;
            if (classes_.aligned_to_16(index) == index) config.align = 16;
        }
        return config;
    }
    bool fits(const heap_config& config) const noexcept {
        return heap::rows_per_page(config, provider_.page_bytes()) != 0;
    }
    ALLOT_OUTLINE_OF(buckets)
    ALLOT_NOINLINE heap* create(std::atomic<heap*>& heap_slot, std::uint32_t index, std::size_t align,
                                memory_request& asked) noexcept {
        const heap_config config = plan(index, align);
        if (!fits(config)) return refuse_no_fit(asked, config.row_bytes), nullptr;
        if (!provider_.books().pay(asked)) return nullptr;
        const lock_guard hold(create_lock_);
        heap* made = heap_slot.load(std::memory_order_acquire);
        if (made == nullptr) {
            made = new (std::nothrow) heap(provider_, config);
            if (made == nullptr) asked.refuse(charge_outcome::no_memory, sizeof *made);
            heap_slot.store(made, std::memory_order_release);
        }
        return made;
    }

    page_provider& provider_;
    row_context& context_;
    const size_classes<List> classes_;
    const std::size_t largest_;
    std::uint32_t fitting_ = count(); // classes of which a page has a slot
    basic_spin_lock<lock_rank::buckets> create_lock_;
    heap_array heaps_{};
    detail::spare_bins<heap> spare_bins_;
    std::array<std::atomic<heap_array*>, log2_floor(row_type::max_align) - 3> over_aligned_{}; // 16, 32, .. 4096
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
