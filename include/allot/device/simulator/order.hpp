// The order of operations on the simulated device, and the queues of delayed work, which follow it.
//
// Each stream has a clock. The host joins a clock when it waits for work, or a query says that work is done; each later
// operation of any stream joins the host's clock. The legacy default stream joins the blocking streams of its device at
// each of its operations, and they join it at each of theirs.
// Cost: O(streams) per operation if a clock has changed. Threads: any; calls hold mutex_.
#pragma once

#include <allot/config.hpp>
#include <allot/device/kinds.hpp>
#include <allot/device/simulator/captures.hpp>
#include <allot/device/simulator/clock.hpp>
#include <allot/device/simulator/handles.hpp>
#include <allot/device/simulator/machine.hpp>
#include <allot/device/simulator/work.hpp>

#include <cstdint>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

struct stream_state {
    vector_clock clock;
    std::uint64_t host_seen = 0;
    std::uint64_t legacy_seen = 0;
    epoch recorded = 0; // its last operation that an event covers
    std::uint32_t index = 0;
    int device = 0;
    stream_kind kind = stream_kind::blocking;
    bool legacy = false;
    bool is_default = false; // per-thread or legacy: must not be destroyed
    bool alive = true;
    captures::handle_type capture{};
    vector_clock captured; // order within the capture
    work_queue queue;

    actor self() const noexcept { return index + 1; }
};

class order_layer : public machine {
  public:
    using stream_type = simulated_stream;
    static constexpr stream_type legacy_stream() noexcept { return {0}; }
    static constexpr stream_type per_thread_stream() noexcept { return {1}; }

    ALLOT_OUTLINE_WARM explicit order_layer(const simulator_options& options) : machine{options} {
        ALLOT_ASSERT(options.devices > 0 && options.devices <= 64, "simulator_options::devices must be 1 to 64");
        for (int d = 0; d != options.devices; ++d) {
            devices_.emplace_back();
            add_stream(d, stream_kind::blocking, true).legacy = true;
        }
    }

  protected:
    struct device_state {
        std::vector<std::uint32_t> streams;    // live streams, including the legacy stream
        vector_clock destroyed_clock;          // the clocks of destroyed streams
        vector_clock destroyed_blocking_clock; // of destroyed blocking streams
        std::uint64_t legacy_version = 0;
        std::uint64_t peers = 0; // devices whose memory it may use, one bit each
        std::size_t used = 0;
    };

    bool delayed() const noexcept { return options_.execution == execution::delayed; }
    device_state& state_of_device(const stream_state& s) noexcept {
        return devices_[static_cast<std::size_t>(s.device)];
    }
    static stream_type handle_of(const stream_state& s) noexcept { return {s.index + 2}; }

    ALLOT_OUTLINE_WARM stream_state* find(stream_type stream) {
        if (stream.index >= 2) {
            const std::size_t i = stream.index - std::size_t{2};
            return i < streams_.size() && streams_[i].alive ? &streams_[i] : nullptr;
        }
        thread_state& t = this_thread();
        const auto device = static_cast<std::size_t>(t.device);
        if (stream == legacy_stream()) return &streams_[device];
        if (t.streams[device] == 0) t.streams[device] = add_stream(t.device, stream_kind::blocking, true).index;
        return &streams_[t.streams[device]];
    }

    stream_state& add_stream(int device, stream_kind kind, bool is_default) {
        stream_state& s = streams_.emplace_back();
        s.index = static_cast<std::uint32_t>(streams_.size() - 1);
        s.device = device;
        s.kind = kind;
        s.is_default = is_default;
        state_of_device(s).streams.push_back(s.index);
        return s;
    }

    // Joins what implicitly orders an operation of this stream: the host, and the legacy or the blocking streams.
    ALLOT_OUTLINE_WARM void join_implied(stream_state& s) {
        if (s.host_seen != host_version_) {
            s.clock.join(host_clock_);
            s.host_seen = host_version_;
        }
        device_state& d = state_of_device(s);
        if (s.legacy) {
            for (const std::uint32_t i : d.streams)
                if (streams_[i].kind == stream_kind::blocking) s.clock.join(streams_[i].clock);
            s.clock.join(d.destroyed_blocking_clock);
            if (delayed())
                each_implied(s, [&](stream_state& other) { // destroyed streams may have queued work
                    if (&other != &s) s.queue.run_after({other.index, other.queue.end()});
                });
            ++d.legacy_version;
        } else if (s.kind == stream_kind::blocking && s.legacy_seen != d.legacy_version) {
            stream_state& legacy = streams_[static_cast<std::size_t>(s.device)];
            s.clock.join(legacy.clock);
            s.legacy_seen = d.legacy_version;
            if (delayed()) s.queue.run_after({legacy.index, legacy.queue.end()});
        }
    }
    use begin_operation(stream_state& s, const char* what) {
        join_implied(s);
        return {what, s.clock.tick(s.self()), s.self()};
    }
    void host_learns(const vector_clock& clock) {
        if (host_clock_.join(clock)) ++host_version_;
    }
    use host_operation(const char* what) {
        ++host_version_;
        return {what, host_clock_.tick(host), host};
    }
    // Visits the streams whose work must be done when this stream's is: itself; for the legacy stream, all blocking
    // ones.
    template <class Visit> void each_implied(stream_state& s, Visit&& visit) {
        visit(s);
        if (!s.legacy) return;
        for (stream_state& other : streams_)
            if (&other != &s && other.device == s.device && other.kind == stream_kind::blocking) visit(other);
    }
    void host_waits(stream_state& s) {
        each_implied(s, [this](stream_state& one) {
            drain(one);
            host_learns(one.clock);
        });
    }
    bool idle(stream_state& s) {
        bool all = true;
        each_implied(s, [&](stream_state& one) { all = one.queue.settle() && all; });
        return all;
    }
    ALLOT_OUTLINE_WARM void wait_for_device(int device) {
        host_learns(devices_[static_cast<std::size_t>(device)].destroyed_clock);
        for (stream_state& s : streams_)
            if (s.device == device) {
                drain(s);
                if (s.alive) host_learns(s.clock);
            }
    }
    void wait_for_all() {
        for (int d = 0; d != options_.devices; ++d) wait_for_device(d);
    }

    // Runs or queues work in stream order, as the execution mode says.
    template <class Run> void submit(stream_state& s, Run&& run) {
        if (options_.execution == execution::immediate) run_now(run);
        else if (delayed()) s.queue.push(std::forward<Run>(run)), pump();
    }
    // Runs a random part of the queued work.
    ALLOT_OUTLINE_WARM void pump() {
        if (!delayed()) return;
        std::size_t waiting = 0;
        for (const stream_state& s : streams_) waiting += s.queue.size();
        std::size_t steps = random_.below(3);
        if (waiting > options_.longest_queue) steps += waiting - options_.longest_queue;
        while (steps-- != 0 && waiting-- != 0) step();
    }
    // Whether work counts as done when it is queried: at random under execution::none.
    bool random_done() noexcept { return options_.execution == execution::immediate || (random_.next() & 1) != 0; }
    ALLOT_OUTLINE_WARM void step() {
        const std::size_t n = streams_.size(), first = random_.below(n);
        for (std::size_t i = 0; i != n; ++i) {
            work_queue& q = streams_[(first + i) % n].queue;
            if (q.empty() || !q.ready([this](queue_mark m) { return passed(m); })) continue;
            const auto run = q.pop();
            if (run) run_now(run);
            return;
        }
    }
    void drain(stream_state& s) {
        while (!s.queue.settle()) step();
    }
    bool passed(queue_mark m) const noexcept { return streams_[m.stream].queue.done() >= m.number; }

    // CUDA's code (906) if the legacy stream would wait for a stream that is being captured, else 0. Invalidates the
    // capture, unless query_only.
    ALLOT_OUTLINE_WARM int implicit_capture(const stream_state& s, bool query_only = false) {
        if (captures_.empty() || !s.legacy) return 0;
        int code = 0;
        captures_.each([&](capture_record& c) {
            const stream_state& origin = streams_[c.origin];
            if (origin.device != s.device || origin.kind != stream_kind::blocking) return;
            if (!query_only) c.invalid = true;
            code = capture_code::implicit;
        });
        return code;
    }
    // The same for a call that needs all work of the stream to be done.
    int blocked(const stream_state& s) {
        if (const int code = implicit_capture(s)) return code;
        if (capture_record* const c = captures_.find(s.capture)) {
            c->invalid = true;
            return capture_code::unsupported;
        }
        return refused_by_capture() ? capture_code::unsupported : 0;
    }

    operation operation_of(const use& u) const noexcept {
        return {u.what, u.who == host ? 0U : u.who - 1U, u.when, u.who == host};
    }
    bool event_recorded_after(const use& u) const noexcept {
        return u.who != host && streams_[u.who - 1].recorded >= u.when;
    }

    std::deque<stream_state> streams_; // first the legacy stream of each device
    std::vector<device_state> devices_;
    vector_clock host_clock_;
    std::uint64_t host_version_ = 0;
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
