// Catch2 for every test, v3 or v2 as the machine has it.
//
// v2 lacks a few names of v3 that the tests use; they are given here. A skipped test is told to ctest by v3's own
// exit code, by v2 with the line "skipped: ", which tests/CMakeLists.txt looks for.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#else

#include <catch2/catch.hpp>

#include <iostream>

namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }
} // namespace Catch::Matchers

#define SKIP(...)                                                                                                      \
    do {                                                                                                               \
        std::cout << "skipped: " << Catch::Detail::stringify(std::string{__VA_ARGS__}) << std::endl;                   \
        SUCCEED();                                                                                                     \
        return;                                                                                                        \
    } while (false)

#endif

#include <cstdio>
#include <cstdlib>

using Catch::Matchers::ContainsSubstring;

// CHECK on a thread that does not run the test: Catch2 up to 3.8 breaks where two threads assert at a time, so
// one_thread_asserts.cpp refuses it there. What does not hold is printed, and ends the program.
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
