// Deferred frees: slots freed without the heap's lock and not counted by their pages yet; a small table beside each
// slot cache.
//
//   place = page number % 64:  | address of the page | slots, in the address's low bits |
//
// A place is flushed to its page's count when it reaches `flush_limit` slots, when another page needs the place, and by
// sweep(), which takes one place per batch; all are flushed with the cache and when the cache finds no free slot.
// Invariant: a page with deferred frees cannot be found empty, so it stays with the heap.
// Lag: flush_limit is 1/64 of a page's slots, at most 64. So at most 4,032 slots, less than one page of them, in at
// most 64 pages are uncounted; 64 batches later they are counted.
// Cost: 520 bytes per cache; about 1/64 of an atomic operation per slot where releases meet few pages.
// no_deferred_frees counts at once and has no size. Threads: the cache's user; pending() by any.
// Source: HPCC roxiemem's delayrelease heaps, 2017; here the releaser keeps the count.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

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

// The type that a slot policy needs beside each cache.
template <class Slots> constexpr auto deferred_frees_for() noexcept {
    if constexpr (requires { typename Slots::deferred_type; })
        return std::type_identity<typename Slots::deferred_type>{};
    else return std::type_identity<no_deferred_frees>{};
}

class deferred_frees {
  public:
    static constexpr std::size_t places = 64;

    // Deferred frees of one page at which they are flushed. `capacity`: slots of the page.
    static constexpr std::uint32_t flush_limit(std::uint32_t capacity) noexcept {
        const std::uint32_t part = capacity / 64;
        return part < 1 ? 1 : part > 64 ? 64 : part;
    }

    // Defers n frees of a page of 2^shift bytes, aligned to its size; `count_frees(page, n)` flushes a place.
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
    // Flushes the next place.
    template <class CountFrees> void sweep(CountFrees count_frees) noexcept {
        flush_place(table_[sweep_at_++ % places], count_frees);
    }
    // Flushes all; false: nothing was deferred.
    template <class CountFrees> bool flush(CountFrees count_frees) noexcept {
        if (pending() == 0) return false;
        for (std::uintptr_t& place : table_) flush_place(place, count_frees);
        return true;
    }
    // Forgets all; for pages that were dropped.
    void clear() noexcept {
        table_.fill(0);
        note(0);
    }
    std::uint32_t pending() const noexcept { return pending_.load(std::memory_order_relaxed); }
    // The deferred frees of one page. No other thread may use the cache meanwhile.
    std::uint32_t pending(const std::byte* page) const noexcept {
        std::uint32_t n = 0;
        for (const std::uintptr_t place : table_)
            if (base(place) == page) n += count(place);
        return n;
    }

  private:
    static constexpr std::uintptr_t low = 4095; // pages are aligned to more than this

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
    std::atomic<std::uint32_t> pending_{0}; // the sum over all places
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
