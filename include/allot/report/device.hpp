// Report of a device allocator as JSON: its statistics, every stream with free memory, the device's last error. As
// text: gpu.report(out).
//
// Allocates nothing. Numbers are read one after the other and may not match. If the buffer is too small, the text is
// cut and is_truncated() is true: it takes 700 characters, and about 100 per stream. Members that do not apply are left
// out: `limit` without a limit, `device_error` while nothing failed.
// Cost: that of stats() and visit_streams(). Threads: any, at any time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/core/type_name.hpp>
#include <allot/device_allocator/device_allocator.hpp>
#include <allot/report/json.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Writes the report as one JSON object.
template <class Set> void write_report_json(text_writer& out, const device_allocator<Set>& gpu) noexcept {
    detail::json_writer json{out};
    const device_stats f = gpu.stats();
    json.open().put("allocator", gpu.name()).put("set", type_name<Set>());
    if constexpr (requires { gpu.account(); }) json.put("account", gpu.account().path().text());
    json.put("device", static_cast<std::uint64_t>(gpu.device().index));
    if (f.limit != SIZE_MAX) json.put("limit", f.limit);
    json.put("charged", f.charged).put("mapped", f.mapped).put("pieces", f.pieces).put("peak", f.peak);
    json.put("live", f.live).put("live_blocks", f.live_blocks).put("largest_free_run", f.largest_free_run);
    json.put("free_for_all", f.free_for_all).put("free_after_wait", f.free_after_wait).put("captured", f.captured);
    json.put("events", f.events).put("waits", f.waits).put("allocations", f.allocations).put("frees", f.frees);
    json.put("refused", f.refused).put("steals", f.steals).put("joined", f.joined);
    json.put("grown", f.grown).put("released", f.released).put("host_metadata", f.metadata);
    json.key("streams").open('[');
    gpu.visit_streams([&](const stream_stats& s) {
        json.open().put("id", s.id).put("destroyed", s.destroyed).put("free", s.free_bytes).put("runs", s.free_runs);
        json.put("largest", s.largest).put("frees", s.frees).put("covered_by_events", s.covered).close();
    });
    json.close(']');
    if (const device::error last = gpu.last_error(); last.kind != device::failure::none) {
        char text[256];
        text_writer error{text};
        write(error, last);
        json.put("device_error", error.view());
    }
    json.close();
}

} // namespace allot::inline ALLOT_ABI
