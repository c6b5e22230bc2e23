// Checksums of rows, in plain arithmetic modulo 2^64; expected/README.md has the definition, and make_expected.py the
// same in Python.
//
// Cost: one multiplication for a number, one for 8 bytes of a text; those of a row do not wait for each other.
#pragma once

#include "table.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tpch {
namespace detail {

/// The odd numbers that values are multiplied by: splitmix64 of i (Steele, Lea and Flood, 2014).
constexpr std::uint64_t factor(std::uint64_t i) {
    std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (z ^ (z >> 31)) | 1;
}
template <std::size_t N> constexpr std::array<std::uint64_t, N> factors(std::uint64_t first) {
    std::array<std::uint64_t, N> all{};
    for (std::size_t i = 0; i != N; ++i) all[i] = factor(first + i);
    return all;
}
inline constexpr auto word_factors = factors<32>(0);    // of the words of a text
inline constexpr auto column_factors = factors<64>(64); // of the columns of a row
inline constexpr std::uint64_t length_factor = factor(32), order_factor = factor(33), pair_factor = factor(34);

inline std::uint64_t load8(const char* p) {
    std::uint64_t v;
    std::memcpy(&v, p, 8);
    return v;
}
inline std::uint64_t load4(const char* p) {
    std::uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
}
/// The n < 8 bytes at p as a little-endian number; reads no other bytes.
inline std::uint64_t load_few(const char* p, std::size_t n) {
    if (n >= 4) return load4(p) | load4(p + n - 4) << (8 * (n - 4));
    if (n == 0) return 0;
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i); };
    return byte(0) | byte(n / 2) | byte(n - 1);
}

} // namespace detail

constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93;
    return x ^ (x >> 32);
}

inline std::uint64_t hash_of(std::string_view text) {
    const char* p = text.data();
    const std::size_t n = text.size();
    std::uint64_t sum = n * detail::length_factor;
    std::size_t at = 0, word = 0;
    for (; n - at >= 8; at += 8) sum += detail::load8(p + at) * detail::word_factors[word++ % 32];
    // The last bytes: those of the last 8, where there are as many, without the ones before.
    const std::size_t rest = n - at;
    if (n >= 8 && rest != 0) sum += (detail::load8(p + n - 8) >> (8 * (8 - rest))) * detail::word_factors[word % 32];
    else if (n < 8) sum += detail::load_few(p, rest) * detail::word_factors[word % 32];
    return mix(sum);
}

/// The hash of a row: its values are added in the order of its columns.
class row_hash {
  public:
    void add(std::int64_t value) { add_word(static_cast<std::uint64_t>(value)); }
    void add(std::string_view text) { add_word(hash_of(text)); }
    void add_padded(std::string_view text);
    std::uint64_t value() const { return mix(sum_); }

  private:
    void add_word(std::uint64_t word) { sum_ += word * detail::column_factors[column_++]; }

    std::uint64_t sum_ = 0;
    std::size_t column_ = 0;
};

namespace detail {

inline constexpr std::size_t most_words = 10;
static_assert(chunk::slack >= 8 * most_words);

/// Entry 80 + k is the mask of the first k bytes of a word; none for less than 1, all for more than 7.
inline constexpr auto byte_masks = [] {
    std::array<std::uint64_t, 16 * most_words + 1> all{};
    for (std::size_t k = 1; k <= 8 * most_words; ++k)
        all[8 * most_words + k] = k < 8 ? (std::uint64_t{1} << (8 * k)) - 1 : ~std::uint64_t{0};
    return all;
}();

/// The hash of a text of at most `Words` words. All of these are read, so that no branch depends on the length.
template <std::size_t Words> std::uint64_t hash_of_words(const char* p, std::size_t length) {
    std::uint64_t sum = length * length_factor;
    const std::uint64_t* const masks = &byte_masks[8 * most_words + length];
#pragma GCC unroll 10
    for (std::size_t w = 0; w != Words; ++w) sum += (load8(p + 8 * w) & *(masks - 8 * w)) * word_factors[w];
    return mix(sum);
}
/// Adds the hashes of texts, most of which have at most `Words` words.
template <std::size_t Words>
void add_texts(const char* bytes, const std::uint32_t* offsets, std::size_t n, std::uint64_t factor,
               std::uint64_t* to) {
    for (std::size_t i = 0; i != n; ++i) {
        const char* const p = bytes + offsets[i];
        const std::size_t length = offsets[i + 1] - offsets[i];
        to[i] +=
            factor * (length <= 8 * Words ? hash_of_words<Words>(p, length) : hash_of(std::string_view{p, length}));
    }
}

} // namespace detail

/// As hash_of(), faster: of a text behind which chunk::slack bytes may be read.
inline std::uint64_t hash_of_padded(std::string_view text) {
    if (text.size() <= 24) return detail::hash_of_words<3>(text.data(), text.size());
    return text.size() <= 48 ? detail::hash_of_words<6>(text.data(), text.size()) : hash_of(text);
}
inline void row_hash::add_padded(std::string_view text) { add_word(hash_of_padded(text)); }

/// The hashes of all rows of a chunk, whose columns are those of the rows. `to` has room for them.
inline void hash_rows(const chunk& from, std::uint64_t* to) {
    const std::size_t n = from.rows();
    for (std::size_t i = 0; i != n; ++i) to[i] = 0;
    for (std::size_t c = 0; c != from.columns(); ++c) {
        const std::uint64_t factor = detail::column_factors[c];
        const auto add_numbers = [&](auto values) {
            for (std::size_t i = 0; i != n; ++i)
                to[i] += static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i])) * factor;
        };
        const auto add_texts = [&] {
            const std::uint32_t* const offsets = from.offsets(c);
            const std::size_t mean = offsets[n] / n;
            const auto add = mean <= 2    ? &detail::add_texts<1>
                             : mean <= 14 ? &detail::add_texts<3>
                             : mean <= 32 ? &detail::add_texts<6>
                                          : &detail::add_texts<detail::most_words>;
            add(from.text_bytes(c), offsets, n, factor, to);
        };
        if (n == 0) continue;
        switch (from.type(c)) {
        case column_type::number32: add_numbers(from.ints(c)); break;
        case column_type::number64: add_numbers(from.longs(c)); break;
        case column_type::text: add_texts();
        }
    }
    for (std::size_t i = 0; i != n; ++i) to[i] = mix(to[i]);
}

/// The checksum of rows in their order. That of a row more is `sum * order_factor + hash`.
class ordered_sum {
  public:
    void add(std::uint64_t hash) {
        sum_ = sum_ * detail::order_factor + hash;
        ++rows_;
    }
    /// Adds the rows of another sum, which come after these.
    void append(const ordered_sum& later) {
        std::uint64_t power = 1, base = detail::order_factor;
        for (std::uint64_t n = later.rows_; n != 0; n >>= 1, base *= base)
            if (n & 1) power *= base;
        sum_ = sum_ * power + later.sum_;
        rows_ += later.rows_;
    }
    std::uint64_t value() const { return sum_; }
    std::uint64_t rows() const { return rows_; }

  private:
    std::uint64_t sum_ = 0, rows_ = 0;
};

/// The hash of a pair of joined rows, from their hashes. The checksum of pairs is the sum of their hashes, in any
/// order.
constexpr std::uint64_t pair_hash(std::uint64_t left, std::uint64_t right) {
    return mix(left * detail::pair_factor + right);
}

} // namespace tpch
