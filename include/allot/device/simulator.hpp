// The simulator: devices without a GPU, for tests of code that allocates device memory or orders its use.
//
//     device::simulator sim{{.devices = 2, .execution = device::execution::delayed, .seed = 7}};
//     device::simulated api{sim};          // a model of device::api
//     ...                                  // the code under test, and sim.launch(stream, reads, writes, work)
//     CHECK(sim.hazards() == 0);
//     CHECK(sim.leaks() == 0);
//
// Tracks the order of operations with vector clocks, and reports each use of memory that is not ordered after an
// earlier use, however the work happened to run. Delayed execution and poison show the same errors in the bytes.
// docs/device.md lists what is checked and what is not. With one thread, equal options and calls give equal runs.
// Cost: 8 KiB and the tracked state; about 100 ns of host work per call (docs/device.md). Its state is on the heap; if
// the heap is exhausted, the program is terminated.
// Threads: any. A sink, and work that runs, must not call the simulator.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/device/simulator/call.hpp>
#include <allot/device/simulator/faults.hpp>
#include <allot/device/simulator/hazard.hpp>
#include <allot/device/simulator/operations.hpp>
#include <allot/device/simulator/options.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace allot::inline ALLOT_ABI {
namespace device {

/// A machine with simulated devices. The calls of the device seam are in its base classes; use them through
/// device::simulated. launch(), host_reads() and host_writes() are called directly.
class simulator : public detail::sim::operation_layer {
  public:
    static constexpr std::size_t max_reported_leaks = 16;

    explicit simulator(const simulator_options& options = {}) : operation_layer{options} {}
    /// Runs all queued work, then reports objects that were not freed to the sink: the first 16, and the number of
    /// others.
    ALLOT_OUTLINE_WARM ~simulator() {
        const std::lock_guard lock{mutex_};
        wait_for_all();
        std::size_t n = 0;
        visit_leaks([&](const leak& l) {
            if (++n <= max_reported_leaks) options_.sink.write_leak(options_.sink.context, l);
        });
        if (n > max_reported_leaks)
            options_.sink.write_leak(options_.sink.context, {"further objects:", nullptr, 0, n - max_reported_leaks});
    }

    const simulator_options& options() const noexcept { return options_; }

    // --- findings ----------------------------------------------------------------------------------------------
    /// The number of hazards found.
    std::uint64_t hazards() const {
        const std::lock_guard lock{mutex_};
        return log_.count();
    }
    /// Calls visit(hazard) for the first 64, in the order in which they were found. Requires: visit does not call the
    /// simulator.
    template <class Visit> void each_hazard(Visit&& visit) const {
        const std::lock_guard lock{mutex_};
        for (std::size_t i = 0; i != log_.kept(); ++i) visit(log_[i]);
    }
    /// Sets the number of hazards to 0.
    void forget_hazards() {
        const std::lock_guard lock{mutex_};
        log_.clear();
    }
    /// The number of objects that are not freed now: memory, mappings, address space, handles, streams, events, graphs.
    std::size_t leaks() {
        const std::lock_guard lock{mutex_};
        std::size_t n = 0;
        visit_leaks([&](const leak&) { ++n; });
        return n;
    }

    // --- counts ------------------------------------------------------------------------------------------------
    /// The number of times that a call was made, including those that failed.
    std::uint64_t count(call c) const {
        const std::lock_guard lock{mutex_};
        return counts_[static_cast<std::size_t>(c)];
    }
    /// The number of memory ranges that are tracked separately.
    std::size_t intervals() const {
        const std::lock_guard lock{mutex_};
        return uses_.intervals();
    }
    /// Nanoseconds of virtual time: the sum of the costs of all calls.
    std::uint64_t now() const {
        const std::lock_guard lock{mutex_};
        return costs_.now();
    }

    // --- costs and failures ------------------------------------------------------------------------------------
    /// Sets the virtual cost of a call; 0 by default.
    void charge(call c, std::uint64_t nanoseconds) {
        const std::lock_guard lock{mutex_};
        costs_.set(c, nanoseconds);
    }
    /// Plans a failure of this call.
    void fail(call c, const planned_failure& plan = {}) {
        const std::lock_guard lock{mutex_};
        faults_.plan(plan, false, c);
    }
    /// Plans a failure; calls of every kind count towards `nth`.
    void fail_any(const planned_failure& plan = {}) {
        const std::lock_guard lock{mutex_};
        faults_.plan(plan, true);
    }
    /// Every later call fails with device_lost, as after a kernel fault.
    void lose() {
        const std::lock_guard lock{mutex_};
        lost_ = true;
    }
    /// Undoes lose(), and removes planned failures.
    void revive() {
        const std::lock_guard lock{mutex_};
        lost_ = false;
        faults_.clear();
    }
    /// Runs all queued work, without ordering anything.
    void run_all() {
        const std::lock_guard lock{mutex_};
        for (detail::sim::stream_state& s : streams_) drain(s);
    }

  private:
    template <class Visit> void visit_leaks(Visit&& visit) {
        static constexpr const char* kinds[] = {"plain memory", "stream-ordered memory", "pinned memory"};
        for (const auto& [start, r] : regions_)
            visit(leak{kinds[static_cast<std::size_t>(r.kind)], reinterpret_cast<const void*>(start), r.bytes, 0});
        for (const auto& [start, m] : mappings_)
            visit(leak{"mapping", reinterpret_cast<const void*>(start), m.of.bytes, 0});
        for (const auto& [start, bytes] : reserved_)
            visit(leak{"address space", reinterpret_cast<const void*>(start), bytes, 0});
        physicals_.each([&](memory_type h, const detail::sim::physical& m) {
            if (!m.released) visit(leak{"memory handle", nullptr, m.bytes, h.index});
        });
        for (const detail::sim::stream_state& s : streams_)
            if (!s.is_default && s.alive) visit(leak{"stream", nullptr, 0, s.index});
        events_.each([&](event_type h, const detail::sim::event_state&) { visit(leak{"event", nullptr, 0, h.index}); });
        graphs_.each([&](graph_type h, const detail::sim::graph&) { visit(leak{"graph", nullptr, 0, h.index}); });
    }
};

} // namespace device
} // namespace allot::inline ALLOT_ABI
