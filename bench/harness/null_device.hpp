// A device whose calls do nothing, so that only the host's work is measured.
#pragma once

#include <allot/device/api.hpp>

#include <cstddef>
#include <cstdint>

namespace bench {

class null_device {
    template <class T = void> using result = allot::device::result<T>;
    using device_id = allot::device_id;

  public:
    template <int Kind> struct handle {
        std::uint32_t index = 0;
        friend constexpr bool operator==(handle, handle) noexcept = default;
    };
    using stream_type = handle<0>;
    using event_type = handle<1>;
    using memory_type = handle<2>;
    using graph_type = handle<3>;
    static constexpr const char* name = "null";

    result<void*> allocate(device_id, std::size_t) const noexcept {
        return reinterpret_cast<void*>(std::uintptr_t{1} << 44);
    }
    result<> deallocate(device_id, void*) const noexcept { return {}; }
    result<void*> allocate_async(std::size_t, stream_type) const noexcept { return nullptr; }
    result<> deallocate_async(void*, stream_type) const noexcept { return {}; }
    result<void*> allocate_pinned(std::size_t) const noexcept { return nullptr; }
    result<> deallocate_pinned(void*) const noexcept { return {}; }
    result<std::size_t> granularity(device_id) const noexcept { return std::size_t{2} << 20; }
    result<void*> reserve(device_id, std::size_t, std::size_t) const noexcept {
        return reinterpret_cast<void*>(std::uintptr_t{1} << 45);
    }
    result<> free_address(void*, std::size_t) const noexcept { return {}; }
    result<memory_type> create(device_id, std::size_t) const noexcept { return memory_type{}; }
    result<> release(memory_type) const noexcept { return {}; }
    result<> map(void*, memory_type, std::size_t) const noexcept { return {}; }
    result<> set_access(void*, std::size_t, device_id, allot::device::access) const noexcept { return {}; }
    result<> unmap(void*, std::size_t) const noexcept { return {}; }
    result<stream_type> create_stream(device_id, allot::device::stream_kind) const noexcept { return stream_type{}; }
    result<> destroy_stream(stream_type) const noexcept { return {}; }
    static constexpr stream_type legacy_stream() noexcept { return {0}; }
    static constexpr stream_type per_thread_stream() noexcept { return {1}; }
    result<std::uint64_t> stream_id(stream_type s) const noexcept { return std::uint64_t{s.index}; }
    result<device_id> device_of(stream_type) const noexcept { return device_id{0}; }
    result<bool> query(stream_type) const noexcept { return true; }
    result<> synchronize(stream_type) const noexcept { return {}; }
    result<> synchronize(device_id) const noexcept { return {}; }
    result<device_id> current() const noexcept { return device_id{0}; }
    result<> set_current(device_id) const noexcept { return {}; }
    result<event_type> create_event(device_id) const noexcept { return event_type{}; }
    result<> destroy_event(event_type) const noexcept { return {}; }
    result<> record(event_type, stream_type) const noexcept { return {}; }
    result<> wait(stream_type, event_type) const noexcept { return {}; }
    result<bool> query(event_type) const noexcept { return true; }
    result<> synchronize(event_type) const noexcept { return {}; }
    result<> copy_async(void*, const void*, std::size_t, stream_type) const noexcept { return {}; }
    result<> copy_peer_async(void*, device_id, const void*, device_id, std::size_t, stream_type) const noexcept {
        return {};
    }
    result<> fill_async(void*, unsigned char, std::size_t, stream_type) const noexcept { return {}; }
    result<int> device_count() const noexcept { return 1; }
    result<allot::device::properties> properties_of(device_id) const noexcept {
        allot::device::properties p;
        p.total_bytes = std::size_t{1} << 40;
        return p;
    }
    result<allot::device::memory_stats> memory_of(device_id) const noexcept { return allot::device::memory_stats{}; }
    result<bool> can_access_peer(device_id, device_id) const noexcept { return false; }
    result<> enable_peer(device_id, device_id) const noexcept { return {}; }
    result<allot::device::capture_state> capturing(stream_type) const noexcept {
        return allot::device::capture_state::none;
    }
    result<allot::device::capture_mode> exchange_capture_mode(allot::device::capture_mode m) const noexcept {
        return m;
    }
    result<> begin_capture(stream_type, allot::device::capture_mode) const noexcept { return {}; }
    result<graph_type> end_capture(stream_type) const noexcept { return graph_type{}; }
    result<> launch_graph(graph_type, stream_type) const noexcept { return {}; }
    result<> destroy_graph(graph_type) const noexcept { return {}; }
};
static_assert(allot::device::api<null_device>);

} // namespace bench
