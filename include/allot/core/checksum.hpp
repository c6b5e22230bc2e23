// Checksums of a row's bytes: sum16 and CRC-32C.
//
// sum16 is the sum of 16-bit words with end-around carry: it detects every change of one bit or byte, but not swapped
// words. crc32c detects every burst of up to 32 bits, and other changes except one in 2^32.
// Cost for n bytes: sum16 n/4 additions; crc32c n/8 instructions where the processor has SSE 4.2, else a table of 4 KiB
// and about one cycle per byte. Threads: any; host only. Sources: Braden, Borman and Partridge, RFC 1071, 1988;
// Castagnoli 1993; slicing: Kounavis and Berry 2005.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {

/// The check of a row type: 4 bytes per row.
enum class row_check : std::uint8_t { none, sum16, crc32c };

namespace detail {

inline std::uint32_t sum16(const void* bytes, std::size_t n) noexcept {
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint64_t sum = 0;
    for (; n >= 4; n -= 4, at += 4) {
        std::uint32_t word;
        std::memcpy(&word, at, sizeof word);
        sum += word;
    }
    std::uint32_t rest = 0;
    std::memcpy(&rest, at, n);
    sum += rest;
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint32_t>(sum);
}

using crc_tables = std::array<std::array<std::uint32_t, 256>, 4>;

// tables[k][b]: byte b followed by k zero bytes.
constexpr crc_tables make_crc32c_tables() noexcept {
    crc_tables tables{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t crc = b;
        for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
        tables[0][b] = crc;
    }
    for (std::size_t k = 1; k < 4; ++k)
        for (std::size_t b = 0; b < 256; ++b) tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xFF];
    return tables;
}
inline constexpr crc_tables crc32c_tables = make_crc32c_tables();

inline std::uint32_t crc32c_by_table(const void* bytes, std::size_t n, std::uint32_t before = 0) noexcept {
    const auto& t = crc32c_tables;
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint32_t crc = ~before;
    for (; n >= 4; n -= 4, at += 4) {
        std::uint32_t word;
        std::memcpy(&word, at, sizeof word);
        crc ^= word;
        crc = t[3][crc & 0xFF] ^ t[2][crc >> 8 & 0xFF] ^ t[1][crc >> 16 & 0xFF] ^ t[0][crc >> 24];
    }
    for (; n != 0; --n, ++at) crc = crc >> 8 ^ t[0][(crc ^ *at) & 0xFF];
    return ~crc;
}

#if ALLOT_X86_64 && (ALLOT_SSE42 || !ALLOT_CUDA)
ALLOT_FOR_SSE42 inline std::uint32_t crc32c_by_instruction(const void* bytes, std::size_t n,
                                                           std::uint32_t before = 0) noexcept {
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint64_t crc = ~before;
    for (; n >= 8; n -= 8, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        crc = __builtin_ia32_crc32di(crc, word);
    }
    auto low = static_cast<std::uint32_t>(crc);
    for (; n != 0; --n, ++at) low = __builtin_ia32_crc32qi(low, *at);
    return ~low;
}
#else
inline std::uint32_t crc32c_by_instruction(const void* bytes, std::size_t n, std::uint32_t before = 0) noexcept {
    return crc32c_by_table(bytes, n, before);
}
#endif

} // namespace detail

/// `before`: the checksum of the bytes before these, of which the result then is one, too.
inline std::uint32_t crc32c(const void* bytes, std::size_t n, std::uint32_t before = 0) noexcept {
    return ALLOT_HAS_SSE42() ? detail::crc32c_by_instruction(bytes, n, before)
                             : detail::crc32c_by_table(bytes, n, before);
}

} // namespace allot::inline ALLOT_ABI
