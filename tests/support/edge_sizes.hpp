// Sizes, counts and alignments at the edges of std::size_t, for tests that walk every entry point that takes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

inline const std::vector<std::size_t>& edge_sizes() {
    static const std::vector<std::size_t> all = [] {
        std::vector<std::size_t> v{0, 1, 63, 64, 65};
        for (unsigned bit : {16u, 20u, 26u, 31u, 32u, 44u, 46u, 47u, 48u, 56u, 62u, 63u})
            for (std::size_t off : {SIZE_MAX, std::size_t{0}, std::size_t{1}})
                v.push_back((std::size_t{1} << bit) + off);
        for (std::size_t less = 0; less <= 64; ++less) v.push_back(SIZE_MAX - less);
        for (unsigned bit : {7u, 12u, 16u, 20u, 24u}) v.push_back(SIZE_MAX - (std::size_t{1} << bit));
        return v;
    }();
    return all;
}

// Without sizes that a checked build reports as misuse, and aborts.
inline std::vector<std::size_t> lawful_edge_sizes() {
    std::vector<std::size_t> some;
    for (std::size_t n : edge_sizes())
        if (ALLOT_CHECKED == 0 || n <= static_cast<std::size_t>(PTRDIFF_MAX)) some.push_back(n);
    return some;
}

} // namespace support
