// The trace of a row manager under watch::trace, as text and as JSON that chrome://tracing and Perfetto open.
//
// The JSON is Chrome's trace event format: each event is an instant of its thread, and a counter "charged" follows the
// pages. Allocates nothing. If the buffer is too small, the text is cut, and cut JSON is invalid: check is_truncated().
// An event takes 60 characters of text, or at most 220 of JSON, and its name. Threads: any, at any time.
// Source: the trace event format of Chromium's catapult, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/report/json.hpp>
#include <allot/watch/event_ring.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A thread number that trace viewers accept.
inline std::uint64_t thread_number(std::uintptr_t token) noexcept { return token >> 6 & 0x7fffffffu; }

} // namespace detail

/// Writes one line per event, oldest first: "     12.34 us  thread 12345  page taken  1 MiB, charged 3 MiB".
template <class Rows> void write_trace(text_writer& out, const Rows& rows) noexcept {
    out.put("trace of row manager ")
        .name(rows.name())
        .put(", ")
        .number(rows.trace_events())
        .put(" events so far")
        .newline();
    rows.visit_trace([&](const traced_event& e, std::uint64_t ns) {
        out.hundredths(ns / 10).put(" us").column(16).put("thread ").number(detail::thread_number(e.thread)).column(35);
        out.put(text_of(e.kind)).column(51).bytes(static_cast<std::size_t>(e.bytes)).put(", charged ");
        out.bytes(static_cast<std::size_t>(e.held));
        if (*e.name != 0) out.put(", ").name(e.name);
        out.newline();
    });
}

/// Writes the trace as one JSON object.
template <class Rows> void write_trace_json(text_writer& out, const Rows& rows) noexcept {
    detail::json_writer json{out};
    json.open().put("displayTimeUnit", "ns").key("traceEvents").open('[');
    json.open()
        .put("name", "process_name")
        .put("ph", "M")
        .put("pid", 1u)
        .key("args")
        .open()
        .put("name", rows.name())
        .close()
        .close();
    const auto start = [&](std::string_view name, const char* phase, const traced_event& e,
                           std::uint64_t ns) -> detail::json_writer& {
        json.open().put("name", name).put("cat", "allot").put("ph", phase).put("pid", 1u);
        return json.put("tid", detail::thread_number(e.thread)).key("ts").decimal(ns / 10); // microseconds
    };
    rows.visit_trace([&](const traced_event& e, std::uint64_t ns) {
        start(text_of(e.kind), "i", e, ns)
            .put("s", "t")
            .key("args")
            .open()
            .put("bytes", e.bytes)
            .put("what", e.name)
            .close()
            .close();
        if (e.kind == watch_event::page_taken || e.kind == watch_event::page_returned)
            start("charged", "C", e, ns).key("args").open().put("bytes", e.held).close().close();
    });
    json.close(']').close();
}

} // namespace allot::inline ALLOT_ABI
