// Captures: work of a capturing stream goes into a graph instead of running.
//
// A stream joins a capture by waiting for an event that was recorded in it; the origin stream must wait for it before
// the capture ends. Calls that are unsafe in a capture are refused by the rules of CUDA's modes, and invalidate the
// captures that refuse them. Races inside a graph are not checked: its launch is one operation that uses all its
// ranges.
// Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/device/kinds.hpp>
#include <allot/device/simulator/clock.hpp>
#include <allot/device/simulator/handles.hpp>
#include <allot/device/simulator/work.hpp>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

// CUDA's codes for errors in captures, named as cudaErrorStreamCapture...; captured_event is cudaErrorCapturedEvent.
namespace capture_code {
inline constexpr int unsupported = 900, invalidated = 901, unmatched = 903, unjoined = 904, isolation = 905,
                     implicit = 906, captured_event = 907, wrong_thread = 908;
} // namespace capture_code

struct captured_operation {
    const char* what = "";
    std::vector<range> reads;
    std::vector<range> writes;
    std::function<void()> run;
    bool copies = false; // checked with the rights of a copy
};

struct graph {
    int device = 0;
    std::vector<captured_operation> operations;
};

struct capture_record {
    capture_mode mode = capture_mode::global;
    std::thread::id thread;
    std::uint32_t origin = 0;
    bool invalid = false;
    std::vector<std::uint32_t> members; // its streams
    graph work;
};

class captures {
  public:
    using handle_type = handle<capture_record>;

    bool empty() const noexcept { return all_.size() == 0; }
    capture_record* find(handle_type h) noexcept { return all_.find(h); }
    handle_type begin(capture_mode mode, std::thread::id thread, std::uint32_t origin, int device) {
        const handle_type h = all_.insert();
        *all_.find(h) = {mode, thread, origin, false, {origin}, {device, {}}};
        return h;
    }
    void end(handle_type h) { all_.erase(h); }

    // Whether an unsafe call of this thread is refused; invalidates the captures that refuse it.
    bool refuse(std::thread::id thread, capture_mode thread_mode) {
        if (thread_mode == capture_mode::relaxed) return false;
        bool refused = false;
        all_.each([&](handle_type, capture_record& c) {
            if (c.mode == capture_mode::relaxed) return;
            if (c.thread != thread && (c.mode != capture_mode::global || thread_mode != capture_mode::global)) return;
            c.invalid = refused = true;
        });
        return refused;
    }
    template <class Visit> void each(Visit&& visit) {
        all_.each([&](handle_type, capture_record& c) { visit(c); });
    }

  private:
    slot_table<capture_record> all_;
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
