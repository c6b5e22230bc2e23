// The tag of a free run: which streams may use it.
//
// Format, 64 bits: [63..48] key, [47..0] ticket. A key is a stream or one of the constants below; a ticket numbers the
// frees of a stream. Another stream may use a run of key S and ticket t once it is ordered after free number t of S.
// Adjacent runs of one key join and keep the later ticket.
// Invariant: the ticket of a key never decreases, also when the key is reused for another stream.
// Cost: 8 bytes per run. Threads: a value.
#pragma once

#include <allot/config.hpp>
#include <allot/fit/run_tag.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct stream_tag {
    static constexpr std::uint32_t clean = 0; // free for every stream: never used, or the host waited for its users
    static constexpr std::uint32_t held = 1;  // free for no stream: freed in a capture, or on a stream without a key
    static constexpr std::uint32_t first = 2; // the first key of a stream
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

} // namespace detail
static_assert(detail::run_tag<detail::stream_tag> && sizeof(detail::stream_tag) == 8);

} // namespace allot::inline ALLOT_ABI
