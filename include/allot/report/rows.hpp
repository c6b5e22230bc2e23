// Reports of a row manager as text and JSON: limits, arena, every heap, row types now and, under watch::peaks and
// watch::trace, at the peak.
//
// Allocates nothing. Numbers are read one after the other and may not match. If the buffer is too small, the text is
// cut and is_truncated() is true: a heap or type takes about 100 characters, in JSON 200.
// Cost: that of usage() and usage_by_type(), which walk all heaps and their pages. Threads: any, at any time.
// Source: HPCC roxiemem's reportMemoryUsage and reportPeakStatistics, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/core/type_name.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/report/json.hpp>
#include <allot/watch/type_histogram.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline const char* type_text(const type_usage& u) noexcept { return u.type != nullptr ? u.type->name : "other types"; }

// part / whole in hundredths of a percent.
inline std::uint64_t share(std::size_t part, std::size_t whole) noexcept {
    return whole == 0
               ? 0
               : static_cast<std::uint64_t>(static_cast<double>(part) / static_cast<double>(whole) * 10000.0 + 0.5);
}

inline void write_types(text_writer& out, const type_histogram& types) noexcept {
    out.put(types.exact() ? "" : ", estimated").newline();
    const std::size_t all = types.bytes();
    types.for_each([&](const type_usage& u) {
        out.put("    ")
            .name(type_text(u))
            .put(": ")
            .number(u.rows)
            .put(u.rows == 1 ? " row, " : " rows, ")
            .bytes(u.bytes)
            .put(", ");
        out.hundredths(share(u.bytes, all)).put(" %").newline();
    });
}
inline void write_types(json_writer& json, const type_histogram& types) noexcept {
    json.put("exact", types.exact()).key("types").open('[');
    types.for_each([&](const type_usage& u) {
        json.open().put("type", type_text(u)).put("rows", u.rows).put("bytes", u.bytes).close();
    });
    json.close(']');
}

template <class T> concept has_set = requires { typename T::set; };

} // namespace detail

/// Writes the report as text.
template <detail::has_set Rows> void write_report(text_writer& out, const Rows& rows) noexcept {
    const auto now = rows.stats();
    out.put("row manager ").name(rows.name()).put(" (set ").put(type_name<typename Rows::set>()).put(")").newline();
    out.put("  limit ").bytes(now.limit).put(", charged ").bytes(now.charged).put(", peak ").bytes(now.peak).newline();
    out.put("  live ").number(now.live_rows).put(" rows of ").bytes(now.live_bytes).put(", ");
    out.hundredths(detail::share(now.live_bytes, now.charged))
        .put(" % of what is charged; resident ")
        .bytes(now.resident);
    out.put(", returned to the system so far ").bytes(rows.arena().stats().returned).newline();
    rows.arena().report(out);
    out.put("  heaps").newline();
    rows.usage([&](const heap_usage& u) {
        out.put("    ").name(u.name);
        if (u.slot_bytes != 0) out.put(" of ").number(u.slot_bytes).put(" bytes");
        if (u.type != nullptr) out.put(" (").name(u.type->name).put(")");
        out.put(": ")
            .number(u.live_rows)
            .put(" live, ")
            .number(u.cached_rows)
            .put(" cached, ")
            .number(u.pages)
            .put(" pages");
        const std::size_t live = u.slot_bytes != 0 ? u.live_rows * u.slot_bytes : u.bytes;
        out.put(", ").hundredths(detail::share(live, u.bytes)).put(" % in use").newline();
    });
    out.put("  row types now");
    detail::write_types(out, rows.usage_by_type());
    if constexpr (requires { rows.usage_at_peak(); }) {
        const auto peak = rows.usage_at_peak();
        out.put("  row types when ").bytes(peak.charged).put(" were charged");
        detail::write_types(out, peak.types);
    }
}

/// Writes the report as one JSON object.
template <detail::has_set Rows> void write_report_json(text_writer& out, const Rows& rows) noexcept {
    detail::json_writer json{out};
    const auto now = rows.stats();
    const auto pages = rows.arena().stats();
    json.open().put("manager", rows.name()).put("set", type_name<typename Rows::set>());
    if constexpr (requires { rows.account(); }) json.put("account", rows.account().path().text());
    json.put("limit", now.limit).put("charged", now.charged).put("peak", now.peak);
    json.put("live_rows", now.live_rows).put("live_bytes", now.live_bytes);
    json.key("live_percent_of_charged").decimal(detail::share(now.live_bytes, now.charged));
    json.key("arena").open().put("name", rows.arena().name()).put("page_kind", rows.arena().page_kind());
    json.put("page_bytes", rows.arena().page_bytes()).put("reserved", pages.reserved).put("limit", pages.limit);
    json.put("taken", pages.taken).put("peak_taken", pages.peak_taken).put("committed", pages.committed);
    json.put("resident", now.resident).put("free", pages.free).put("largest_free_run", pages.largest_free_run);
    json.put("returned", pages.returned).close();
    if constexpr (requires { rows.charges(); }) {
        const auto charges = rows.charges();
        json.key("charges").open().put("succeeded", charges.charges).put("refused", charges.refused);
        json.put("charged", charges.charged).put("refunded", charges.refunded).close();
    }
    json.key("heaps").open('[');
    rows.usage([&](const heap_usage& u) {
        json.open().put("name", u.name);
        if (u.type != nullptr) json.put("type", u.type->name);
        json.put("row_bytes", u.row_bytes).put("slot_bytes", u.slot_bytes).put("live_rows", u.live_rows);
        json.put("cached_rows", u.cached_rows).put("pages", u.pages).put("bytes", u.bytes).close();
    });
    json.close(']').key("now").open();
    detail::write_types(json, rows.usage_by_type());
    json.close();
    if constexpr (requires { rows.usage_at_peak(); }) {
        const auto peak = rows.usage_at_peak();
        json.key("at_peak").open().put("charged", peak.charged);
        detail::write_types(json, peak.types);
        json.close();
    }
    json.close();
}

} // namespace allot::inline ALLOT_ABI
