// A set that a recording is replayed against, how it is run, and what a run took.
#pragma once

#include "sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace replay {

struct how {
    bool in_threads = true; // those that were recorded; else one
    bool touches = true;    // memory
    bool is_warm = false;   // all is replayed once before it is timed
    bool looks = false;     // measures bytes: then the time says nothing
    std::size_t limit = SIZE_MAX;
};

/// What a run took.
struct figures {
    double seconds = 0;       // of one thread: of the processor; of several: until the last has ended
    std::size_t peak = 0;     // bytes charged
    std::size_t resident = 0; // bytes, at most, beyond the start
    std::size_t refused = 0;  // requests
    std::size_t left_out = 0; // operations of allocations that were refused
};

/// One set: its name, what it is of, and how it is run.
struct entry {
    std::string_view name, what;
    figures (*run)(const sequence&, const how&);
    bool is_on_device;
    bool is_reference; // it is not recommended; others are compared to it
};

} // namespace replay
