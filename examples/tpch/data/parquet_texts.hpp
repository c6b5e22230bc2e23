// Texts of a Parquet column, copied behind each other into a chunk.
//
// Arrow returns an address and a length for each. Most are short and of changing lengths, so a copy by length would
// mispredict a branch for each.
#pragma once

#include "table.hpp"

#include <parquet/metadata.h>
#include <parquet/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tpch {

/// Copies each text as N bytes, where the `end` of their buffer allows it: so no branch depends on their lengths.
/// Requires: no text is longer than N.
template <std::size_t N>
void copy_short(const parquet::ByteArray* texts, std::size_t n, const std::uint8_t* first, const char* moved,
                const char* end, char* to, std::size_t at, std::uint32_t* offsets) {
    for (std::size_t i = 0; i != n; ++i) {
        offsets[i] = static_cast<std::uint32_t>(at);
        const char* const from = moved + (texts[i].ptr - first);
        if (from + N <= end) std::memcpy(to + at, from, N);
        else std::memcpy(to + at, from, texts[i].len);
        at += texts[i].len;
    }
}

/// Copies texts behind each other, from to[at] on. `are_together`: they are of one page or one dictionary.
/// Requires: n is not 0; chunk::slack bytes of room behind the texts.
inline void copy_texts(const parquet::ByteArray* texts, std::size_t n, bool are_together, char* to, std::size_t at,
                       std::uint32_t* offsets) {
    constexpr std::size_t longest_short = 48, most_local = 1024;
    static_assert(longest_short <= chunk::slack);
    std::uint32_t longest = 0, shortest = UINT32_MAX;
    for (std::size_t i = 0; i != n; ++i) {
        longest = std::max(longest, texts[i].len);
        shortest = std::min(shortest, texts[i].len);
    }
    if (longest == 1 && shortest == 1) {
        for (std::size_t i = 0; i != n; ++i) {
            to[at + i] = static_cast<char>(*texts[i].ptr);
            offsets[i] = static_cast<std::uint32_t>(at + i);
        }
        return;
    }
    if (longest > longest_short || shortest == 0 || !are_together) {
        for (std::size_t i = 0; i != n; at += texts[i++].len) {
            offsets[i] = static_cast<std::uint32_t>(at);
            if (texts[i].len != 0) std::memcpy(to + at, texts[i].ptr, texts[i].len);
        }
        return;
    }
    const std::uint8_t *first = texts[0].ptr, *end = first;
    for (std::size_t i = 0; i != n; ++i) {
        first = std::min(first, texts[i].ptr);
        end = std::max(end, texts[i].ptr + texts[i].len);
    }
    // The texts of a small dictionary are copied to a place with room behind them.
    char local[most_local + longest_short];
    const char* moved = reinterpret_cast<const char*>(first);
    const auto size = static_cast<std::size_t>(end - first);
    const char* readable = moved + size;
    if (size <= most_local) {
        std::memcpy(local, first, size);
        moved = local, readable = local + sizeof local;
    }
    const auto copy = longest <= 16 ? &copy_short<16> : longest <= 32 ? &copy_short<32> : &copy_short<longest_short>;
    copy(texts, n, first, moved, readable, to, at, offsets);
}

/// Whether the texts of a batch are of one page or one dictionary: not where values share their beginnings.
inline bool has_texts_together(const parquet::ColumnChunkMetaData& chunk) {
    using parquet::Encoding;
    return std::ranges::all_of(chunk.encodings(), [](Encoding::type e) {
        return e == Encoding::PLAIN || e == Encoding::PLAIN_DICTIONARY || e == Encoding::RLE_DICTIONARY ||
               e == Encoding::RLE || e == Encoding::BIT_PACKED;
    });
}

} // namespace tpch
