// The output of a program: whether all of it was written.
#pragma once
#include "exit_code.hpp"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/core.h>

namespace shared {

/// At the end of a program. Returns: `code`; exit_code::failed, with a line on stderr, where stdout has lost something
/// and all was well until then.
inline int flushed(const char* program, int code) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "{}: the output could not be written: {}\n", program, std::strerror(errno));
    return code == exit_code::done ? exit_code::failed : code;
}

} // namespace shared
