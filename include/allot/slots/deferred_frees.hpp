// Slots that were given back to their heaplets without the heap's lock and not counted there yet: a small table beside
// each slot cache.
//
//   place = page number % 64:  | address of the page | slots, in the address's low bits |
//
// A page is told when it has `most` slots here, when another page needs the place, when the sweep comes by (one place
// a batch), and when the cache is flushed, leaves, or finds no slots. A page that was not told all cannot be found
// empty, so it stays while it stands here.
// Lag: `most` is 1/64 of a page's slots and 64 at most, so that all places together keep less than one page of
// slots from being counted (4,032 at most), in up to 64 pages; 64 batches later these have been told.
// Cost: 528 bytes a cache; 1/64 of a page's locked operation a slot where releases meet few pages. `no_deferred_frees` tells at
// once and takes no room. Threads: the cache's user; `pending` by any.
// Source: delayed counting of HPCC roxiemem's delayrelease heaps, 2017, with the debt kept by the releaser.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

struct no_deferred_frees {
    template <class CountFrees>
    ALLOT_ALWAYS_INLINE void add(std::byte* page, std::uint32_t n, unsigned, std::uint32_t,
                                 CountFrees count_frees) noexcept {
        count_frees(page, n);
    }
    template <class CountFrees> void sweep(CountFrees) noexcept {}
    template <class CountFrees> bool flush(CountFrees) noexcept { return false; }
    void clear() noexcept {}
    static constexpr std::uint32_t pending() noexcept { return 0; }
    static constexpr std::uint32_t pending(const std::byte*) noexcept { return 0; }
};

// What a slot policy wants beside each cache.
template <class Slots> constexpr auto deferred_frees_for() noexcept {
    if constexpr (requires { typename Slots::deferred_type; })
        return std::type_identity<typename Slots::deferred_type>{};
    else return std::type_identity<no_deferred_frees>{};
}

class deferred_frees {
  public:
    static constexpr std::size_t places = 64;

    // Slots that a page of so many may have here uncounted, and one more.
    static constexpr std::uint32_t flush_limit(std::uint32_t capacity) noexcept {
        const std::uint32_t part = capacity / 64;
        return part < 1 ? 1 : part > 64 ? 64 : part;
    }

    // n more slots of the page (2^shift bytes, aligned so); `count_frees(page, n)` counts n slots of a page.
    template <class CountFrees>
    void add(std::byte* page, std::uint32_t n, unsigned shift, std::uint32_t capacity,
             CountFrees count_frees) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(page);
        std::uintptr_t& place = table_[(address >> shift) % places];
        if (base(place) != page) {
            flush_place(place, count_frees);
            place = address;
        }
        place += n;
        note(pending() + n);
        if (count(place) >= flush_limit(capacity)) flush_place(place, count_frees);
    }
    // Tells the next place's page.
    template <class CountFrees> void sweep(CountFrees count_frees) noexcept {
        flush_place(table_[sweep_at_++ % places], count_frees);
    }
    // Tells all; false when there was nothing to tell.
    template <class CountFrees> bool flush(CountFrees count_frees) noexcept {
        if (pending() == 0) return false;
        for (std::uintptr_t& place : table_) flush_place(place, count_frees);
        return true;
    }
    // The pages have gone.
    void clear() noexcept {
        table_.fill(0);
        note(0);
    }
    std::uint32_t pending() const noexcept { return pending_.load(std::memory_order_relaxed); }
    // Of one page; nobody else may use the cache meanwhile.
    std::uint32_t pending(const std::byte* page) const noexcept {
        std::uint32_t n = 0;
        for (const std::uintptr_t place : table_)
            if (base(place) == page) n += count(place);
        return n;
    }

  private:
    static constexpr std::uintptr_t low = 4095; // pages are aligned to more

    static std::byte* base(std::uintptr_t place) noexcept { return reinterpret_cast<std::byte*>(place & ~low); }
    static std::uint32_t count(std::uintptr_t place) noexcept { return static_cast<std::uint32_t>(place & low); }
    void note(std::uint32_t n) noexcept { pending_.store(n, std::memory_order_relaxed); }

    template <class CountFrees> void flush_place(std::uintptr_t& place, CountFrees count_frees) noexcept {
        const std::uintptr_t was = place;
        if (was == 0) return;
        place = 0;
        note(pending() - count(was));
        count_frees(base(was), count(was));
    }

    std::array<std::uintptr_t, places> table_{};
    std::uint32_t sweep_at_ = 0;
    std::atomic<std::uint32_t> pending_{0}; // the sum
};

} // namespace allot::inline ALLOT_ABI
