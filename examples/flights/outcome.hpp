// What one run of the job leaves behind for the report.
#pragma once
#include "answer.hpp"
#include "csv.hpp"
#include "device/device.hpp"
#include "loader.hpp"
#include "memory_log.hpp"
#include <vector>

namespace flights {

struct outcome {
    std::vector<file_read> files;
    std::vector<answer> answers;
    memory_use fullest;    // the fullest moment that was noted
    memory_use afterwards; // when every row was released
    device_outcome device; // of none: no name
    double reading = 0;    // seconds
};

} // namespace flights
