// Characters of UTF-8 in text of any bytes: for JSON, HTML, and names that are cut.
//
// Invariant: each_character() gives valid UTF-8. Other bytes become U+FFFD, one for each part that a browser replaces:
// the longest beginning of a character, or one byte.
// Cost: a few instructions per byte; allocates nothing. Threads: values. Source: Unicode 15, table 3-7 and "U+FFFD
// substitution of maximal subparts".
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD"; // U+FFFD

// Where a text begins: bytes that are one character, or that become one U+FFFD.
struct utf8_step {
    std::size_t bytes;
    bool is_valid;
};
// Requires: a text that is not empty.
constexpr utf8_step first_character(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char c = byte(0);
    if (c < 0x80) return {1, true};
    const std::size_t length = c >= 0xC2 && c <= 0xDF   ? 2u
                               : c >= 0xE0 && c <= 0xEF ? 3u
                               : c >= 0xF0 && c <= 0xF4 ? 4u
                                                        : 0u;
    if (length == 0) return {1, false};
    unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;  // no longer form of a shorter sequence
    unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF; // no surrogate, nothing beyond U+10FFFF
    for (std::size_t n = 1; n != length; ++n) {
        if (n == text.size() || byte(n) < low || byte(n) > high) return {n, false};
        low = 0x80, high = 0xBF;
    }
    return {length, true};
}

// Calls take(character) for each, as a string_view.
template <class Take> constexpr void each_character(std::string_view text, Take take) noexcept {
    while (!text.empty()) {
        const utf8_step step = first_character(text);
        take(step.is_valid ? text.substr(0, step.bytes) : replacement_character);
        text.remove_prefix(step.bytes);
    }
}

// The most bytes of a text, `most` at most, that end no character in its middle. Requires: most < text.size().
constexpr std::size_t whole_characters(std::string_view text, std::size_t most) noexcept {
    std::size_t n = most; // the first byte that is left out
    while (n != 0 && most - n < 3 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
    return (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80 ? most : n; // no UTF-8: cut it anywhere
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
