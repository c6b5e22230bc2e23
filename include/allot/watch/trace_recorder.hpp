// What watch::trace records beside peaks and counters: a ring of events with time and thread.
//
// Times are ticks of the processor, because a release may make no system call; a reader turns them into nanoseconds
// by the ticks that passed since the recorder was made.
// Cost: that of an event a page, not a row; 64 bytes an event of the ring. Threads: any.
// Source: HPCC roxiemem's trace level, 2009; ring and dump after jemalloc's and perfetto's in-process traces.
#pragma once

#include <allot/config.hpp>
#include <allot/watch/event_ring.hpp>
#include <allot/watch/peak_recorder.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

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
        record(watch_event::page_given, bytes);
    }
    void refused(std::size_t bytes) noexcept {
        peak_recorder::refused(bytes);
        record(watch_event::refused, bytes);
    }

    // Visits (event, nanoseconds since the recorder was made), the oldest first.
    template <class Visit> void visit(Visit visit) const {
        const std::uint64_t ticks = sys::ticks() - ticks_, ns = sys::fine_clock::now() - ns_;
        const double ns_a_tick = ticks != 0 ? static_cast<double>(ns) / static_cast<double>(ticks) : 1.0;
        ring_.visit([&](const traced_event& e) {
            const double since = e.ticks > ticks_ ? static_cast<double>(e.ticks - ticks_) * ns_a_tick : 0.0;
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

} // namespace allot::inline ALLOT_ABI
