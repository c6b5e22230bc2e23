// Reports of a chunk arena as text and JSON: limit; live, cached and free bytes; waste; every size class; the arena.
//
// Allocates nothing. Numbers are read one after the other and may not match. If the buffer is too small, the text is
// cut and is_truncated() is true: a class takes about 60 characters, in JSON 90.
// Cost: a walk over all caches for each class. Threads: any, at any time. Source: Netty's arena metrics, 2015.
#pragma once

#include <allot/chunk/chunk_stats.hpp>
#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/core/type_name.hpp>
#include <allot/report/json.hpp>

namespace allot::inline ALLOT_ABI {

template <class Set> class chunk_arena;

/// Writes the report as text.
template <class Set> void write_report(text_writer& out, const chunk_arena<Set>& blocks) noexcept {
    out.put("chunk arena ")
        .name(blocks.name())
        .put(" (set ")
        .put(type_name<Set>())
        .put("), chunks of ")
        .bytes(blocks.chunk_bytes())
        .newline();
    write(out, blocks.stats());
    blocks.arena().report(out);
    out.put("  classes").newline();
    blocks.usage([&](const class_usage& u) {
        out.put("    ").bytes(u.bytes).put(": ").number(u.live).put(" live, ").number(u.cached).put(" cached, ");
        out.number(u.allocations).put(" allocations").newline();
    });
}

/// Writes the report as one JSON object.
template <class Set> void write_report_json(text_writer& out, const chunk_arena<Set>& blocks) noexcept {
    detail::json_writer json{out};
    const chunk_stats f = blocks.stats();
    const auto pages = blocks.arena().stats();
    json.open().put("chunk_arena", blocks.name()).put("set", type_name<Set>()).put("chunk_bytes", blocks.chunk_bytes());
    if constexpr (requires { blocks.account(); }) json.put("account", blocks.account().path().text());
    json.put("limit", f.limit)
        .put("charged", f.charged)
        .put("peak", f.peak)
        .put("live", f.live)
        .put("live_blocks", f.live_blocks);
    json.put("large", f.large).put("cached", f.cached).put("free", f.free).put("largest_free_run", f.largest_free_run);
    json.put("allocations", f.allocations)
        .put("refused", f.refused)
        .put("requested", f.requested)
        .put("granted", f.granted);
    json.key("waste_percent").decimal(f.waste()).put("metadata", f.metadata);
    json.key("arena")
        .open()
        .put("name", blocks.arena().name())
        .put("page_kind", blocks.arena().page_kind())
        .put("taken", pages.taken);
    json.put("committed", pages.committed)
        .put("largest_free_run", pages.largest_free_run)
        .put("returned", pages.returned)
        .close();
    json.key("classes").open('[');
    blocks.usage([&](const class_usage& u) {
        json.open().put("bytes", u.bytes).put("live", u.live).put("cached", u.cached);
        json.put("allocations", u.allocations).put("requested", u.requested).close();
    });
    json.close(']').close();
}

} // namespace allot::inline ALLOT_ABI
