// What a thread is at, and the end of the run when something is wrong: what, where, with which seed.
//
// A crash tells the same as a failure. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soak {

// The calling thread's: which set it works with, at what.
struct place {
    int thread = -1; // -1: the one that directs, -2: the one that looks on
    const char* set = "";
    const char* step = "";
};
inline thread_local place here;

// Told first, and again at a failure.
void begin_run(std::uint64_t seed);
// Describes a set, by the text it has here.
void tell_set_by(void (*describe)(const char* set));
[[noreturn]] void fail(const char* what, const void* row = nullptr);

inline void expect(bool good, const char* what, const void* row = nullptr) {
    if (!good) [[unlikely]]
        fail(what, row);
}

void expect_same(std::size_t is, std::size_t must_be, const char* what);

} // namespace soak
