// Ranks of the sets, and the sentence that says which to take and why.
//
// A set is equal to another in time where the spreads of their rounds overlap (from the first quartile to the third),
// and in peak where the difference is below 1 %. Sets of one rank are equal to the first. Below three rounds the spread
// is not known: then the medians alone give the ranks, and the sentence says so.
#pragma once

#include "sequence.hpp"

#include <harness/statistics.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace replay {

/// What the rounds of one set gave.
struct result {
    std::string_view name, what;
    bool is_timed = true; // not on a simulated device
    bool is_reference = false;
    bool has_failed = false;                         // its process has
    std::vector<double> seconds;                     // of the rounds
    std::size_t peak = 0, resident = 0, refused = 0; // in the recorded order
    std::size_t left_out = 0;                        // operations of what was refused
    std::size_t refused_in_time = 0;                 // in a round, at most

    // As rank() found.
    bench::spread time{};
    unsigned time_rank = 0, peak_rank = 0; // from 1; 0: none

    bool has_spread() const { return seconds.size() >= 3; }
    bool is_ranked() const { return !has_failed && refused == 0; }
    bool is_candidate() const { return is_ranked() && is_timed && !is_reference; }
};

/// Fills in the ranks, and sorts by time.
void rank(std::vector<result>& all);
/// Requires: rank(). One sentence.
std::string advice(const std::vector<result>& all, const sequence_counts& of);
/// Bytes asked for to bytes charged, at the peak; 0 where requests were refused.
double payload(const result& r, const sequence_counts& of);

} // namespace replay
