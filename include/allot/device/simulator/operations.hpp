// Operations of streams of the simulated device: launches, copies, fills, and graphs of them.
//
// An operation names the ranges that it uses; they are checked before it is queued. If it must not use one, a hazard is
// reported, the call fails with code 700, and the operation does not run. Host memory that is not pinned is not
// tracked; as in CUDA, copies read or write it before the call returns.
// Threads: any; calls hold mutex_.
#pragma once

#include <allot/config.hpp>
#include <allot/device/simulator/virtual_memory.hpp>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

class operation_layer : public mapping_layer {
  public:
    using graph_type = handle<graph>;

    ALLOT_OUTLINE_WARM explicit operation_layer(const simulator_options& options) : mapping_layer{options} {}

    /// Launches a kernel that reads and writes these ranges; run(), if given, performs its work on the host.
    /// Requires: run() does not call the simulator, and throws only under execution::immediate. `what`, the name in
    /// reports, outlives the simulator.
    template <class Run = std::nullptr_t>
    result<> launch(stream_type stream, ranges reads, ranges writes, Run run = nullptr, const char* what = "kernel") {
        const entry in{*this, call::launch};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        return operate(in, *s, reads, writes, std::move(run), what, false);
    }

    /// Checks a use of pinned memory by the host, which must have waited for earlier uses of it.
    void host_reads(const void* p, std::size_t bytes, const char* what = "read") {
        host_uses(p, bytes, intent::read, what);
    }
    void host_writes(const void* p, std::size_t bytes, const char* what = "write") {
        host_uses(p, bytes, intent::write, what);
    }

    result<> copy_async(void* to, const void* from, std::size_t bytes, stream_type stream) {
        return copy(call::copy, to, from, bytes, stream);
    }
    result<> copy_peer_async(void* to, device_id to_device, const void* from, device_id from_device, std::size_t bytes,
                             stream_type stream) {
        if (!is_device(to_device.index) || !is_device(from_device.index))
            return device::error{text_of(call::copy_peer), native_code(failure::invalid_device),
                                 failure::invalid_device};
        return copy(call::copy_peer, to, from, bytes, stream);
    }
    ALLOT_OUTLINE_WARM result<> fill_async(void* p, unsigned char value, std::size_t bytes, stream_type stream) {
        const entry in{*this, call::fill};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        return operate(in, *s, {}, {{p, bytes}}, [p, value, bytes] { std::memset(p, value, bytes); }, "fill", false);
    }

    ALLOT_OUTLINE_WARM result<capture_state> capturing(stream_type stream) {
        const entry in{*this, call::capturing};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (const int code = implicit_capture(*s, true)) return in.fail(failure::not_permitted_in_capture, code);
        const capture_record* const c = captures_.find(s->capture);
        return c == nullptr ? capture_state::none : c->invalid ? capture_state::invalidated : capture_state::active;
    }
    ALLOT_OUTLINE_WARM result<capture_mode> exchange_capture_mode(capture_mode mode) {
        const entry in{*this, call::exchange_capture_mode};
        if (in.refused()) return in.error();
        return std::exchange(this_thread().mode, mode);
    }
    ALLOT_OUTLINE_WARM result<> begin_capture(stream_type stream, capture_mode mode) {
        const entry in{*this, call::begin_capture};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (s->legacy) return in.fail(failure::not_permitted_in_capture, capture_code::unsupported);
        if (captures_.find(s->capture) != nullptr) return in.fail(failure::invalid_value, 401);
        s->captured.clear();
        s->capture = captures_.begin(mode, this_thread().id, s->index, s->device);
        return {};
    }
    ALLOT_OUTLINE_WARM result<graph_type> end_capture(stream_type stream) {
        const entry in{*this, call::end_capture};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        capture_record* const c = captures_.find(s->capture);
        if (c == nullptr) return in.fail(failure::invalid_value, 401);
        int code = 0;
        if (c->origin != s->index) code = capture_code::unmatched; // another stream
        else if (c->mode != capture_mode::relaxed && c->thread != this_thread().id)
            code = capture_code::wrong_thread; // another thread
        if (code != 0) {
            c->invalid = true;
            return in.fail(failure::not_permitted_in_capture, code);
        }
        if (c->invalid) code = capture_code::invalidated;
        for (const std::uint32_t i : c->members) {
            const stream_state& member = streams_[i];
            if (code == 0 && !s->captured.knows(member.self(), member.captured[member.self()]))
                code = capture_code::unjoined; // unjoined
        }
        graph_type made{};
        if (code == 0) {
            made = graphs_.insert();
            *graphs_.find(made) = std::move(c->work);
        }
        const captures::handle_type ended = s->capture;
        for (stream_state& member : streams_)
            if (member.capture == ended) member.capture = {};
        captures_.end(ended);
        if (code != 0) return in.fail(failure::not_permitted_in_capture, code);
        return made;
    }
    /// Queues one operation that performs all captured work, in the order of the calls.
    ALLOT_OUTLINE_WARM result<> launch_graph(graph_type graph, stream_type stream) {
        const entry in{*this, call::launch_graph};
        if (in.refused()) return in.error();
        auto* const g = graphs_.find(graph);
        stream_state* const s = find(stream);
        if (g == nullptr || s == nullptr || g->device != s->device) return in.fail(failure::invalid_handle);
        if (captures_.find(s->capture) != nullptr) return in.fail(failure::not_supported);
        if (const int code = implicit_capture(*s)) return in.fail(failure::not_permitted_in_capture, code);
        const use now = begin_operation(*s, "graph");
        bool usable = true;
        std::vector<std::function<void()>> all;
        for (const captured_operation& o : g->operations) {
            usable &= use_ranges(*s, std::span<const range>{o.reads}, intent::read, now, o.copies);
            usable &= use_ranges(*s, std::span<const range>{o.writes}, intent::write, now, o.copies);
            if (o.run) all.push_back(o.run);
        }
        if (!usable) return in.fail(failure::invalid_value, 700);
        submit(*s, [all = std::move(all)] {
            for (const auto& one : all) one();
        });
        return {};
    }
    ALLOT_OUTLINE_WARM result<> destroy_graph(graph_type graph) {
        const entry in{*this, call::destroy_graph};
        if (in.refused()) return in.error();
        if (graphs_.find(graph) == nullptr) return in.fail(failure::invalid_handle);
        *graphs_.find(graph) = {};
        graphs_.erase(graph);
        return {};
    }

  protected:
    slot_table<graph> graphs_;

  private:
    template <class Run>
    result<> operate(const entry& in, stream_state& s, ranges reads, ranges writes, Run run, const char* what,
                     bool copies) {
        if (const int code = implicit_capture(s)) return in.fail(failure::not_permitted_in_capture, code);
        if (capture_record* const c = captures_.find(s.capture)) {
            s.captured.tick(s.self());
            c->work.operations.push_back(
                {what, {reads.begin(), reads.end()}, {writes.begin(), writes.end()}, {}, copies});
            if constexpr (!std::is_null_pointer_v<Run>) c->work.operations.back().run = std::move(run);
            return {};
        }
        const use now = begin_operation(s, what);
        const bool may_read = use_ranges(s, reads, intent::read, now, copies);
        if (!use_ranges(s, writes, intent::write, now, copies) || !may_read)
            return in.fail(failure::invalid_value, 700);
        if constexpr (!std::is_null_pointer_v<Run>) submit(s, std::move(run));
        else pump();
        return {};
    }

    ALLOT_OUTLINE_WARM bool use_ranges(stream_state& s, const ranges& all, intent how, const use& now, bool copies) {
        bool usable = true;
        for (const range& r : all)
            if (!(copies ? check_copy(s, r.start, r.bytes, how, now) : check(s, r.start, r.bytes, how, now)))
                usable = false;
        return usable;
    }

    ALLOT_OUTLINE_WARM result<> copy(call which, void* to, const void* from, std::size_t bytes, stream_type stream) {
        const entry in{*this, which};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (bytes == 0) return {};
        if (to == nullptr || from == nullptr) return in.fail(failure::invalid_value);
        const bool to_host = !is_ours(to), from_host = !is_ours(from), captured = captures_.find(s->capture) != nullptr;
        const range reads{from, bytes}, writes{to, bytes};
        std::shared_ptr<std::byte[]> staged;
        if (from_host && delayed() && !captured) {
            staged.reset(new std::byte[bytes]);
            std::memcpy(staged.get(), from, bytes);
            from = staged.get();
        }
        const auto done = operate(
            in, *s, std::span{&reads, from_host ? 0U : 1U}, std::span{&writes, to_host ? 0U : 1U},
            [to, from, bytes, staged] { std::memmove(to, from, bytes); }, "copy", true);
        if (to_host && done && !captured) host_waits(*s);
        return done;
    }

    // Whether the address belongs to the simulator, whether in use or not.
    bool is_ours(const void* p) const { return store_.has(p) || is_reserved(at(p), 1); }

    void host_uses(const void* p, std::size_t bytes, intent how, const char* what) {
        const std::lock_guard lock{mutex_};
        check_host(p, bytes, how, host_operation(what));
    }
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
