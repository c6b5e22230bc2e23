// The outcome of a job, for the report.
#pragma once
#include "answer.hpp"
#include "csv.hpp"
#include "device/device.hpp"
#include "engine.hpp"
#include "kept.hpp"
#include "loader.hpp"
#include "memory_log.hpp"
#include <vector>

namespace flights {

/// What --compact did to the rows of a row manager. Pages: all of the manager, once rows were dropped, and once they
/// were moved.
struct compacted_rows {
    std::string of; // the manager
    std::size_t rows = 0, dropped = 0, moved = 0;
    std::size_t pages_before = 0, pages_after = 0;
    std::size_t bytes_returned = 0; // by moving rows
};

/// A query that was answered beside others.
struct task_use {
    std::string query;
    bool equal = false; // its answer is that of the query alone
    std::uint64_t rollbacks = 0, splits = 0;
    double blocked = 0, lost = 0, seconds = 0; // seconds
    std::size_t peak = 0;                      // bytes
};

struct outcome {
    std::vector<file_read> files;          // of the last reading
    std::vector<answer> answers;           // of the last round
    std::vector<refusal> refused;          // queries that have no answer
    memory_use fullest;                    // the largest measurement
    memory_use afterwards;                 // after all rows were released
    std::string accounts, accounts_json;   // the tree at its peak, with --explain-memory
    device_outcome device;                 // empty name: no device
    std::vector<compacted_rows> compacted; // of the last reading, with --compact
    std::vector<kept_use> kept;            // with --rounds
    spill_use spilled;                     // with --spill
    std::vector<task_use> tasks;           // with --tasks
    unsigned readings = 0;                 // rounds in which the files were read
    double reading = 0;                    // seconds
    std::size_t peak_resident = 0;         // bytes of the whole process, beyond those at its start
};

} // namespace flights
