// One operation of a recording: what a program allocated, resized or deallocated, as text and as bytes.
//
//   text   a ID BYTES [ALIGNMENT [STREAM [THREAD]]]     allocate; default: aligned to 16, stream 0, thread 0
//          r ID BYTES [STREAM [THREAD]]                 resize, at this address or another
//          d ID [STREAM [THREAD]]                       deallocate
//
//   bytes  | f | id | bytes (a, r) | stream (if f.s) | thread (if f.s) |
//
//          f       1 byte: bits 0-1 the kind (1 a, 2 r, 3 d), bit 2 s, bits 3-7 the logarithm of the alignment (a),
//          else 0 id      varint: twice the distance from the last ID that was allocated, or, below it, twice that less
//          1 bytes   varint, as stream and thread; these are written where one of them is not that of the operation
//          before varint  7 bits per byte, the lowest first; bit 7 is set in all but the last
//
// Invariant: decode() accepts what encode() wrote, and refuses everything else that is no operation; it reads no byte
// beyond the end. Cost: 2 to 31 bytes per operation, as a rule 3. Threads: a value; one thread per coder.
// Source: varints and zigzag as in Protocol Buffers, 2008; text as in the traces of malloclab, CMU 1999.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace allot::inline ALLOT_ABI {

enum class recorded_kind : std::uint8_t { allocate = 1, resize = 2, deallocate = 3 };

/// What a program did.
struct recorded_operation {
    recorded_kind kind = recorded_kind::allocate;
    std::uint64_t id = 0;        // of the allocation
    std::uint64_t bytes = 0;     // that were asked for; 0 of a deallocate
    std::uint64_t alignment = 1; // of an allocate: a power of two, 2^31 at most; else 1
    std::uint32_t stream = 0;    // of a device
    std::uint32_t thread = 0;

    friend bool operator==(const recorded_operation&, const recorded_operation&) = default;
};

namespace detail {

inline constexpr std::uint64_t most_recorded_alignment = std::uint64_t{1} << 31;
// The alignment that an operation has for one that a caller gave.
constexpr std::uint64_t recorded_alignment(std::uint64_t given) noexcept {
    return given == 0 ? 1 : std::min(std::bit_floor(given), most_recorded_alignment);
}

// Writes and reads operations one after the other, each as its difference to the one before.
class operation_coder {
  public:
    static constexpr std::size_t most_bytes = 1 + 10 + 10 + 5 + 5; // of an operation

    // Returns: the end of what it wrote. Requires: most_bytes of room.
    ALLOT_OUTLINE unsigned char* encode(const recorded_operation& o, unsigned char* to) noexcept {
        const bool says_who = o.stream != stream_ || o.thread != thread_;
        const unsigned log = o.kind == recorded_kind::allocate ? log2_floor(o.alignment) : 0;
        *to++ = static_cast<unsigned char>(static_cast<unsigned>(o.kind) | (says_who ? 4U : 0U) | log << 3);
        const auto distance = static_cast<std::int64_t>(o.id - last_);
        to = put(to, static_cast<std::uint64_t>(distance) << 1 ^ static_cast<std::uint64_t>(distance >> 63));
        if (o.kind != recorded_kind::deallocate) to = put(to, o.bytes);
        if (says_who) to = put(put(to, o.stream), o.thread);
        follow(o);
        return to;
    }
    // Returns: the end of what it read; null: no operation begins there, and the coder is as before.
    const unsigned char* decode(const unsigned char* at, const unsigned char* end, recorded_operation& o) noexcept {
        if (at == end) return nullptr;
        const unsigned f = *at++;
        recorded_operation read{.stream = stream_, .thread = thread_};
        read.kind = static_cast<recorded_kind>(f & 3);
        if ((f & 3) == 0 || (read.kind != recorded_kind::allocate && f >> 3 != 0)) return nullptr;
        read.alignment = std::uint64_t{1} << (f >> 3);
        std::uint64_t distance = 0, stream = stream_, thread = thread_;
        if (!get(at, end, distance)) return nullptr;
        read.id = last_ + (distance >> 1 ^ (0 - (distance & 1)));
        if (read.kind != recorded_kind::deallocate && !get(at, end, read.bytes)) return nullptr;
        if ((f & 4) != 0 && (!get(at, end, stream) || !get(at, end, thread))) return nullptr;
        if (stream > UINT32_MAX || thread > UINT32_MAX) return nullptr;
        read.stream = static_cast<std::uint32_t>(stream), read.thread = static_cast<std::uint32_t>(thread);
        follow(o = read);
        return at;
    }

  private:
    void follow(const recorded_operation& o) noexcept {
        if (o.kind == recorded_kind::allocate) last_ = o.id;
        stream_ = o.stream, thread_ = o.thread;
    }
    static unsigned char* put(unsigned char* to, std::uint64_t n) noexcept {
        for (; n > 0x7F; n >>= 7) *to++ = static_cast<unsigned char>(n | 0x80);
        *to++ = static_cast<unsigned char>(n);
        return to;
    }
    static bool get(const unsigned char*& at, const unsigned char* end, std::uint64_t& n) noexcept {
        n = 0;
        for (unsigned shift = 0; at != end && shift < 64; shift += 7) {
            const std::uint64_t byte = *at++;
            if (shift == 63 && byte > 1) return false;
            n |= (byte & 0x7F) << shift;
            if (byte < 0x80) return true;
        }
        return false;
    }

    std::uint64_t last_ = 0; // ID of the last allocate
    std::uint32_t stream_ = 0, thread_ = 0;
};

inline constexpr std::size_t most_line_bytes = 2 + 20 + 1 + 20 + 1 + 10 + 1 + 10 + 1 + 10 + 1;

// Writes a line. Returns: its end. Requires: most_line_bytes of room.
inline char* put_line(const recorded_operation& o, char* to) noexcept {
    const auto number = [&](std::uint64_t n) {
        *to++ = ' ';
        to = std::to_chars(to, to + 20, n).ptr;
    };
    *to++ = o.kind == recorded_kind::allocate ? 'a' : o.kind == recorded_kind::resize ? 'r' : 'd';
    number(o.id);
    if (o.kind != recorded_kind::deallocate) number(o.bytes);
    if (o.kind == recorded_kind::allocate) number(o.alignment);
    number(o.stream);
    number(o.thread);
    *to++ = '\n';
    return to;
}
// The numbers of a line after its first word. Returns: how many; more than `most`: too many, or no numbers.
template <std::size_t Most>
std::size_t numbers_of(std::string_view text, std::array<std::uint64_t, Most>& numbers) noexcept {
    const char *at = text.data(), *const end = at + text.size();
    for (std::size_t n = 0;; ++n) {
        while (at != end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
        if (at == end) return n;
        if (n == Most) return Most + 1;
        const auto [to, error] = std::from_chars(at, end, numbers[n]);
        if (error != std::errc{} || (to != end && *to != ' ' && *to != '\t' && *to != '\r')) return Most + 1;
        at = to;
    }
}
// Returns: what is wrong with the line, and what to do; null: nothing.
inline const char* parse_line(std::string_view line, recorded_operation& o) noexcept {
    const char kind = line.empty() ? '\0' : line[0];
    if ((kind != 'a' && kind != 'r' && kind != 'd') || (line.size() > 1 && line[1] != ' ' && line[1] != '\t'))
        return "a line begins with a, r, d or end, and a space";
    std::array<std::uint64_t, 5> n{};
    const std::size_t found = numbers_of(line.substr(1), n);
    recorded_operation read;
    std::size_t who = 1; // where stream and thread begin
    if (kind == 'a') {
        if (found < 2 || found > 5) return "write: a ID BYTES [ALIGNMENT [STREAM [THREAD]]], in whole numbers";
        read.kind = recorded_kind::allocate, read.bytes = n[1], read.alignment = found > 2 ? n[2] : 16, who = 3;
        if (!is_power_of_two(read.alignment) || read.alignment > most_recorded_alignment)
            return "the alignment must be a power of two, 2^31 at most";
    } else if (kind == 'r') {
        if (found < 2 || found > 4) return "write: r ID BYTES [STREAM [THREAD]], in whole numbers";
        read.kind = recorded_kind::resize, read.bytes = n[1], who = 2;
    } else {
        if (found < 1 || found > 3) return "write: d ID [STREAM [THREAD]], in whole numbers";
        read.kind = recorded_kind::deallocate;
    }
    read.id = n[0];
    if (n[who] > UINT32_MAX || n[who + 1] > UINT32_MAX) return "stream and thread must be below 2^32";
    read.stream = static_cast<std::uint32_t>(n[who]), read.thread = static_cast<std::uint32_t>(n[who + 1]);
    o = read;
    return nullptr;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
