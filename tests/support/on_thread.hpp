// Checks on a thread that does not run the test.
#pragma once

#include <cstdio>
#include <cstdlib>

// CHECK of Catch2 up to 3.8 breaks where two threads assert at a time, so one_thread_asserts.cpp refuses it there. What
// does not hold is printed, and ends the program.
#define CHECK_ON_THREAD(...) support::check_on_thread((__VA_ARGS__) ? true : false, #__VA_ARGS__, __FILE__, __LINE__)

namespace support {
inline void check_on_thread(bool holds, const char* what, const char* file, int line) {
    if (!holds) std::fprintf(stderr, "%s:%d: on a thread: not so: %s\n", file, line, what), std::_Exit(1);
}
template <class Error, class Call> bool throws(const Call& call) {
    try {
        static_cast<void>(call());
    } catch (const Error&) {
        return true;
    }
    return false;
}
} // namespace support
