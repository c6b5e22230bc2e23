// What went wrong in a call to a device: the kind, which programs ask for, and code and call, which people read.
//
// `native` is CUDA's code, on the simulated device too: the code that CUDA would give. Allocates nothing.
// Threads: a value. Host only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace device {

enum class failure : std::uint8_t {
    none,
    out_of_memory,
    no_device,                // no driver, no GPU, or a driver older than the runtime: all one to a program
    invalid_value,            // a size, an address or an alignment that the call does not take
    invalid_handle,           // a stream, event, graph or memory handle that is not, or no longer, one
    invalid_device,           // there is no device of this number
    not_supported,            // this device or driver cannot
    not_permitted,            // it could, but not here: from inside queued work, or a missing right
    not_permitted_in_capture, // the call would end a capture, or has invalidated it
    device_lost,              // sticky: every later call fails, too
    shutting_down,            // the process is ending, and the runtime has gone
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

/// CUDA's code for a kind that has one of its own.
constexpr int native_code(failure kind) noexcept {
    constexpr int codes[] = {0, 2, 100, 1, 400, 101, 801, 800, 900, 719, 4, 999};
    static_assert(std::size(codes) == static_cast<std::size_t>(failure::other) + 1);
    return codes[static_cast<std::size_t>(kind)];
}

struct error {
    const char* call = ""; // a literal
    int native = 0;
    failure kind = failure::none;

    friend constexpr bool operator==(const error& a, const error& b) noexcept {
        return a.kind == b.kind && a.native == b.native && std::string_view{a.call} == b.call;
    }
};

/// "cuMemCreate: out of memory (code 2)"
constexpr void write(text_writer& out, const error& e) noexcept {
    out.put(e.call).put(": ").put(text_of(e.kind));
    if (e.kind != failure::none) out.put(" (code ").number(static_cast<std::uint64_t>(e.native)).put(')');
}

} // namespace device
} // namespace allot::inline ALLOT_ABI
