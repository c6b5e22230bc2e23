// Rows whose bytes tell where they are.
#pragma once

#include <cstddef>

// Every 61st byte, by its place and by `seed`.
inline void fill_row(void* row, std::size_t from, std::size_t to, unsigned seed = 1) {
    auto* const at = static_cast<unsigned char*>(row);
    for (std::size_t i = (from + 60) / 61 * 61; i < to; i += 61) at[i] = static_cast<unsigned char>(i * 31 + seed);
}
inline bool is_filled(const void* row, std::size_t bytes, unsigned seed = 1) {
    const auto* const at = static_cast<const unsigned char*>(row);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; i += 61) wrong += at[i] != static_cast<unsigned char>(i * 31 + seed);
    return wrong == 0;
}
