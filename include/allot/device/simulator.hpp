// The simulated machine: devices without a GPU, for tests of whatever allocates or orders memory on one.
//
//     device::simulator sim{{.devices = 2, .execution = device::execution::delayed, .seed = 7}};
//     device::simulated api{sim};          // a model of device::api
//     ...                                  // the code under test, and sim.launch(stream, reads, writes, work)
//     CHECK(sim.hazards() == 0);
//     CHECK(sim.leaks() == 0);
//
// It follows who is ordered after whom by vector clocks and tells every use of memory that is not ordered after what
// came before, in whatever order things happened to run; delayed execution and poison show the same in the bytes. What
// it checks and what it does not: docs/device.md. Same options and calls: same run, under one thread.
// Cost: 8 KiB and what it follows; some 100 ns of host work a call (docs/device.md has the figures). Memory for its
// books comes from the heap; where there is none, it ends the program.
// Threads: any. A sink and queued work must not call it.
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

class simulator : public sim::operation_layer {
  public:
    static constexpr std::size_t max_reported_leaks = 16;

    explicit simulator(const simulator_options& options = {}) : operation_layer{options} {}
    /// Runs what is queued, and tells the sink what was not given back: the first 16, and how many more.
    ~simulator() {
        const std::lock_guard lock{mutex_};
        wait_for_all();
        std::size_t n = 0;
        visit_leaks([&](const leak& l) {
            if (++n <= max_reported_leaks) options_.sink.write_leak(options_.sink.context, l);
        });
        if (n > max_reported_leaks)
            options_.sink.write_leak(options_.sink.context, {"others, in number:", nullptr, 0, n - max_reported_leaks});
    }

    const simulator_options& options() const noexcept { return options_; }

    // --- what was found ----------------------------------------------------------------------------------------
    std::uint64_t hazards() const {
        const std::lock_guard lock{mutex_};
        return log_.count();
    }
    /// The first 64, in the order in which they were found.
    template <class Visit> void each_hazard(Visit&& visit) const {
        const std::lock_guard lock{mutex_};
        for (std::size_t i = 0; i != log_.kept(); ++i) visit(log_[i]);
    }
    void forget_hazards() {
        const std::lock_guard lock{mutex_};
        log_.clear();
    }
    /// What is not given back now.
    std::size_t leaks() {
        const std::lock_guard lock{mutex_};
        std::size_t n = 0;
        visit_leaks([&](const leak&) { ++n; });
        return n;
    }

    // --- what was done -----------------------------------------------------------------------------------------
    /// How often a call was made, those that failed included.
    std::uint64_t count(call c) const {
        const std::lock_guard lock{mutex_};
        return counts_[static_cast<std::size_t>(c)];
    }
    /// Pieces of memory that are followed apart.
    std::size_t pieces() const {
        const std::lock_guard lock{mutex_};
        return uses_.pieces();
    }
    /// Nanoseconds on the virtual clock: the sum of what the calls cost.
    std::uint64_t now() const {
        const std::lock_guard lock{mutex_};
        return costs_.now();
    }

    // --- what shall happen -------------------------------------------------------------------------------------
    void charge(call c, std::uint64_t nanoseconds) {
        const std::lock_guard lock{mutex_};
        costs_.set(c, nanoseconds);
    }
    void fail(call c, const planned_failure& plan = {}) {
        const std::lock_guard lock{mutex_};
        faults_.plan(plan, false, c);
    }
    /// Counts calls of every kind.
    void fail_any(const planned_failure& plan = {}) {
        const std::lock_guard lock{mutex_};
        faults_.plan(plan, true);
    }
    /// Every call fails from now on, as after a fault of a kernel.
    void lose() {
        const std::lock_guard lock{mutex_};
        lost_ = true;
    }
    /// Calls work again, and nothing is planned.
    void revive() {
        const std::lock_guard lock{mutex_};
        lost_ = false;
        faults_.clear();
    }
    /// Runs everything that is queued; orders nothing.
    void run_all() {
        const std::lock_guard lock{mutex_};
        for (sim::stream_state& s : streams_) drain(s);
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
        physicals_.each([&](memory_type h, const sim::physical& m) {
            if (!m.released) visit(leak{"memory handle", nullptr, m.bytes, h.index});
        });
        for (const sim::stream_state& s : streams_)
            if (!s.is_default && s.alive) visit(leak{"stream", nullptr, 0, s.index});
        events_.each([&](event_type h, const sim::event_state&) { visit(leak{"event", nullptr, 0, h.index}); });
        graphs_.each([&](graph_type h, const sim::graph&) { visit(leak{"graph", nullptr, 0, h.index}); });
    }
};

} // namespace device
} // namespace allot::inline ALLOT_ABI
