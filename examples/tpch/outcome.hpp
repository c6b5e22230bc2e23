// What a run has done, for the report.
#pragma once
#include "device/device.hpp"
#include <allot/oom/task_record.hpp>
#include <allot/spill/store_stats.hpp>
#include <allot/tree/account_status.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tpch {

struct query_outcome {
    std::string name;
    nlohmann::json answer;
    std::string error, page;   // why there is no answer; the report of an out_of_memory
    double seconds = 0;        // from its begin to its end
    double alone = 0;          // the same alone, with memory for all; 0: not measured
    std::size_t peak = 0;      // bytes charged to it at most
    std::uint64_t spilled = 0; // bytes of it that left memory
    allot::oom::task_stats task;
    bool checked = false, right = true, out_of_memory = false, device_failed = false;
};

struct outcome {
    std::vector<query_outcome> queries;
    double seconds = 0, processor_seconds = 0;
    std::string name; // of the limit
    std::size_t limit = 0;
    std::size_t charged = 0;             // the account's peak: memory and promises
    std::size_t by_account = 0;          // bytes of memory that the account was charged for at most
    std::size_t promised = 0;            // bytes that were reserved and not charged, at the account's peak
    allot::account_stats account;        // at the end
    std::size_t start = 0, resident = 0; // bytes resident before it; and at most, less those
    std::uint64_t ran_out = 0;           // tasks that began again
    allot::store_stats stored;
    allot::oom::task_stats tasks;
    device_outcome device;
};

} // namespace tpch
