// The kernel of query 1, for host code.
#pragma once

#include "../queries/q1_lines.hpp"

struct CUstream_st;

namespace tpch::q1 {

/// Adds the lines, which are in the device's memory, to the sums of their groups there, after the work of the stream so
/// far.
/// Returns: null, or what is wrong.
const char* launch_add_up(const lines& l, sums* to, CUstream_st* stream);

} // namespace tpch::q1
