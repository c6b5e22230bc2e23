// Subjects, and the rounds they run in: in every round each subject that fits the job runs once, in a new random
// order, each in a process of its own.
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

namespace bench {

struct subject {
    std::string name;
    kind what;
    std::function<bool(const job&)> fits;
    std::function<sample(const job&)> run;
};

// A subject of type `Type`, made from the job and `from...` in the measuring process.
template <class Type, class... From> subject make_subject(std::string name, kind what, From... from) {
    return {
        std::move(name), what, [](const job& j) { return fits<Type>(j); },
        [from...](const job& j) { return run_job(*new Type(j, from...), j); }}; // its process ends with it
}

inline std::optional<sample> measured_once(const subject& of, const job& what) {
    const auto measure = [&] { return of.run(what); };
    const unsigned seconds = what.of->n > 10'000'000 ? 600 : 120;
    if (what.of->measured == how::counted) return counted(seconds, what.of->id == work::single, measure);
    return isolated(seconds, measure);
}

inline cell run_rounds(const job& what, const std::vector<subject>& subjects, std::size_t rounds,
                       std::mt19937_64& random) {
    cell out{what, {}};
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        out.all.push_back({subjects[i].name, subjects[i].what, {}});
        if (subjects[i].fits(what)) order.push_back(i);
    }
    for (std::size_t round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : std::vector(order)) {
            const auto measured = measured_once(subjects[i], what);
            if (!measured) {
                std::fprintf(stderr, "left out - %s at %s/%s: its process failed or took too long\n",
                             subjects[i].name.c_str(), std::string(what.of->name).c_str(), what.size().c_str());
                out.all[i].figures = {};
                std::erase(order, i);
                continue;
            }
            for (std::size_t f = 0; f < most_figures; ++f) out.all[i].figures[f].push_back((*measured)[f]);
        }
    }
    return out;
}

} // namespace bench
