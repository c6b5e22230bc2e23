// The calls of the device seam, by name: the simulator counts them, charges virtual time for them, and makes them fail.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace allot::inline ALLOT_ABI {
namespace device {

/// A call of the seam; `launch` is the simulator's own.
enum class call : std::uint8_t {
    allocate,
    deallocate,
    allocate_async,
    deallocate_async,
    allocate_pinned,
    deallocate_pinned,
    granularity,
    reserve,
    free_address,
    create,
    release,
    map,
    set_access,
    unmap,
    create_stream,
    destroy_stream,
    stream_id,
    device_of,
    query_stream,
    synchronize_stream,
    synchronize_device,
    current,
    set_current,
    create_event,
    destroy_event,
    record,
    wait,
    query_event,
    synchronize_event,
    launch,
    copy,
    copy_peer,
    fill,
    device_count,
    properties,
    memory,
    can_access_peer,
    enable_peer,
    capturing,
    exchange_capture_mode,
    begin_capture,
    end_capture,
    launch_graph,
    destroy_graph,
};

inline constexpr std::size_t calls = static_cast<std::size_t>(call::destroy_graph) + 1;

constexpr const char* text_of(call c) noexcept {
    constexpr const char* texts[] = {
        "allocate",
        "deallocate",
        "allocate_async",
        "deallocate_async",
        "allocate_pinned",
        "deallocate_pinned",
        "granularity",
        "reserve",
        "free_address",
        "create",
        "release",
        "map",
        "set_access",
        "unmap",
        "create_stream",
        "destroy_stream",
        "stream_id",
        "device_of",
        "query(stream)",
        "synchronize(stream)",
        "synchronize(device)",
        "current",
        "set_current",
        "create_event",
        "destroy_event",
        "record",
        "wait",
        "query(event)",
        "synchronize(event)",
        "launch",
        "copy",
        "copy_peer",
        "fill",
        "device_count",
        "properties",
        "memory",
        "can_access_peer",
        "enable_peer",
        "capturing",
        "exchange_capture_mode",
        "begin_capture",
        "end_capture",
        "launch_graph",
        "destroy_graph",
    };
    static_assert(std::size(texts) == calls);
    return texts[static_cast<std::size_t>(c)];
}

} // namespace device
} // namespace allot::inline ALLOT_ABI
