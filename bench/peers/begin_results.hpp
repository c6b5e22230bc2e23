// The peers of a run, and the head of its results.
#pragma once

#include <harness/machine.hpp>
#include <harness/options.hpp>
#include <harness/results.hpp>
#include <peers/peer.hpp>

#include <string>
#include <utility>
#include <vector>

namespace bench {

inline results begin_results(const options& asked, const std::vector<peer>& peers, std::vector<std::string> sets) {
    results all;
    all.command = asked.command;
    all.rounds = asked.rounds;
    all.header = machine();
    std::string names;
    for (const peer& p : peers) names += (names.empty() ? "" : ", ") + p.name + " " + p.version;
    all.header.emplace_back("peers", names);
    all.sets = std::move(sets);
    return all;
}

} // namespace bench
