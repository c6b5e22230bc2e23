// Streams and events of the simulated device: the calls that create order (order.hpp keeps it).
//
// record() copies the stream's clock into the event; wait() joins the event's clock into the stream's; synchronize()
// and a query that returns true join it into the host's.
// Cost: record() and wait() O(streams). Threads: any; calls hold mutex_.
#pragma once

#include <allot/config.hpp>
#include <allot/device/id.hpp>
#include <allot/device/kinds.hpp>
#include <allot/device/result.hpp>
#include <allot/device/simulator/captures.hpp>
#include <allot/device/simulator/clock.hpp>
#include <allot/device/simulator/handles.hpp>
#include <allot/device/simulator/order.hpp>

#include <cstdint>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

struct event_state {
    vector_clock clock;
    queue_mark mark{};
    int device = 0;
    bool recorded = false;
    bool done = false;
    captures::handle_type capture{}; // the capture that it was recorded in
};

class stream_layer : public order_layer {
  public:
    using event_type = handle<event_state>;

    explicit stream_layer(const simulator_options& options) : order_layer{options} {}

    ALLOT_OUTLINE_WARM result<stream_type> create_stream(device_id device, stream_kind kind) {
        const entry in{*this, call::create_stream};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        return handle_of(add_stream(device.index, kind, false));
    }
    /// Invalidates the handle; queued work still runs.
    ALLOT_OUTLINE_WARM result<> destroy_stream(stream_type stream) {
        const entry in{*this, call::destroy_stream};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr || s->is_default) return in.fail(failure::invalid_handle);
        if (capture_record* const c = captures_.find(s->capture)) {
            c->invalid = true;
            return in.fail(failure::not_permitted_in_capture);
        }
        s->alive = false;
        state_of_device(*s).destroyed_clock.join(s->clock);
        if (s->kind == stream_kind::blocking) state_of_device(*s).destroyed_blocking_clock.join(s->clock);
        std::erase(state_of_device(*s).streams, s->index);
        return {};
    }
    ALLOT_OUTLINE_WARM result<std::uint64_t> stream_id(stream_type stream) {
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
    ALLOT_OUTLINE_WARM result<bool> query(stream_type stream) {
        const entry in{*this, call::query_stream};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = blocked(*s)) return in.fail(failure::not_permitted_in_capture, code);
        pump();
        if (delayed() ? !idle(*s) : !random_done()) return false;
        host_waits(*s);
        return true;
    }
    ALLOT_OUTLINE_WARM result<> synchronize(stream_type stream) {
        const entry in{*this, call::synchronize_stream};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = blocked(*s)) return in.fail(failure::not_permitted_in_capture, code);
        host_waits(*s);
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

    ALLOT_OUTLINE_WARM result<event_type> create_event(device_id device) {
        const entry in{*this, call::create_event};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (events_.size() >= options_.max_events) return in.fail(failure::out_of_memory);
        const event_type e = events_.insert();
        event_state& state = *events_.find(e);
        state.device = device.index;
        state.recorded = false;
        state.capture = {};
        return e;
    }
    ALLOT_OUTLINE_WARM result<> destroy_event(event_type event) {
        const entry in{*this, call::destroy_event};
        if (in.refused()) return in.error();
        if (events_.find(event) == nullptr) return in.fail(failure::invalid_handle);
        events_.erase(event);
        return {};
    }
    ALLOT_OUTLINE_WARM result<> record(event_type event, stream_type stream) {
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
    /// Without effect if the event was never recorded.
    ALLOT_OUTLINE_WARM result<> wait(stream_type stream, event_type event) {
        const entry in{*this, call::wait};
        if (in.refused()) return in.error();
        const event_state* const e = events_.find(event);
        stream_state* const s = find(stream);
        if (e == nullptr || s == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = implicit_capture(*s)) return in.fail(failure::not_permitted_in_capture, code);
        capture_record* const of_stream = captures_.find(s->capture);
        capture_record* const of_event = captures_.find(e->capture);
        if (of_stream != nullptr || of_event != nullptr) {
            const int code = join_capture(*s, of_stream, *e, of_event);
            if (code != 0) return in.fail(failure::not_permitted_in_capture, code);
            return {};
        }
        if (e->capture.generation != 0) return in.fail(failure::not_permitted_in_capture, capture_code::captured_event);
        if (!e->recorded) return {};
        join_implied(*s);
        s->clock.join(e->clock);
        if (delayed()) s->queue.run_after(e->mark);
        pump();
        return {};
    }
    ALLOT_OUTLINE_WARM result<bool> query(event_type event) {
        const entry in{*this, call::query_event};
        if (in.refused()) return in.error();
        event_state* const e = events_.find(event);
        if (e == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = captured(*e)) return in.fail(failure::not_permitted_in_capture, code);
        if (!e->recorded) return true;
        pump();
        if (!e->done) e->done = delayed() ? passed(e->mark) : random_done();
        if (e->done) host_learns(e->clock);
        return e->done;
    }
    ALLOT_OUTLINE_WARM result<> synchronize(event_type event) {
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
    slot_table<event_state> events_;

  private:
    // CUDA's code for a query of or a wait for an event that was last recorded in a capture, also one that has ended.
    int captured(const event_state& e) {
        if (capture_record* const c = captures_.find(e.capture)) c->invalid = true;
        if (e.capture.generation != 0) return capture_code::captured_event;
        return refused_by_capture() ? capture_code::unsupported : 0;
    }
    // A wait where the stream or the event is of a capture (`of_stream`, `of_event`; null: of none, not both): the
    // stream joins the event's capture. Returns 0, or CUDA's code: `isolation` for an event outside the stream's
    // capture or of another device, `implicit` for the legacy stream. An event that was never recorded has no effect in
    // a capture.
    int join_capture(stream_state& s, capture_record* of_stream, const event_state& e, capture_record* of_event) {
        if (of_event == nullptr || (of_stream != nullptr && of_stream != of_event) ||
            s.device != of_event->work.device) {
            if (of_stream != nullptr && e.recorded) of_stream->invalid = true;
            return of_stream != nullptr && !e.recorded ? 0 : capture_code::isolation;
        }
        if (s.legacy) {
            of_event->invalid = true;
            return capture_code::implicit;
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

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
