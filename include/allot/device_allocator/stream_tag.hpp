// Who may use a free run: everybody, nobody, or the stream that freed it and who waits for that.
//
// Format, 64 bits: [63..48] key, [47..0] ticket. A stream's ticket is the number of its frees so far; a run of key S
// and ticket t is free for another stream once that is ordered after S's free number t. Runs of one key become one with
// the later ticket. Invariant: a ticket never goes down, not even when its key serves another stream.
// Cost: 8 bytes a run. Threads: a value.
#pragma once

#include <allot/config.hpp>
#include <allot/fit/run_tag.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

struct stream_tag {
    static constexpr std::uint32_t clean = 0;   // never used, or the host has waited for who did
    static constexpr std::uint32_t held = 1;    // freed where nothing can tell when: in a capture, on no stream
    static constexpr std::uint32_t resting = 2; // as clean, in pieces that were wholly free at retain::idle's last look
    static constexpr std::uint32_t first = 3;   // of the streams' keys
    static constexpr std::uint32_t most = (1U << 16) - 1;

    std::uint64_t bits = 0;

    static constexpr stream_tag of(std::uint32_t key, std::uint64_t ticket = 0) noexcept {
        return {std::uint64_t{key} << 48 | ticket};
    }
    constexpr std::uint32_t key() const noexcept { return static_cast<std::uint32_t>(bits >> 48); }
    constexpr std::uint64_t ticket() const noexcept { return bits & ((std::uint64_t{1} << 48) - 1); }
    static constexpr bool may_join(const stream_tag& a, const stream_tag& b) noexcept { return a.key() == b.key(); }
    static constexpr stream_tag join(const stream_tag& a, const stream_tag& b) noexcept {
        return a.bits < b.bits ? b : a;
    }
};
static_assert(run_tag<stream_tag> && sizeof(stream_tag) == 8);

} // namespace allot::inline ALLOT_ABI
