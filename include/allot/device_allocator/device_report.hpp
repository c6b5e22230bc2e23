// The report of a device allocator: one page of text, and the out_of_memory that carries it.
//
// Uses public members of the allocator only, and allocates nothing. Cost: that of stats() and visit_streams().
// Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>
#include <allot/core/top_n.hpp>
#include <allot/core/type_name.hpp>
#include <allot/device_allocator/device_stats.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Limit, live and reserved bytes, the largest free run, the four streams with the most free bytes, the device's last
// error.
template <class Gpu> void write_device_report(text_writer& out, const Gpu& gpu) noexcept {
    out.put("device allocator ")
        .brief(gpu.name())
        .put(" (set ")
        .put(type_name_c_str<typename Gpu::set>())
        .put(") on device ");
    out.number(static_cast<std::uint64_t>(gpu.device().index)).newline();
    write(out, gpu.stats());
    top_n<stream_stats, 4> top;
    gpu.visit_streams([&](const stream_stats& f) {
        if (f.free_bytes != 0) top.add(f, [](const stream_stats& of) { return of.free_bytes; });
    });
    for (const stream_stats& t : top) {
        out.put("    stream ")
            .number(t.id)
            .put(t.destroyed ? " (destroyed): " : ": ")
            .bytes(t.free_bytes)
            .put(" free in ")
            .number(t.free_runs);
        out.put(" runs, largest ").bytes(t.largest).newline();
    }
    if (const device::error last = gpu.last_error(); last.kind != device::failure::none) {
        out.put("  last error of the device: ");
        write(out, last);
        out.newline();
    }
    if constexpr (requires { gpu.account(); }) write_top_holders(out, gpu.account().root());
}

template <class Gpu>
[[noreturn]] ALLOT_COLD void raise_out_of_device_memory(const Gpu& gpu, const memory_request& asked,
                                                        std::size_t align) {
    const charge_status why = asked.refusal();
    const auto request = [&](text_writer& out) {
        out.put("out of device memory: ").bytes(asked.bytes).put(" aligned to ").bytes(align);
    };
    const auto page = [&](text_writer& out) {
        if constexpr (requires { gpu.account(); }) write_top_holders(out, gpu.account().root(), why);
        write_device_report(out, gpu);
    };
    raise_refused(request, type_name_c_str<typename Gpu::set>(), gpu.name(), why, asked.bytes, page,
                  [&](text_writer& out) {
                      if constexpr (requires { gpu.account(); }) gpu.account().write_failures(out, why);
                  });
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
