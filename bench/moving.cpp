// allot_moving: rows that move, beside malloc libraries.
//
//   moving    compaction: memory of sparse rows before and after it, and its time       workloads/moving.hpp
//   resize/*  an array that grows step by step, beside realloc                          workloads/resizing.hpp
//
// NOTES.md says how to run it.
#include <harness/json.hpp>
#include <harness/options.hpp>
#include <harness/print.hpp>
#include <harness/rounds.hpp>
#include <ours/sets.hpp>
#include <peers/begin_results.hpp>
#include <peers/peer.hpp>
#include <workloads/moving.hpp>
#include <workloads/resizing.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace bench {
namespace {

struct default_rows : allot::policies<> {};

struct plain_page_rows : allot::policies<allot::page::mapped<allot::page::mapped_options{.transparent_huge = false}>> {
};

constexpr std::array all_workloads{
    workload{work::moving, "moving", "1 M rows of 64 bytes, a tenth of them kept and compacted", moving_figures,
             1'000'000},
    workload{work::moving, "moving", "5 M rows of 16 to 1024 bytes, a tenth of them kept and compacted", moving_figures,
             5'000'000},
    workload{work::resizing, "resize/double", "an array that grows from 1 to 512 MiB, doubling", resizing_figures, 100},
    workload{work::resizing, "resize/quarter", "an array that grows from 1 to 512 MiB, by a quarter", resizing_figures,
             25},
};
constexpr const workload &one_size_moves = all_workloads[0], &mixed_moves = all_workloads[1];

// A subject for each order of the span.
template <class Subject> void add_ours(std::vector<subject>& to, const std::string& text, bool mixed) {
    for (const span_order order : {span_order::allocated, span_order::random})
        to.push_back({.name = text + (order == span_order::random ? ", random span" : ""),
                      .what = kind::ours,
                      .fits = [mixed](const job& j) { return mixed || !j.mixed(); },
                      .run = [order](const job& j) { return run_moving<Subject>(j, order); },
                      .few = false,
                      .compared = true});
}

std::vector<subject> all_subjects(const std::vector<peer>& peers) {
    std::vector<subject> all;
    add_ours<moving_manager<default_rows>>(all, "fallbacks", true);
    add_ours<moving_heap<packed_rows>>(all, "packed, unique heap", false);
    add_ours<moving_manager<allot::use::thor>>(all, "use::thor", true);
    add_ours<moving_manager<allot::use::roxie>>(all, "use::roxie", true);
    for (const peer& p : peers)
        all.push_back({.name = p.name,
                       .what = kind::peer_raw,
                       .fits = [](const job&) { return true; },
                       .run = [p](const job& j) { return run_moving<moving_peer>(j, span_order::allocated, p); },
                       .few = false,
                       .compared = true});
    return all;
}

// The subjects of resize/*. The bars compare ours with glibc and mimalloc; other peers take part in the first rounds.
std::vector<subject> all_growing(const std::vector<peer>& peers) {
    const auto any = [](const job&) { return true; };
    std::vector<subject> all{{.name = "fallbacks",
                              .what = kind::ours,
                              .fits = any,
                              .run = [](const job& j) { return run_resizing<growing_row<default_rows>>(j); },
                              .few = false,
                              .compared = true},
                             {.name = "fallbacks, plain OS pages",
                              .what = kind::ours,
                              .fits = any,
                              .run = [](const job& j) { return run_resizing<growing_row<plain_page_rows>>(j); },
                              .few = false,
                              .compared = true}};
    for (const peer& p : peers)
        if (p.resize != nullptr)
            all.push_back({.name = p.name,
                           .what = kind::peer_raw,
                           .fits = any,
                           .run = [p](const job& j) { return run_resizing<growing_peer>(j, p); },
                           .few = false,
                           .compared = p.name == "glibc" || p.name == "mimalloc"});
    return all;
}

int run(const options& asked) {
    const std::vector<peer> peers = open_peers(asked.peers);
    results all = begin_results(asked, peers,
                                {std::string(allot::describe<default_rows>().text().view()),
                                 std::string(allot::describe<packed_rows>().text().view()),
                                 std::string(allot::describe<allot::use::thor>().text().view()),
                                 std::string(allot::describe<allot::use::roxie>().text().view()),
                                 std::string(allot::describe<plain_page_rows>().text().view())});
    print_header(all);
    std::mt19937_64 random(std::random_device{}());
    auto moving = all_subjects(peers), growing = all_growing(peers);
    if (!asked.subjects.empty())
        for (auto* const subjects : {&moving, &growing})
            std::erase_if(*subjects, [&](const subject& s) { return !named(asked.subjects, s.name); });
    bool complete = !moving.empty() || !growing.empty();
    const auto measure = [&](const job& what, const std::vector<subject>& subjects, std::size_t rounds) {
        if (subjects.empty() || !chosen(asked, *what.of)) return;
        all.cells.push_back(run_rounds(what, subjects, rounds, random));
        print_cell(all.cells.back());
        for (std::size_t i = 0; i != subjects.size(); ++i)
            complete = complete && (!subjects[i].fits(what) || !all.cells.back().all[i].empty());
        if (!asked.json.empty() && !write_json(all, asked.json)) refuse("cannot write " + asked.json);
    };
    const std::size_t scale = asked.smoke ? 50 : 1;
    for (const std::string& size : asked.sizes) {
        const bool mixed = size == "mixed";
        measure({mixed ? &mixed_moves : &one_size_moves, mixed ? 0 : number(size, 8, 65536), scale}, moving,
                asked.rounds);
    }
    for (const workload& w : all_workloads)
        if (w.id == work::resizing)
            measure({&w, growth_from, scale}, growing, asked.smoke ? 1 : std::max(asked.rounds, growth_rounds));
    return complete ? 0 : 1; // rows that were not what they had been end their process
}

} // namespace
} // namespace bench

int main(int argc, char** argv) {
    bench::offered = bench::all_workloads;
    const auto asked = bench::parse(argc, argv);
    bench::restart_with_room_for_tls(argv);
    return bench::run(asked);
}
