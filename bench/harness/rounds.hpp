// Runs subjects in rounds: in each round every subject that fits the job runs once, in a new random order, each in its
// own process. Subjects that no page compares take part in the first rounds only.
#pragma once

#include <harness/isolate.hpp>
#include <harness/results.hpp>
#include <harness/traced.hpp>
#include <workloads/run.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace bench {

struct subject {
    std::string name;
    kind what;
    std::function<bool(const job&)> fits;
    std::function<sample(const job&)> run;
    bool few = false;      // stands for its kind where a workload takes long
    bool compared = false; // a way or a peer: takes part in all rounds, others in the first ones
};
inline constexpr std::size_t first_rounds = 3;

inline bool takes_part(const subject& one, const job& what) { return one.fits(what) && (one.few || !what.of->few); }

// A subject of type `Type`, made from the job and `from...` in the measuring process.
template <class Type, class... From> subject make_subject(std::string name, kind what, From... from) {
    return {std::move(name), what, [](const job& j) { return fits<Type>(j); },
            [from...](const job& j) { return run_job(*new Type(j, from...), j); }}; // its process ends with it
}

// Touches so much memory in a process of its own. A virtual machine's host finds memory for what is touched the first
// time, in up to 2 ms for a huge page, and the system hands out first what was freed last: so every subject meets
// memory that the host has found, and not the first one alone pays.
inline void back_memory(std::size_t bytes) {
    isolated(600, [bytes] {
        void* const all =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) return 0;
        madvise(all, bytes, MADV_HUGEPAGE);
        for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(all)[at] = 1;
        return 1;
    });
}

inline std::optional<sample> measured_once(const subject& of, const job& what) {
    const auto measure = [&] { return of.run(what); };
    const unsigned seconds = what.large() ? 600 : 120;
    if (what.faults()) back_memory(what.memory());
    if (what.of->measured == how::counted) return counted(seconds, what.of->id == work::single, measure);
    return isolated(seconds, measure);
}

inline cell run_rounds(const job& what, const std::vector<subject>& subjects, std::size_t rounds,
                       std::mt19937_64& random) {
    cell out{what, {}};
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        out.all.push_back({subjects[i].name, subjects[i].what, {}});
        if (takes_part(subjects[i], what)) order.push_back(i);
    }
    for (std::size_t round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : std::vector(order)) {
            if (!subjects[i].compared && round >= first_rounds) continue;
            const auto measured = measured_once(subjects[i], what);
            if (!measured) {
                std::fprintf(stderr, "left out - %s at %s/%s: its process failed or took too long\n",
                             subjects[i].name.c_str(), std::string(what.of->name).c_str(), what.size().c_str());
                out.all[i].stats = {};
                std::erase(order, i);
                continue;
            }
            for (std::size_t f = 0; f < most_stats; ++f) out.all[i].stats[f].push_back((*measured)[f]);
        }
    }
    return out;
}

} // namespace bench
