// The error of a device call: its kind, for programs; CUDA's code and the name of the call, for reports.
//
// The simulated device uses the codes that CUDA would return. Allocates nothing. Host only. Threads: a value.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace device {

/// The kind of an error.
enum class failure : std::uint8_t {
    none,
    out_of_memory,
    no_device,                // no GPU, no driver, or a driver older than the runtime
    invalid_value,            // a size, an address or an alignment that the call does not accept
    invalid_handle,           // not a live stream, event, graph or memory handle
    invalid_device,           // no device has this number
    not_supported,            // by this device or driver
    not_permitted,            // inside queued work, or without the right
    not_permitted_in_capture, // the call would invalidate a capture, or has done so
    device_lost,              // sticky: every later call fails, too
    shutting_down,            // the process is ending, and the runtime has shut down
    other,
};

constexpr std::string_view text_of(failure kind) noexcept {
    constexpr std::string_view texts[] = {
        "success",
        "out of memory",
        "no device",
        "an invalid value",
        "an invalid handle",
        "there is no such device",
        "not supported",
        "not permitted",
        "not permitted while a stream is being captured",
        "the device is lost, and every later call fails",
        "the process is ending",
        "an unexpected error",
    };
    static_assert(std::size(texts) == static_cast<std::size_t>(failure::other) + 1);
    return texts[static_cast<std::size_t>(kind)];
}

namespace detail {

/// The CUDA code of a kind.
constexpr int native_code(failure kind) noexcept {
    constexpr int codes[] = {0, 2, 100, 1, 400, 101, 801, 800, 900, 719, 4, 999};
    static_assert(std::size(codes) == static_cast<std::size_t>(failure::other) + 1);
    return codes[static_cast<std::size_t>(kind)];
}

} // namespace detail

/// The error of one call; success if kind is failure::none.
struct error {
    const char* call = ""; // a literal
    int native = 0;        // CUDA's code
    failure kind = failure::none;

    friend constexpr bool operator==(const error& a, const error& b) noexcept {
        return a.kind == b.kind && a.native == b.native && std::string_view{a.call} == b.call;
    }
};

/// Writes "cuMemCreate: out of memory (code 2)".
constexpr void write(text_writer& out, const error& e) noexcept {
    out.put(e.call).put(": ").put(text_of(e.kind));
    if (e.kind != failure::none) out.put(" (code ").number(static_cast<std::uint64_t>(e.native)).put(')');
}

} // namespace device
} // namespace allot::inline ALLOT_ABI
