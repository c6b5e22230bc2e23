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

#include <support/on_thread.hpp>

using Catch::Matchers::ContainsSubstring;
