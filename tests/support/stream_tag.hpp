// A tag as a stream-ordered allocator has it: who freed the run, and when.
#pragma once

#include <algorithm>
#include <cstdint>

struct stream_tag {
    std::uint32_t stream = 0;
    std::uint64_t ticket = 0;

    std::uint32_t key() const noexcept { return stream; }
    static bool may_join(const stream_tag& a, const stream_tag& b) noexcept { return a.stream == b.stream; }
    static stream_tag join(const stream_tag& a, const stream_tag& b) noexcept {
        return {a.stream, std::max(a.ticket, b.ticket)};
    }
    friend bool operator==(const stream_tag&, const stream_tag&) = default;
};
