// A heaplet: one page cut into slots of one size, its header at the page's start.
//
//   0      64            128           192        192+aside      192+aside+counts
//   | what | given back  | the heap's  | slots'   | link counts  | rows ...
//   | it is| by releases | own links   | free bits| out of band  |
//
// The three lines are apart by who writes them: nobody, releasers, the holder of the heap's lock. With
// header_out_of_band all but the rows lies in host memory (heap/header_location.hpp), and nothing here touches the
// page.
// Invariant: slots below `fresh` were handed out at least once; those above were never touched.
// Cost: 192 bytes, the slot policy's bits, and 4 bytes a slot where counts are out of band; its guard's, if any.
// Source: HPCC roxiemem's ChunkedHeaplet, 2010; split by writer after the figures of a spike, 2026.
#pragma once

#include <allot/core/bits.hpp>
#include <allot/core/category/guard.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/canary.hpp>
#include <allot/heap/encoded_links.hpp>
#include <allot/heap/header_location.hpp>
#include <allot/heap/locked_free_count.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/slots/geometry.hpp>
#include <allot/slots/state.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

template <class Slots, class Guard = guard::none, class Location = header_in_page>
struct alignas(64) heaplet : page_header {
    using location_type = Location;

    slot_geometry cut;
    std::uint32_t threshold = 1; // slots freed back that make the page worth listing
    ALLOT_NO_UNIQUE_ADDRESS page_guard<Guard> guarded;
    ALLOT_NO_UNIQUE_ADDRESS Location location;

    alignas(64) slot_state state;
    free_slots<Slots, Guard> slots;
    std::atomic<heaplet*> space_link{nullptr};
    std::atomic<heaplet*> empty_link{nullptr};

    alignas(64) std::atomic<std::uint32_t> fresh{0};
    locked_free_count locked_frees; // slots freed back under the lock, and not told to `state` yet
    bool is_ready = false;          // on the heap's list of pages with slots to give
    list_place<heaplet> in_ready;   // its place there
    list_place<heaplet> in_all;     // and among all pages of the heap

    // Where the page starts.
    std::byte* base() noexcept {
        if constexpr (Location::out_of_band) return location.memory;
        else return reinterpret_cast<std::byte*>(this);
    }
    std::byte* out_of_band() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(heaplet); }
    std::byte* row(std::uint32_t index) noexcept { return base() + cut.offset_of(index); }
    std::uint32_t index(const std::byte* row) noexcept { return cut.index_of(static_cast<std::size_t>(row - base())); }
    std::uint32_t* counts() noexcept {
        return reinterpret_cast<std::uint32_t*>(out_of_band() +
                                                out_of_band_bytes(cut.capacity, cut.stride, cut.header));
    }

    static slot_geometry geometry_for(std::size_t page_bytes, std::size_t row_bytes, std::size_t align,
                                      std::size_t header, std::size_t out_of_band_count_bytes) noexcept {
        if (row_bytes < Slots::min_row_bytes) row_bytes = Slots::min_row_bytes;
        row_bytes += Guard::row_bytes;
        const std::size_t stride = align_up(row_bytes + header, align);
        if constexpr (Location::out_of_band)
            return allot::compute_geometry(page_bytes, 0, row_bytes, align, header,
                                           [](std::size_t) { return std::size_t{0}; });
        return allot::compute_geometry(page_bytes, sizeof(heaplet), row_bytes, align, header, [&](std::size_t n) {
            return out_of_band_bytes(n, stride, header) + n * out_of_band_count_bytes;
        });
    }

    // Of host memory for a header aside.
    static std::size_t header_bytes(const slot_geometry& cut, std::size_t out_of_band_count_bytes) noexcept {
        return sizeof(heaplet) + out_of_band_bytes(cut.capacity, cut.stride, cut.header) +
               cut.capacity * out_of_band_count_bytes;
    }
    // The slot policy's bytes behind the header.
    static constexpr std::size_t out_of_band_bytes(std::size_t n, std::size_t stride, std::size_t header) noexcept {
        return align_up(Slots::out_of_band_bytes(n, stride, header), std::size_t{8});
    }

    // Slots handed out and not counted as given back: below zero for a moment, where counting lags behind.
    std::int64_t used() const noexcept { return fresh.load(std::memory_order_relaxed) - freed(); }
    // By the holder of the heap's lock.
    std::int64_t freed() const noexcept { return state.freed() + locked_frees.slots; }
    void claim(std::uint32_t n) noexcept {
        if (const std::uint32_t rest = locked_frees.claim(n); rest != 0) state.claim(rest);
    }
    // Its list of free slots broke: it stays as it is until all of its rows were released.
    bool is_broken() const noexcept {
        if constexpr (encodes_links<Slots, Guard>) return slots.broken() != 0;
        return false;
    }
    // No thread may be in the page; so many of its slots were given back and not counted.
    bool valid(std::uint32_t uncounted = 0) noexcept {
        const std::int64_t all = freed() + uncounted;
        return fresh.load() <= cut.capacity && all >= 0 && all <= fresh.load() &&
               slots.valid(base(), cut, static_cast<std::uint32_t>(all));
    }
};

} // namespace allot::inline ALLOT_ABI
