// A heaplet: one page cut into slots of one size, with a header at the page's start.
//
//   0           64            128            192         192 + bits    192 + bits + counts
//   | constant  | state and     | slots and    | free bits | link counts | rows ...
//   | fields    | lists         | counts       |           | (optional)  |
//
// The header is three cache lines. Frees without the lock write the second, and changes of a list. Claims and frees
// under the lock need the third and that of their bits, which follow it: pages start at the same places of the caches,
// so few of their lines stay there at once. With header_out_of_band all but the rows is in host memory
// (heap/header_location.hpp), and nothing here touches the page.
// Invariant: slots below `fresh` were handed out at least once; slots above it were never touched.
// Cost: 192 bytes per page, its guard's fields included; the slot policy's bits; 4 bytes per slot where link counts are
// out of band.
// Source: HPCC roxiemem's ChunkedHeaplet, 2010.
#pragma once

#include <allot/core/bits.hpp>
#include <allot/core/category/guard.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/guard/canary.hpp>
#include <allot/guard/encoded_links.hpp>
#include <allot/heap/header_location.hpp>
#include <allot/heap/locked_free_count.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/slots/geometry.hpp>
#include <allot/slots/state.hpp>
#include <allot/sys/poison.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Slots, class Guard = guard::none, class Location = header_in_page>
struct alignas(64) heaplet : page_header {
    using location_type = Location;

    // Of a row with no header in front, where the page's own is out of band.
    static constexpr std::size_t least_offset = [] {
        if constexpr (requires { Slots::least_offset; }) return std::size_t{Slots::least_offset};
        else return std::size_t{0};
    }();

    slot_geometry cut;
    std::uint32_t threshold = 1; // freed slots at which the page is listed as having space
    ALLOT_NO_UNIQUE_ADDRESS page_canary<Guard> guarded;
    ALLOT_NO_UNIQUE_ADDRESS Location location;

    alignas(64) slot_state state;
    std::atomic<heaplet*> space_link{nullptr};
    std::atomic<heaplet*> empty_link{nullptr};
    list_hook<heaplet> in_ready;
    list_hook<heaplet> in_all;
    bool is_ready = false;               // in the heap's list of ready pages
    std::atomic<bool> is_emptied{false}; // a compaction moves its rows to other pages; written under the heap's lock
    std::uint32_t marked = 0;            // rows that the compaction may move

    alignas(64) free_slots<Slots, Guard> slots;
    std::atomic<std::uint32_t> fresh{0};
    locked_free_count locked_frees; // slots freed under the lock that `state` does not count yet
    std::uint32_t number = 0;       // in its heap's live_slots; 0: the page is newer

    // Start of the page.
    std::byte* base() noexcept {
        if constexpr (Location::out_of_band) return location.memory;
        else return reinterpret_cast<std::byte*>(this);
    }
    // Of the arena.
    std::size_t pages() const noexcept {
        if constexpr (Location::out_of_band) return location.pages;
        else return 1;
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
            return allot::detail::compute_geometry(page_bytes, least_offset, row_bytes, align, header,
                                                   [](std::size_t) { return std::size_t{0}; });
        return allot::detail::compute_geometry(
            page_bytes, sizeof(heaplet), row_bytes, align, header,
            [&](std::size_t n) { return out_of_band_bytes(n, stride, header) + n * out_of_band_count_bytes; });
    }

    // Host memory for an out-of-band header, with its bits and counts.
    static std::size_t header_bytes(const slot_geometry& cut, std::size_t out_of_band_count_bytes) noexcept {
        return sizeof(heaplet) + out_of_band_bytes(cut.capacity, cut.stride, cut.header) +
               cut.capacity * out_of_band_count_bytes;
    }
    // The slot policy's bytes after the header.
    static constexpr std::size_t out_of_band_bytes(std::size_t n, std::size_t stride, std::size_t header) noexcept {
        return align_up(Slots::out_of_band_bytes(n, stride, header), std::size_t{8});
    }

    // ---- for AddressSanitizer and valgrind: of a page's slots only the bytes of rows may be used --------------------

    // Bytes that a row may use, its type's checksum included.
    static std::size_t usable(const slot_geometry& cut) noexcept { return cut.stride - cut.header - Guard::row_bytes; }
    // Of a new page.
    void hide_slots(std::size_t page_bytes) noexcept {
        const std::size_t from = cut.first - cut.header;
        if (!Location::on_device && ends(cut) == sys::unit_ends::own) sys::hide(base() + from, page_bytes - from);
    }
    // The slot is free.
    ALLOT_ALWAYS_INLINE static void poison(const slot_geometry& cut, std::byte* row) noexcept {
        if constexpr (!Location::on_device) sys::poison(row, usable(cut), ends(cut));
    }
    // It holds a row; the contents are unspecified, or those from before poison().
    ALLOT_ALWAYS_INLINE static void unpoison(const slot_geometry& cut, std::byte* row) noexcept {
        if constexpr (!Location::on_device) sys::unpoison(row, usable(cut), ends(cut));
    }
    static void expose(const slot_geometry& cut, std::byte* row) noexcept {
        if constexpr (!Location::on_device) sys::expose(row, usable(cut), ends(cut));
    }

    // Slots handed out and not counted as freed: too many while frees are not counted yet. Requires the heap's lock.
    std::int64_t used() const noexcept { return fresh.load(std::memory_order_relaxed) - freed(); }
    // Slots freed and counted. Requires the heap's lock.
    std::int64_t freed() const noexcept { return state.freed() + locked_frees.slots; }
    void claim(std::uint32_t n) noexcept {
        if (const std::uint32_t rest = locked_frees.claim(n); rest != 0) state.claim(rest);
    }
    // True if a link between its free slots is invalid: no slot is claimed any more, and the page stays with the heap
    // until all its rows are released.
    bool is_broken() const noexcept {
        if constexpr (encodes_links<Slots, Guard>) return slots.broken() != 0;
        return false;
    }
    // `uncounted`: slots freed and not counted yet. No other thread may use the page meanwhile.
    bool valid(std::uint32_t uncounted = 0) noexcept {
        const std::int64_t all = freed() + uncounted;
        return fresh.load() <= cut.capacity && all >= 0 && all <= fresh.load() &&
               slots.valid(base(), cut, static_cast<std::uint32_t>(all));
    }

  private:
    // Two rows share a unit only where nothing lies between them.
    static sys::unit_ends ends(const slot_geometry& cut) noexcept {
        const bool apart = cut.header + Guard::row_bytes != 0 || (cut.first | cut.stride) % 8 == 0;
        return apart ? sys::unit_ends::own : sys::unit_ends::shared;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
