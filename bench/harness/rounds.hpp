// Subjects, and the rounds they run in: in every round each subject that fits the job runs once, in a new random
// order, each in a process of its own.
#pragma once

#include <harness/isolate.hpp>
#include <harness/results.hpp>
#include <workloads/run.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
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

inline cell run_rounds(const job& what, const std::vector<subject>& subjects, std::size_t rounds,
                       std::mt19937_64& random) {
    cell out{what, {}};
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        out.all.push_back({subjects[i].name, subjects[i].what, {}, {}});
        if (subjects[i].fits(what)) order.push_back(i);
    }
    for (std::size_t round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : std::vector(order)) {
            const auto measured = isolated([&] { return subjects[i].run(what); });
            if (!measured) {
                std::fprintf(stderr, "left out - %s at %s/%s: its process failed\n", subjects[i].name.c_str(),
                             std::string(name_of(what.work).name).c_str(), what.size().c_str());
                out.all[i].cpu.clear();
                std::erase(order, i);
                continue;
            }
            out.all[i].cpu.push_back(measured->cpu);
            out.all[i].wall.push_back(measured->wall);
        }
    }
    return out;
}

} // namespace bench
