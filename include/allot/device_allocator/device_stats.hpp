// A device allocator's figures at a moment, and the page of text that reports and out_of_memory show.
//
// Nothing here allocates. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/device/error.hpp>
#include <allot/device/id.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Bytes unless said otherwise. live + free = reserved.
struct device_stats {
    std::size_t live = 0;             // in blocks that are handed out, rounded up to 256
    std::size_t live_blocks = 0;      // in number
    std::size_t reserved = 0;         // memory of the device that is held: what the limit bounds
    std::size_t peak = 0;             // the most that was; 0 where the set charges nobody
    std::size_t limit = 0;            // SIZE_MAX: none
    std::size_t mapped = 0;           // of reserved: in the one range; the rest are plain segments
    std::size_t pieces = 0;           // in number
    std::size_t largest_free_run = 0; // of any stream
    std::size_t clean = 0;            // free for every stream at once
    std::size_t resting = 0;          // of these: in pieces that were wholly free at retain::idle's last look
    std::size_t stranded = 0;         // free for the stream that freed it, and for others after a wait
    std::size_t held = 0;             // freed in captures or where nobody can tell when: see release_held
    std::size_t streams = 0;          // in number, all that were seen and have not left
    std::size_t metadata = 0;         // on the host
    std::uint64_t events = 0;         // recorded so far
    std::uint64_t waits = 0;          // of a stream for an event, so far
    // so far; 0 under watch::none
    std::uint64_t allocations = 0, frees = 0, refused = 0;
    std::uint64_t steals = 0;              // allocations from what another stream had freed
    std::uint64_t grown = 0, released = 0; // pieces
    std::uint64_t joined = 0;              // allocations from runs of several streams side by side
};

/// What is free under one stream.
struct stream_stats {
    std::uint64_t id = 0;
    std::size_t free_bytes = 0;
    std::size_t free_runs = 0;
    std::size_t largest = 0;
    std::uint64_t frees = 0;   // so far, of this stream and those whose place it took
    std::uint64_t covered = 0; // of those, with an event behind them
    bool gone = false;
};

/// The lines of a report under its headline.
inline void write(text_writer& out, const device_stats& f) noexcept {
    out.put("  limit ");
    if (f.limit == SIZE_MAX) out.put("none");
    else out.bytes(f.limit);
    out.put(", reserved ").bytes(f.reserved).put(" in ").number(f.pieces).put(f.pieces == 1 ? " piece" : " pieces");
    out.put(" (mapped ").bytes(f.mapped).put("), peak ").bytes(f.peak).newline();
    out.put("  live ").bytes(f.live).put(" in ").number(f.live_blocks).put(f.live_blocks == 1 ? " block" : " blocks");
    out.put(", free ").bytes(f.reserved - f.live).put(", largest free run ").bytes(f.largest_free_run).newline();
    out.put("  free for all ").bytes(f.clean).put(", stranded by stream ").bytes(f.stranded).put(" (");
    out.number(f.streams).put(f.streams == 1 ? " stream)" : " streams)");
    if (f.held != 0) out.put(", held by captures ").bytes(f.held);
    out.newline();
    out.put("  events ")
        .number(f.events)
        .put(", waits ")
        .number(f.waits)
        .put(", frees ")
        .number(f.frees)
        .put(", from other streams ");
    out.number(f.steals).put(", refused ").number(f.refused).newline();
}

} // namespace allot::inline ALLOT_ABI
