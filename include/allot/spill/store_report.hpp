// What a store adds to the report of an out_of_memory, and to its line where its home fails.
//
// Allocates nothing. Cost: none until a report is written. Threads: any; takes the lock of the home's tree.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/spill_error.hpp>
#include <allot/spill/store_stats.hpp>
#include <allot/spill/write_backoff.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline void write_pause(text_writer& out, std::uint64_t ns) noexcept {
    out.put(" does not try for ").number(ns / 1'000'000 + 1).put(" ms more");
}
// ", 1 MiB in memory; 2 MiB left, of 2 MiB written to disk (12 ms): 2 MiB used".
inline void write_store(text_writer& out, const home& at, const store_stats& s) noexcept {
    out.put(", ").bytes(s.in_memory).put(" in memory; ").bytes(s.bytes_left).put(" left, of ");
    out.bytes(s.bytes_written).put(" written to ").brief(at.by().name());
    out.put(" (").number(at.traffic().write_ns / 1'000'000).put(" ms): ").bytes(at.by().used());
    if (at.by().limit() != SIZE_MAX) out.put(" used of ").bytes(at.by().limit());
    else out.put(" used");
    if (s.failures != 0) allot::write(out.put(", ").number(s.failures).put(" failures, the last "), s.last_failure);
    if (s.paused_ns != 0) write_pause(out.put("; it"), s.paused_ns);
}
// "; data cannot write to disk, and does not try for 40 ms more: failed: write /tmp at 0, 1 MiB: Input/output error".
inline void write_failure(text_writer& out, std::string_view name, const home& at, const write_backoff& now) noexcept {
    if (!now.has_failed(at.by().headroom())) return;
    home_status why = now.last();
    char file[68];
    text_writer{file}.brief(why.file); // so that the error fits
    why.file = file;
    out.put("; ").brief(name).put(" cannot write to ").brief(at.by().name());
    if (const std::uint64_t ns = now.left(); ns != 0) write_pause(out.put(", and"), ns);
    allot::write(out.put(": "), why);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
