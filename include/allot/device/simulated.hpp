// device::simulated: a device::simulator as a model of the device seam. One pointer; see simulator.hpp.
#pragma once

#include <allot/config.hpp>
#include <allot/device/api.hpp>
#include <allot/device/simulator.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace device {

/// A device api over a simulator; see api.hpp for the calls.
class simulated {
  public:
    using stream_type = simulator::stream_type;
    using event_type = simulator::event_type;
    using memory_type = simulator::memory_type;
    using graph_type = simulator::graph_type;
    static constexpr const char* name = "simulated";

    /// Requires: the simulator outlives this object and its copies.
    explicit simulated(simulator& machine) noexcept : machine_{&machine} {}
    simulator& machine() const noexcept { return *machine_; }

    // --- plain, stream-ordered and pinned memory ---------------------------------------------------------------
    result<void*> allocate(device_id device, std::size_t bytes) const noexcept {
        return machine_->allocate(device, bytes);
    }
    result<> deallocate(device_id device, void* p) const noexcept { return machine_->deallocate(device, p); }
    result<void*> allocate_async(std::size_t bytes, stream_type stream) const noexcept {
        return machine_->allocate_async(bytes, stream);
    }
    result<> deallocate_async(void* p, stream_type stream) const noexcept {
        return machine_->deallocate_async(p, stream);
    }
    result<void*> allocate_pinned(std::size_t bytes) const noexcept { return machine_->allocate_pinned(bytes); }
    result<> deallocate_pinned(void* p) const noexcept { return machine_->deallocate_pinned(p); }

    // --- virtual memory ----------------------------------------------------------------------------------------
    result<std::size_t> granularity(device_id device) const noexcept { return machine_->granularity(device); }
    result<void*> reserve(device_id device, std::size_t bytes, std::size_t alignment) const noexcept {
        return machine_->reserve(device, bytes, alignment);
    }
    result<> free_address(void* p, std::size_t bytes) const noexcept { return machine_->free_address(p, bytes); }
    result<memory_type> create(device_id device, std::size_t bytes) const noexcept {
        return machine_->create(device, bytes);
    }
    result<> release(memory_type handle) const noexcept { return machine_->release(handle); }
    result<> map(void* p, memory_type handle, std::size_t bytes) const noexcept {
        return machine_->map(p, handle, bytes);
    }
    result<> set_access(void* p, std::size_t bytes, device_id device, access rights) const noexcept {
        return machine_->set_access(p, bytes, device, rights);
    }
    result<> unmap(void* p, std::size_t bytes) const noexcept { return machine_->unmap(p, bytes); }

    // --- streams and events ------------------------------------------------------------------------------------
    static constexpr stream_type legacy_stream() noexcept { return simulator::legacy_stream(); }
    static constexpr stream_type per_thread_stream() noexcept { return simulator::per_thread_stream(); }
    result<stream_type> create_stream(device_id device, stream_kind kind) const noexcept {
        return machine_->create_stream(device, kind);
    }
    result<> destroy_stream(stream_type stream) const noexcept { return machine_->destroy_stream(stream); }
    result<std::uint64_t> stream_id(stream_type stream) const noexcept { return machine_->stream_id(stream); }
    result<device_id> device_of(stream_type stream) const noexcept { return machine_->device_of(stream); }
    result<bool> query(stream_type stream) const noexcept { return machine_->query(stream); }
    result<> synchronize(stream_type stream) const noexcept { return machine_->synchronize(stream); }
    result<> synchronize(device_id device) const noexcept { return machine_->synchronize(device); }
    result<device_id> current() const noexcept { return machine_->current(); }
    result<> set_current(device_id device) const noexcept { return machine_->set_current(device); }
    result<event_type> create_event(device_id device) const noexcept { return machine_->create_event(device); }
    result<> destroy_event(event_type event) const noexcept { return machine_->destroy_event(event); }
    result<> record(event_type event, stream_type stream) const noexcept { return machine_->record(event, stream); }
    result<> wait(stream_type stream, event_type event) const noexcept { return machine_->wait(stream, event); }
    result<bool> query(event_type event) const noexcept { return machine_->query(event); }
    result<> synchronize(event_type event) const noexcept { return machine_->synchronize(event); }

    // --- copies and fills --------------------------------------------------------------------------------------
    result<> copy_async(void* to, const void* from, std::size_t bytes, stream_type stream) const noexcept {
        return machine_->copy_async(to, from, bytes, stream);
    }
    result<> copy_peer_async(void* to, device_id to_device, const void* from, device_id from_device, std::size_t bytes,
                             stream_type stream) const noexcept {
        return machine_->copy_peer_async(to, to_device, from, from_device, bytes, stream);
    }
    result<> fill_async(void* p, unsigned char value, std::size_t bytes, stream_type stream) const noexcept {
        return machine_->fill_async(p, value, bytes, stream);
    }

    // --- devices -----------------------------------------------------------------------------------------------
    result<int> device_count() const noexcept { return machine_->device_count(); }
    result<properties> properties_of(device_id device) const noexcept { return machine_->properties_of(device); }
    result<memory_stats> memory_of(device_id device) const noexcept { return machine_->memory_of(device); }
    result<bool> can_access_peer(device_id device, device_id peer) const noexcept {
        return machine_->can_access_peer(device, peer);
    }
    result<> enable_peer(device_id device, device_id peer) const noexcept {
        return machine_->enable_peer(device, peer);
    }

    // --- capture -----------------------------------------------------------------------------------------------
    result<capture_state> capturing(stream_type stream) const noexcept { return machine_->capturing(stream); }
    result<capture_mode> exchange_capture_mode(capture_mode mode) const noexcept {
        return machine_->exchange_capture_mode(mode);
    }
    result<> begin_capture(stream_type stream, capture_mode mode) const noexcept {
        return machine_->begin_capture(stream, mode);
    }
    result<graph_type> end_capture(stream_type stream) const noexcept { return machine_->end_capture(stream); }
    result<> launch_graph(graph_type graph, stream_type stream) const noexcept {
        return machine_->launch_graph(graph, stream);
    }
    result<> destroy_graph(graph_type graph) const noexcept { return machine_->destroy_graph(graph); }

    // --- blocks of allocators that cut them out of segments (device::tracks_blocks) ----------------------------
    void mark_allocated(void* p, std::size_t bytes, stream_type stream) const noexcept {
        machine_->mark_allocated(p, bytes, stream);
    }
    void mark_freed(void* p, std::size_t bytes, stream_type stream) const noexcept {
        machine_->mark_freed(p, bytes, stream);
    }

  private:
    simulator* machine_;
};

static_assert(api<simulated> && tracks_blocks<simulated>);

} // namespace device
} // namespace allot::inline ALLOT_ABI
