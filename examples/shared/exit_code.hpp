// The exit codes of the example programs.
#pragma once

namespace shared::exit_code {

inline constexpr int done = 0;
inline constexpr int failed = 1;         // an unexpected error
inline constexpr int usage = 2;          // the command line is wrong
inline constexpr int bad_input = 3;      // a file cannot be read, or is not the expected table; --spill has no file
inline constexpr int wrong_answer = 4;   // an answer is not the expected one, or data copied back from a device differ
inline constexpr int no_device = 5;      // --device: there is no such device, or one of its calls failed
inline constexpr int out_of_memory = 12; // a limit is too small: the report on stderr shows the holders of memory

} // namespace shared::exit_code
