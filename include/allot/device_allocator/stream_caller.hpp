// The caller of a device allocator: a stream, its id, and the calls that a request may make on it.
//
// Cost: two api calls (stream id, capture state). Threads: a value.
#pragma once

#include <allot/config.hpp>
#include <allot/device/kinds.hpp>
#include <allot/device/result.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Which calls a request may make on its stream: all; no records and waits; none, since the stream is captured.
enum class permitted : std::uint8_t { all, no_events, captured };

// While a blocking stream is captured, CUDA forbids calls that would order the legacy stream after it. After any other
// error the stream is treated as captured.
inline permitted permitted_by(const device::result<device::capture_state>& captured) noexcept {
    return captured.kind() == device::failure::not_permitted_in_capture ? permitted::no_events : permitted::captured;
}

template <class Api> struct stream_caller {
    typename Api::stream_type stream{};
    std::uint64_t id = 0;
    permitted allowed = permitted::all;

    // False: not a stream; the error is the last one of `errors`.
    template <class Errors> bool identify(Api& api, typename Api::stream_type s, Errors& errors) noexcept {
        const auto its = api.stream_id(s);
        if (ALLOT_UNLIKELY(!its)) {
            errors.set_last_error(its.error());
            return false;
        }
        stream = s;
        id = *its;
        const auto captured = api.capturing(s);
        allowed = ALLOT_LIKELY(captured && *captured == device::capture_state::none) ? permitted::all
                                                                                     : permitted_by(captured);
        return true;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
