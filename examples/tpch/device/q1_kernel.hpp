// The kernel of query 1, for host code.
#pragma once

#include "../queries/q1_lines.hpp"
#include <cstdint>

struct CUstream_st;

namespace tpch::q1 {

/// Adds the lines, which are in the device's memory, to `sums` there, after the work of the stream so far.
/// Returns: null, or what is wrong.
const char* launch_add_up(const lines& l, std::int64_t* sums, CUstream_st* stream);

} // namespace tpch::q1
