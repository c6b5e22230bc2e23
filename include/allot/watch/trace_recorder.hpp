// watch::trace: peaks and counters, and a ring of events with time and thread.
//
// Times are ticks of the processor, since a release may make no system call. A reader converts them to nanoseconds by
// the ticks since the recorder was constructed.
// Cost: one event per page, none per row; 64 bytes per event of the ring. Threads: any.
// Source: HPCC roxiemem's trace level, 2009; ring and dump as in jemalloc's and perfetto's in-process traces.
#pragma once

#include <allot/config.hpp>
#include <allot/watch/event_ring.hpp>
#include <allot/watch/peak_recorder.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <std::size_t Events> class trace_recorder : public peak_recorder {
  public:
    void record(watch_event kind, std::size_t bytes, const char* name = "") noexcept {
        ring_.write(kind, bytes, held(), name);
    }
    void charged(std::size_t bytes) noexcept {
        peak_recorder::charged(bytes);
        record(watch_event::page_taken, bytes);
    }
    void refunded(std::size_t bytes) noexcept {
        peak_recorder::refunded(bytes);
        record(watch_event::page_returned, bytes);
    }
    void refused(std::size_t bytes) noexcept {
        peak_recorder::refused(bytes);
        record(watch_event::refused, bytes);
    }

    // Calls visit(event, nanoseconds since the recorder was constructed), oldest first.
    template <class Visit> void visit(Visit visit) const {
        const std::uint64_t ticks = sys::ticks() - ticks_, ns = sys::fine_clock::now() - ns_;
        const double ns_per_tick = ticks != 0 ? static_cast<double>(ns) / static_cast<double>(ticks) : 1.0;
        ring_.visit([&](const traced_event& e) {
            const double since = e.ticks > ticks_ ? static_cast<double>(e.ticks - ticks_) * ns_per_tick : 0.0;
            visit(e, static_cast<std::uint64_t>(since));
        });
    }
    std::uint64_t events() const noexcept { return ring_.count(); }
    std::uint64_t dropped() const noexcept { return ring_.dropped(); }

  private:
    const std::uint64_t ns_ = sys::fine_clock::now();
    const std::uint64_t ticks_ = sys::ticks();
    event_ring<Events> ring_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
