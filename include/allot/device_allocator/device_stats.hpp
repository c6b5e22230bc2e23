// The statistics of a device allocator, and their lines in reports and in out_of_memory. Nothing allocates.
// Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/device/error.hpp>
#include <allot/device/id.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Statistics of a device allocator at one moment, in bytes unless said otherwise. live + free = charged;
/// free = free_for_all + free_after_wait + captured.
struct device_stats {
    std::size_t live = 0;             // in live blocks, sizes rounded up to 256
    std::size_t live_blocks = 0;      // number
    std::size_t charged = 0;          // memory held of the device: what the limit bounds
    std::size_t peak = 0;             // the largest value of charged; 0 where the set charges no ledger
    std::size_t limit = 0;            // SIZE_MAX: none
    std::size_t mapped = 0;           // part of charged: in the reserved range; the rest are plain segments
    std::size_t pieces = 0;           // number
    std::size_t largest_free_run = 0; // of any stream
    std::size_t free_for_all = 0;     // free for every stream at once
    std::size_t free_after_wait = 0;  // free for the stream that freed it, and for others after a wait
    std::size_t captured = 0;         // freed in captures, or on streams without an entry; until release_captured()
    std::size_t streams = 0;          // number of streams that were used and have not left
    std::size_t metadata = 0;         // of host memory
    std::uint64_t events = 0;         // number of events recorded so far
    std::uint64_t waits = 0;          // number of waits of a stream for an event, so far
    // Numbers so far; 0 under watch::none.
    std::uint64_t allocations = 0, frees = 0, refused = 0;
    std::uint64_t steals = 0;              // allocations from memory that another stream freed
    std::uint64_t grown = 0, released = 0; // pieces mapped, pieces returned to the device
    std::uint64_t joined = 0;              // allocations from adjacent runs of several streams
};

/// The free memory of one stream.
struct stream_stats {
    std::uint64_t id = 0;
    std::size_t free_bytes = 0;
    std::size_t free_runs = 0;
    std::size_t largest = 0;   // bytes of its largest free run
    std::uint64_t frees = 0;   // so far, also of destroyed streams whose entry this stream reuses
    std::uint64_t covered = 0; // frees with an event behind them
    bool destroyed = false;    // the stream left or was destroyed
};

/// Writes the lines of a report below its headline.
ALLOT_OUTLINE void write(text_writer& out, const device_stats& f) noexcept {
    out.put("  limit ");
    if (f.limit == SIZE_MAX) out.put("none");
    else out.bytes(f.limit);
    out.put(", charged ").bytes(f.charged).put(" in ").number(f.pieces).put(f.pieces == 1 ? " piece" : " pieces");
    out.put(" (mapped ").bytes(f.mapped).put("), peak ").bytes(f.peak).newline();
    out.put("  live ").bytes(f.live).put(" in ").number(f.live_blocks).put(f.live_blocks == 1 ? " block" : " blocks");
    out.put(", free ").bytes(f.charged - f.live).put(", largest free run ").bytes(f.largest_free_run).newline();
    out.put("  free for every stream ")
        .bytes(f.free_for_all)
        .put(", free after a wait ")
        .bytes(f.free_after_wait)
        .put(" (");
    out.number(f.streams).put(f.streams == 1 ? " stream)" : " streams)");
    if (f.captured != 0) out.put(", held by captures ").bytes(f.captured);
    out.newline();
    out.put("  events ")
        .number(f.events)
        .put(", waits ")
        .number(f.waits)
        .put(", frees ")
        .number(f.frees)
        .put(", reused from other streams ");
    out.number(f.steals).put(", refused ").number(f.refused).newline();
}

} // namespace allot::inline ALLOT_ABI
