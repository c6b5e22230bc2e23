// The reports of a chunk arena: its use by size class, out of memory, and the blocks left at its end.
//
// They allocate nothing. Cost: a walk over the classes of all caches. Threads: any; report_leaked_blocks() only while
// no other thread uses the arena.
#pragma once

#include <allot/chunk/chunk_stats.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>
#include <allot/core/top_n.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Writes the lines of a report below its headline.
inline void write(text_writer& out, const chunk_stats& f) noexcept {
    out.put("  limit ");
    if (f.limit == SIZE_MAX) out.put("none");
    else out.bytes(f.limit);
    out.put(", charged ").bytes(f.charged).put(", peak ").bytes(f.peak).newline();
    out.put("  live ").bytes(f.live).put(" in ").number(f.live_blocks).put(f.live_blocks == 1 ? " block" : " blocks");
    out.put(" (whole pages: ").bytes(f.large).put("), cached ").bytes(f.cached).put(", free ").bytes(f.free);
    out.put(", largest free run ").bytes(f.largest_free_run).newline();
    if (f.granted == 0) return;
    out.put("  allocations ").number(f.allocations).put(", refused ").number(f.refused).put(", unused within blocks ");
    out.hundredths(f.waste()).put(" %").newline();
}

namespace detail {

// Writes limit, live bytes, and the four classes with the most live bytes.
template <class Blocks> void write_chunks(text_writer& out, const Blocks& blocks, const char* set) noexcept {
    out.put("chunk arena ").brief(blocks.name()).put(" (set ").put(set).put("), chunks of ");
    out.bytes(blocks.chunk_bytes()).newline();
    write(out, blocks.stats());
    top_n<class_usage, 4> top;
    blocks.usage([&](const class_usage& u) {
        if (u.live != 0) top.add(u, [](const class_usage& of) { return of.live * of.bytes; });
    });
    for (const class_usage& t : top) {
        out.put("    blocks of ").bytes(t.bytes).put(": ").number(t.live).put(" live, ");
        out.number(t.cached).put(" cached").newline();
    }
}

template <class Blocks>
[[noreturn]] ALLOT_COLD void raise_no_block(const Blocks& blocks, const char* set, const memory_request& asked,
                                            std::size_t align) {
    const charge_status why = asked.refusal();
    const auto request = [&](text_writer& out) {
        out.put("out of memory: ").bytes(asked.bytes).put(" aligned to ").bytes(align);
    };
    const auto page = [&](text_writer& out) {
        if constexpr (requires { blocks.account(); }) write_top_holders(out, blocks.account().root(), why);
        blocks.report(out);
        out.put("  tried: the caches of all threads, free pages of the chunks, other clients of the arena").newline();
    };
    raise_refused(request, set, blocks.name(), why, asked.bytes, page, [&](text_writer& out) {
        if constexpr (requires { blocks.account(); }) blocks.account().write_failures(out, why);
    });
}

template <class Blocks>
ALLOT_COLD void report_leaked_blocks(const Blocks& blocks, const char* set, const leak_sink& sink) noexcept {
    const chunk_stats f = blocks.stats();
    if (f.live_blocks == 0) return;
    char page[out_of_memory::report_bytes];
    text_writer out{page};
    out.put("allot: chunk arena ").brief(blocks.name()).put(" (set ").put(set).put(") ended with ");
    out.number(f.live_blocks).put(f.live_blocks == 1 ? " block" : " blocks").put(" not deallocated, ");
    out.bytes(f.live).put(":").newline();
    blocks.usage([&](const class_usage& u) {
        if (u.live != 0) out.put("    ").number(u.live).put(" of ").bytes(u.bytes).newline();
    });
    if (f.large != 0) out.put("    whole pages: ").bytes(f.large).newline();
    sink.write(sink.context, out.view());
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
