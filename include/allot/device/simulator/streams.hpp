// Streams and events of the simulated device: who is ordered after whom.
//
// Each stream has a clock. Recording an event copies it, waiting joins it; the host learns a clock when it synchronises
// or is told that an event is done, and every later operation of any stream knows what the host knew. The legacy default
// stream joins all blocking streams of its device at each of its operations, and they join it at each of theirs.
// Cost: record and wait O(streams). Threads: any, under the machine's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/device/id.hpp>
#include <allot/device/kinds.hpp>
#include <allot/device/result.hpp>
#include <allot/device/simulator/captures.hpp>
#include <allot/device/simulator/clock.hpp>
#include <allot/device/simulator/handles.hpp>
#include <allot/device/simulator/machine.hpp>
#include <allot/device/simulator/work.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::sim {

struct stream_state {
    vector_clock clock;
    std::uint64_t host_seen = 0;
    std::uint64_t legacy_seen = 0;
    epoch recorded = 0; // the last of its operations before an event
    std::uint32_t index = 0;
    int device = 0;
    stream_kind kind = stream_kind::blocking;
    bool legacy = false;
    bool own = false;   // a thread's, or legacy: nobody destroys it
    bool alive = true;
    captures::handle_type capture{};
    vector_clock captured; // order within the capture
    work_queue queue;

    actor self() const noexcept { return index + 1; }
};

struct event_state {
    vector_clock clock;
    queue_mark mark{};
    int device = 0;
    bool recorded = false;
    bool done = false;
    captures::handle_type capture{}; // it was recorded in this one
};

class stream_layer : public machine {
  public:
    using stream_type = simulated_stream;
    using event_type = handle<event_state>;
    static constexpr stream_type legacy_stream() noexcept { return {0}; }
    static constexpr stream_type per_thread_stream() noexcept { return {1}; }

    explicit stream_layer(const simulator_options& options) : machine{options} {
        for (int d = 0; d != options.devices; ++d) {
            devices_.emplace_back();
            add_stream(d, stream_kind::blocking, true).legacy = true;
        }
    }

    result<stream_type> create_stream(device_id device, stream_kind kind) {
        const entry in{*this, call::create_stream};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        return handle_of(add_stream(device.index, kind, false));
    }
    /// Work that was queued still runs; the handle is gone.
    result<> destroy_stream(stream_type stream) {
        const entry in{*this, call::destroy_stream};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr || s->own) return in.fail(failure::invalid_handle);
        if (capture_record* const c = captures_.find(s->capture)) {
            c->invalid = true;
            return in.fail(failure::not_permitted_in_capture);
        }
        s->alive = false;
        devices_of(*s).gone.join(s->clock);
        std::erase(devices_of(*s).streams, s->index);
        return {};
    }
    result<std::uint64_t> stream_id(stream_type stream) {
        const entry in{*this, call::stream_id};
        if (in.refused()) return in.error();
        const stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        return std::uint64_t{s->index};
    }
    result<device_id> device_of(stream_type stream) {
        const entry in{*this, call::device_of};
        if (in.refused()) return in.error();
        const stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        return device_id{s->device};
    }
    result<bool> query(stream_type stream) {
        const entry in{*this, call::query_stream};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = blocked(*s)) return in.fail(failure::not_permitted_in_capture, code);
        join_implied(*s);
        pump();
        if (delayed() ? !s->queue.empty() : !drawn_done()) return false;
        host_learns(s->clock);
        return true;
    }
    result<> synchronize(stream_type stream) {
        const entry in{*this, call::synchronize_stream};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = blocked(*s)) return in.fail(failure::not_permitted_in_capture, code);
        join_implied(*s);
        drain(*s);
        host_learns(s->clock);
        return {};
    }
    result<> synchronize(device_id device) {
        const entry in{*this, call::synchronize_device};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        wait_for_device(device.index);
        return {};
    }
    result<device_id> current() {
        const entry in{*this, call::current};
        if (in.refused()) return in.error();
        return device_id{this_thread().device};
    }
    result<> set_current(device_id device) {
        const entry in{*this, call::set_current};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        this_thread().device = device.index;
        return {};
    }

    result<event_type> create_event(device_id device) {
        const entry in{*this, call::create_event};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (events_.size() >= options_.most_events) return in.fail(failure::out_of_memory);
        const event_type e = events_.insert();
        event_state& state = *events_.find(e);
        state.device = device.index;
        state.recorded = false;
        state.capture = {};
        return e;
    }
    result<> destroy_event(event_type event) {
        const entry in{*this, call::destroy_event};
        if (in.refused()) return in.error();
        if (events_.find(event) == nullptr) return in.fail(failure::invalid_handle);
        events_.erase(event);
        return {};
    }
    result<> record(event_type event, stream_type stream) {
        const entry in{*this, call::record};
        if (in.refused()) return in.error();
        event_state* const e = events_.find(event);
        stream_state* const s = find(stream);
        if (e == nullptr || s == nullptr || e->device != s->device) return in.fail(failure::invalid_handle);
        if (const int code = implicit_capture(*s)) return in.fail(failure::not_permitted_in_capture, code);
        if (captures_.find(s->capture) != nullptr) {
            e->capture = s->capture;
            e->clock = s->captured;
            e->recorded = true;
            return {};
        }
        join_implied(*s);
        e->capture = {};
        e->clock = s->clock;
        e->recorded = true;
        e->done = false;
        s->recorded = s->clock[s->self()];
        if (delayed()) e->mark = {s->index, s->queue.push({})};
        pump();
        return {};
    }
    /// An event that was never recorded orders nothing.
    result<> wait(stream_type stream, event_type event) {
        const entry in{*this, call::wait};
        if (in.refused()) return in.error();
        const event_state* const e = events_.find(event);
        stream_state* const s = find(stream);
        if (e == nullptr || s == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = implicit_capture(*s)) return in.fail(failure::not_permitted_in_capture, code);
        capture_record* const of_stream = captures_.find(s->capture);
        capture_record* const of_event = captures_.find(e->capture);
        if (of_stream != nullptr || of_event != nullptr) {
            if (const int code = join_capture(*s, of_stream, *e, of_event)) return in.fail(failure::not_permitted_in_capture, code);
            return {};
        }
        if (!e->recorded || e->capture.generation != 0) return {}; // what was captured orders nothing outside
        join_implied(*s);
        s->clock.join(e->clock);
        if (delayed()) s->queue.come_after(e->mark);
        pump();
        return {};
    }
    result<bool> query(event_type event) {
        const entry in{*this, call::query_event};
        if (in.refused()) return in.error();
        event_state* const e = events_.find(event);
        if (e == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = captured(*e)) return in.fail(failure::not_permitted_in_capture, code);
        if (!e->recorded) return true;
        pump();
        if (!e->done) e->done = delayed() ? passed(e->mark) : drawn_done();
        if (e->done) host_learns(e->clock);
        return e->done;
    }
    result<> synchronize(event_type event) {
        const entry in{*this, call::synchronize_event};
        if (in.refused()) return in.error();
        event_state* const e = events_.find(event);
        if (e == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = captured(*e)) return in.fail(failure::not_permitted_in_capture, code);
        if (!e->recorded) return {};
        while (delayed() && !passed(e->mark)) step();
        e->done = true;
        host_learns(e->clock);
        return {};
    }

  protected:
    struct device_state {
        std::vector<std::uint32_t> streams; // all that are alive, the legacy one too
        vector_clock gone;                  // what those knew that are not
        std::uint64_t legacy_version = 0;
        std::uint64_t peers = 0; // devices whose memory it may use, a bit each
        std::size_t used = 0;
    };

    bool delayed() const noexcept { return options_.execution == execution::delayed; }
    device_state& devices_of(const stream_state& s) noexcept { return devices_[static_cast<std::size_t>(s.device)]; }
    static stream_type handle_of(const stream_state& s) noexcept { return {s.index + 2}; }

    stream_state* find(stream_type stream) {
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

    // What orders every operation of a stream, besides its own past.
    void join_implied(stream_state& s) {
        if (s.host_seen != host_version_) {
            s.clock.join(host_clock_);
            s.host_seen = host_version_;
        }
        device_state& d = devices_of(s);
        if (s.legacy) {
            for (const std::uint32_t i : d.streams)
                if (streams_[i].kind == stream_kind::blocking) s.clock.join(streams_[i].clock);
            s.clock.join(d.gone);
            if (delayed()) come_after_all(s);
            ++d.legacy_version;
        } else if (s.kind == stream_kind::blocking && s.legacy_seen != d.legacy_version) {
            const stream_state& legacy = streams_[static_cast<std::size_t>(s.device)];
            s.clock.join(legacy.clock);
            s.legacy_seen = d.legacy_version;
            if (delayed()) s.queue.come_after({legacy.index, legacy.queue.queued()});
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
    void wait_for_device(int device) {
        device_state& d = devices_[static_cast<std::size_t>(device)];
        for (const std::uint32_t i : d.streams) host_learns(streams_[i].clock);
        host_learns(d.gone);
        for (stream_state& s : streams_)
            if (s.device == device) drain(s);
    }
    void wait_for_all() {
        for (int d = 0; d != options_.devices; ++d) wait_for_device(d);
    }

    // Work in stream order: now, later, or not at all.
    template <class Run> void submit(stream_state& s, Run&& run) {
        if (options_.execution == execution::immediate) run_now(run);
        else if (delayed()) s.queue.push(std::forward<Run>(run)), pump();
    }
    // Runs a little of what waits, so that it runs some time after it was told.
    void pump() {
        if (!delayed()) return;
        std::size_t waiting = 0;
        for (const stream_state& s : streams_) waiting += s.queue.queued() - s.queue.done();
        std::size_t steps = random_.below(3);
        if (waiting > options_.longest_queue) steps += waiting - options_.longest_queue;
        while (steps-- != 0 && waiting-- != 0) step();
    }
    void drain(stream_state& s) {
        while (!s.queue.empty()) step();
    }
    bool passed(queue_mark m) const noexcept { return streams_[m.stream].queue.done() >= m.number; }

    // CUDA's code where the legacy stream would wait for a stream that is being captured; the capture is lost.
    int implicit_capture(const stream_state& s) {
        if (captures_.none() || !s.legacy) return 0;
        int code = 0;
        captures_.each([&](capture_record& c) {
            const stream_state& origin = streams_[c.origin];
            if (origin.device != s.device || origin.kind != stream_kind::blocking) return;
            c.invalid = true;
            code = 906;
        });
        return code;
    }
    // The same where a call that needs a stream's end meets a capture.
    int blocked(const stream_state& s) {
        if (const int code = implicit_capture(s)) return code;
        if (capture_record* const c = captures_.find(s.capture)) {
            c->invalid = true;
            return 900;
        }
        return refused_by_capture() ? 900 : 0;
    }

    operation operation_of(const use& u) const noexcept { return {u.what, u.who == host ? 0U : u.who - 1U, u.when, u.who == host}; }
    bool event_recorded_after(const use& u) const noexcept { return u.who != host && streams_[u.who - 1].recorded >= u.when; }

    std::deque<stream_state> streams_; // the first ones are the devices' legacy streams
    std::vector<device_state> devices_;
    slot_table<event_state> events_;
    vector_clock host_clock_;
    std::uint64_t host_version_ = 0;

  private:
    stream_state& add_stream(int device, stream_kind kind, bool own) {
        stream_state& s = streams_.emplace_back();
        s.index = static_cast<std::uint32_t>(streams_.size() - 1);
        s.device = device;
        s.kind = kind;
        s.own = own;
        devices_of(s).streams.push_back(s.index);
        return s;
    }
    // Where nothing runs, events are done when a coin says so.
    bool drawn_done() noexcept { return options_.execution == execution::immediate || (random_.next() & 1) != 0; }

    void step() {
        const std::size_t n = streams_.size(), first = random_.below(n);
        for (std::size_t i = 0; i != n; ++i) {
            work_queue& q = streams_[(first + i) % n].queue;
            if (q.empty() || !q.ready([this](queue_mark m) { return passed(m); })) continue;
            const auto run = q.pop();
            if (run) run_now(run);
            return;
        }
    }

    // Those that were destroyed have work left, too.
    void come_after_all(stream_state& s) {
        for (const stream_state& other : streams_)
            if (&other != &s && other.device == s.device && other.kind == stream_kind::blocking)
                s.queue.come_after({other.index, other.queue.queued()});
    }

    int captured(const event_state& e) {
        if (capture_record* const c = captures_.find(e.capture)) {
            c->invalid = true;
            return 907;
        }
        return refused_by_capture() ? 900 : 0;
    }
    // A stream that waits for an event of a capture joins it; waiting out of one is refused.
    int join_capture(stream_state& s, capture_record* of_stream, const event_state& e, capture_record* of_event) {
        if (of_event == nullptr || (of_stream != nullptr && of_stream != of_event) || s.device != of_event->work.device) {
            if (of_stream != nullptr && e.recorded) of_stream->invalid = true;
            return of_stream != nullptr && !e.recorded ? 0 : 905;
        }
        if (s.legacy) {
            of_event->invalid = true;
            return 906;
        }
        if (of_stream == nullptr) {
            s.capture = e.capture;
            s.captured.clear();
            of_event->members.push_back(s.index);
        }
        s.captured.join(e.clock);
        return 0;
    }
};

} // namespace device::sim
} // namespace allot::inline ALLOT_ABI
