// The rows that the suite of row managers makes, fills and looks at.
#pragma once

#include <support/catch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

// A check that costs the compiler one call, whatever the set.
inline void expect(bool good, const char* what) {
    if (good) return;
    FAIL_CHECK(what);
}

struct counted {
    static inline std::atomic<int> alive{0};
    std::uint64_t value;
    explicit counted(std::uint64_t v) : value(v) { ++alive; }
    ~counted() { --alive; }
};
struct plain_row {
    std::uint64_t value;
};

struct filled {
    unsigned char* at;
    std::size_t bytes;
};
inline bool touches = true; // rows of a device stay as they are
inline void fill(const filled& row, std::size_t mark) {
    if (touches) std::memset(row.at, static_cast<int>(mark % 251), row.bytes);
}
inline bool intact(const filled& row, std::size_t mark) {
    for (std::size_t i = 0; touches && i < row.bytes; ++i)
        if (row.at[i] != static_cast<unsigned char>(mark % 251)) return false;
    return true;
}
inline bool is_aligned(const void* p, std::size_t align) { return reinterpret_cast<std::uintptr_t>(p) % align == 0; }

} // namespace
