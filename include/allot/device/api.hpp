// The device seam: the calls that the library makes to a device, as concepts. Models: device::cuda, device::simulated.
//
// An api is a small copyable value (cuda: empty; simulated: one pointer). Its members are const, do not throw, and
// return a result. Calls that CUDA ties to the thread's current device take a device_id instead; only the default
// streams depend on the current device. Names and rules are CUDA's:
//
//   allocate(device, bytes) -> void*            plain memory; deallocate() waits for the whole device
//   allocate_async(bytes, stream) -> void*      stream-ordered memory, from the device's own pool
//   allocate_pinned(bytes) -> void*             host memory that devices can access
//   reserve(device, bytes, alignment) -> void*  address space, a multiple of granularity(device); free_address() frees
//   it create(device, bytes) -> memory_type        memory without an address; release() may come before or after
//   unmap() map(address, memory, bytes)                 maps all of it; usable after set_access(address, bytes, device,
//   access) unmap(address, bytes)                       whole mappings; requires a wait for all work that uses them
//   record(event, stream), wait(stream, event)  wait() orders later work of the stream after the last record()
//   query(stream or event) -> bool              true: all work before it is done; synchronize() waits for that
//   stream_id(stream) -> number                 never reused; differs for each thread's per-thread stream
//   end_capture(stream) -> graph_type           ready to launch
//
// Source: one interface with a real and a deterministic simulated model behind it, as FoundationDB (2013).
#pragma once

#include <allot/config.hpp>
#include <allot/device/id.hpp>
#include <allot/device/kinds.hpp>
#include <allot/device/properties.hpp>
#include <allot/device/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace device {

namespace detail {

template <class H>
concept handle = std::is_trivially_copyable_v<H> && std::equality_comparable<H> && std::default_initializable<H>;
template <class R, class T> concept returns = std::same_as<R, result<T>>;

} // namespace detail

/// Plain, stream-ordered and pinned memory.
template <class A>
concept memory = detail::handle<typename A::stream_type> &&
                 requires(const A& api, device_id device, std::size_t bytes, void* p, typename A::stream_type stream) {
                     { api.allocate(device, bytes) } noexcept -> detail::returns<void*>;
                     { api.deallocate(device, p) } noexcept -> detail::returns<void>;
                     { api.allocate_async(bytes, stream) } noexcept -> detail::returns<void*>;
                     { api.deallocate_async(p, stream) } noexcept -> detail::returns<void>;
                     { api.allocate_pinned(bytes) } noexcept -> detail::returns<void*>;
                     { api.deallocate_pinned(p) } noexcept -> detail::returns<void>;
                 };

/// Virtual memory: address space, memory, and mappings between them.
template <class A>
concept virtual_memory =
    detail::handle<typename A::memory_type> && requires(const A& api, device_id device, std::size_t bytes, void* p,
                                                        typename A::memory_type handle, access rights) {
        { api.granularity(device) } noexcept -> detail::returns<std::size_t>;
        { api.reserve(device, bytes, bytes) } noexcept -> detail::returns<void*>;
        { api.free_address(p, bytes) } noexcept -> detail::returns<void>;
        { api.create(device, bytes) } noexcept -> detail::returns<typename A::memory_type>;
        { api.release(handle) } noexcept -> detail::returns<void>;
        { api.map(p, handle, bytes) } noexcept -> detail::returns<void>;
        { api.set_access(p, bytes, device, rights) } noexcept -> detail::returns<void>;
        { api.unmap(p, bytes) } noexcept -> detail::returns<void>;
    };

/// Streams, and the thread's current device.
template <class A>
concept streams = detail::handle<typename A::stream_type> &&
                  requires(const A& api, device_id device, typename A::stream_type stream, stream_kind kind) {
                      { api.create_stream(device, kind) } noexcept -> detail::returns<typename A::stream_type>;
                      { api.destroy_stream(stream) } noexcept -> detail::returns<void>;
                      { A::legacy_stream() } noexcept -> std::same_as<typename A::stream_type>;
                      { A::per_thread_stream() } noexcept -> std::same_as<typename A::stream_type>;
                      { api.stream_id(stream) } noexcept -> detail::returns<std::uint64_t>;
                      { api.device_of(stream) } noexcept -> detail::returns<device_id>;
                      { api.query(stream) } noexcept -> detail::returns<bool>;
                      { api.synchronize(stream) } noexcept -> detail::returns<void>;
                      { api.synchronize(device) } noexcept -> detail::returns<void>;
                      { api.current() } noexcept -> detail::returns<device_id>;
                      { api.set_current(device) } noexcept -> detail::returns<void>;
                  };

/// Events without timing.
template <class A>
concept events =
    detail::handle<typename A::event_type> &&
    requires(const A& api, device_id device, typename A::stream_type stream, typename A::event_type event) {
        { api.create_event(device) } noexcept -> detail::returns<typename A::event_type>;
        { api.destroy_event(event) } noexcept -> detail::returns<void>;
        { api.record(event, stream) } noexcept -> detail::returns<void>;
        { api.wait(stream, event) } noexcept -> detail::returns<void>;
        { api.query(event) } noexcept -> detail::returns<bool>;
        { api.synchronize(event) } noexcept -> detail::returns<void>;
    };

/// Copies in any direction, and fills. Host memory that is not pinned is read or written before the call returns, as in
/// CUDA.
template <class A>
concept copies = requires(const A& api, device_id device, std::size_t bytes, void* to, const void* from,
                          unsigned char value, typename A::stream_type stream) {
    { api.copy_async(to, from, bytes, stream) } noexcept -> detail::returns<void>;
    { api.copy_peer_async(to, device, from, device, bytes, stream) } noexcept -> detail::returns<void>;
    { api.fill_async(to, value, bytes, stream) } noexcept -> detail::returns<void>;
};

/// Devices, their properties, and access between them.
template <class A>
concept devices = requires(const A& api, device_id device, device_id peer) {
    { api.device_count() } noexcept -> detail::returns<int>;
    { api.properties_of(device) } noexcept -> detail::returns<properties>;
    { api.memory_of(device) } noexcept -> detail::returns<memory_stats>;
    { api.can_access_peer(device, peer) } noexcept -> detail::returns<bool>;
    { api.enable_peer(device, peer) } noexcept -> detail::returns<void>; // no error if enabled already
};

/// Stream captures and graphs. exchange_capture_mode() sets the calling thread's mode and returns the previous one.
template <class A>
concept capture = detail::handle<typename A::graph_type> && requires(const A& api, typename A::stream_type stream,
                                                                     typename A::graph_type graph, capture_mode mode) {
    { api.capturing(stream) } noexcept -> detail::returns<capture_state>;
    { api.exchange_capture_mode(mode) } noexcept -> detail::returns<capture_mode>;
    { api.begin_capture(stream, mode) } noexcept -> detail::returns<void>;
    { api.end_capture(stream) } noexcept -> detail::returns<typename A::graph_type>;
    { api.launch_graph(graph, stream) } noexcept -> detail::returns<void>;
    { api.destroy_graph(graph) } noexcept -> detail::returns<void>;
};

/// All of the above: what page::on_device takes.
template <class A>
concept api = std::copyable<A> && std::is_trivially_copyable_v<A> && memory<A> && virtual_memory<A> && streams<A> &&
              events<A> && copies<A> && devices<A> && capture<A>;

/// An api that tracks blocks inside its allocations: the simulated device. An allocator that cuts blocks out of a
/// segment calls it, so that a use after free, or a block handed out twice, is found.
template <class A>
concept tracks_blocks = requires(const A& api, void* p, std::size_t bytes, typename A::stream_type stream) {
    api.mark_allocated(p, bytes, stream);
    api.mark_freed(p, bytes, stream);
};

} // namespace device
} // namespace allot::inline ALLOT_ABI
