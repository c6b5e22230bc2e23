// allot_bench: rows of allot beside general allocators and pools, and beside lower bounds. NOTES.md says how to run it
// and how far to trust it.
#include <bounds/free_list.hpp>
#include <bounds/mapped_list.hpp>
#include <bounds/shared_list.hpp>
#include <harness/json.hpp>
#include <harness/options.hpp>
#include <harness/print.hpp>
#include <harness/rounds.hpp>
#include <ours/list.hpp>
#include <peers/begin_results.hpp>
#include <peers/list.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace bench {
namespace {

std::vector<subject> all_subjects(const std::vector<peer>& peers) {
    std::vector<subject> all;
    all.push_back(make_subject<null_bound>("null", kind::bound));
    all.push_back(make_subject<bump_bound>("bump", kind::bound));
    all.push_back(make_subject<free_list_bound<false>>("free list", kind::bound));
    all.push_back(make_subject<free_list_bound<true>>("free list, counted", kind::bound));
    all.push_back(make_subject<classed_list_bound<false>>("free lists, classed", kind::bound));
    all.push_back(make_subject<classed_list_bound<true>>("free lists, classed, counted", kind::bound));
    all.push_back(make_subject<shared_list_bound>("shared list", kind::bound));
    all.push_back(make_subject<two_adds_bound>("two atomic adds", kind::bound));
    all.push_back(make_subject<mapped_list_bound<false, false>>("free lists, plain pages, kept", kind::bound));
    all.push_back(make_subject<mapped_list_bound<false, true>>("free lists, plain pages, given back", kind::bound));
    all.push_back(make_subject<mapped_list_bound<true, false>>("free lists, huge pages, kept", kind::bound));
    all.push_back(make_subject<mapped_list_bound<true, true>>("free lists, huge pages, given back", kind::bound));
    add_ours(all);
    for (subject& s : all)
        for (const char* name : {"null", "free list", "free list, counted", "shared list", "two atomic adds",
                                 "heap.local bitmap", "heap.local linked", "heap.local packed", "heap.local scanning",
                                 "heap.local shared", "rows.local bitmap", "heap.local shared uncounted"})
            s.few = s.few || s.name == name;
    add_peers<true>(all, peers);
    add_peers<false>(all, peers);
    return all;
}

// A smoke run divides the work by this.
constexpr std::size_t smoke_scale = 50;

struct planned {
    job what;
    std::size_t rounds;
};

// The jobs of a run in their order, without those that this machine has no memory for; and how long they will take.
std::vector<planned> plan(const options& asked, const std::vector<subject>& subjects, bool counts) {
    std::vector<planned> all;
    double seconds = 0;
    const std::size_t memory = available_memory();
    const auto add = [&](const workload& of, const std::string& size) {
        const bool counted = of.measured == how::counted;
        if (!chosen(asked, of) || (counted && !counts)) return;
        const planned one{{&of, size == "mixed" ? 0 : number(size, 8, 65536), asked.smoke ? smoke_scale : 1},
                          counted || asked.smoke ? 1
                                                 : std::min(asked.rounds * (1 + of.noisy) + of.noisy, of.max_rounds)};
        if (one.what.large() && one.what.memory() > memory) {
            std::fprintf(stderr, "skipped - %s at %s: it takes %zu MiB, and %zu are free\n",
                         std::string(of.name).c_str(), size.c_str(), one.what.memory() >> 20, memory >> 20);
            return;
        }
        const auto n =
            std::count_if(subjects.begin(), subjects.end(), [&](const subject& s) { return takes_part(s, one.what); });
        seconds += static_cast<double>(n) * static_cast<double>(one.rounds) * one.what.seconds();
        all.push_back(one);
    };
    for (const auto& size : asked.sizes)
        for (const auto& of : workloads)
            if (of.any_size) add(of, size);
    const bool mixed = std::find(asked.sizes.begin(), asked.sizes.end(), "mixed") != asked.sizes.end();
    for (const auto& of : workloads) {
        if (of.any_size) continue;
        add(of, "64");
        if (of.mixed_too && mixed) add(of, "mixed");
    }
    std::printf("%-24s%zu, about %.0f minutes where nobody else uses the cores\n", "cells", all.size(),
                seconds / 60 + 0.5);
    std::fflush(stdout);
    return all;
}

int run(const options& asked) {
    const std::vector<peer> peers = open_peers(asked.peers);
    results all = begin_results(asked, peers, described_sets());
    print_header(all);

    const bool counts = can_count();
    if (!counts) std::fprintf(stderr, "skipped - counted workloads: a process may not trace its child here\n");
    std::mt19937_64 random(std::random_device{}());
    auto subjects = all_subjects(peers);
    if (!asked.subjects.empty()) {
        std::erase_if(subjects, [&](const subject& s) { return !named(asked.subjects, s.name); });
        for (subject& s : subjects) s.few = true;
        if (subjects.empty()) refuse("no subject matches --subjects");
    }
    for (const auto& [what, rounds] : plan(asked, subjects, counts)) {
        all.cells.push_back(run_rounds(what, subjects, rounds, random));
        print_cell(all.cells.back());
        if (!asked.json.empty() && !write_json(all, asked.json)) { // each time: a run that is ended keeps what it has
            std::fprintf(stderr, "allot_bench: cannot write %s\n", asked.json.c_str());
            return 1;
        }
    }
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char** argv) {
    const auto asked = bench::parse(argc, argv);
    bench::restart_with_room_for_tls(argv);
    return bench::run(asked);
}
