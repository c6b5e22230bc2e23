// Query 1 as its scan tasks see it: what the rows of one task go into, on the host or on a device.
#pragma once

#include "../data/table.hpp"
#include "q1_lines.hpp"
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>

namespace tpch::q1 {

using group_sums = std::array<sums, groups>;

constexpr std::int32_t last_day =
    (std::chrono::sys_days{std::chrono::December / 1 / 1998} - std::chrono::days{90}).time_since_epoch().count();

class adder {
  public:
    virtual ~adder() = default;
    /// Requires: the chunk has the columns of query 1. Throws: as the memory that it uses.
    virtual void add(const chunk& c) = 0;
    /// Returns: the sums of all chunks. Requires: nothing is called afterwards.
    virtual std::unique_ptr<group_sums> take() = 0;
};

} // namespace tpch::q1
