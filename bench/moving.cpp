// allot_moving: compaction. How much memory sparse rows take before and after it, beside malloc libraries and their own
// trims, and how long it takes. workloads/moving.hpp says what is measured, NOTES.md how to run it.
#include <harness/json.hpp>
#include <harness/machine.hpp>
#include <harness/options.hpp>
#include <harness/print.hpp>
#include <harness/rounds.hpp>
#include <ours/sets.hpp>
#include <peers/peer.hpp>
#include <workloads/moving.hpp>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace bench {
namespace {

struct default_rows : allot::policies<> {};

constexpr workload one_size_moves{work::moving, "moving", "1 M rows of 64 bytes, a tenth of them kept and compacted",
                                  moving_figures, 1'000'000};
constexpr workload mixed_moves{work::moving, "moving",
                               "5 M rows of 16 to 1024 bytes, a tenth of them kept and compacted", moving_figures,
                               5'000'000};

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

int run(const options& asked) {
    if (!asked.works.empty()) refuse("there is one workload");
    results all;
    all.command = asked.command;
    all.rounds = asked.rounds;
    all.header = machine();
    const std::vector<peer> peers = open_peers(asked.peers);
    std::string names;
    for (const peer& p : peers) names += (names.empty() ? "" : ", ") + p.name + " " + p.version;
    all.header.emplace_back("peers", names);
    all.sets = {std::string(allot::describe<default_rows>().text().view()),
                std::string(allot::describe<packed_rows>().text().view()),
                std::string(allot::describe<allot::use::thor>().text().view()),
                std::string(allot::describe<allot::use::roxie>().text().view())};
    print_header(all);
    std::mt19937_64 random(std::random_device{}());
    auto subjects = all_subjects(peers);
    if (!asked.subjects.empty())
        std::erase_if(subjects, [&](const subject& s) { return !named(asked.subjects, s.name); });
    bool complete = !subjects.empty();
    for (const std::string& size : asked.sizes) {
        const bool mixed = size == "mixed";
        const job what{mixed ? &mixed_moves : &one_size_moves, mixed ? 0 : number(size, 8, 65536),
                       asked.smoke ? std::size_t{50} : 1};
        all.cells.push_back(run_rounds(what, subjects, asked.rounds, random));
        print_cell(all.cells.back());
        for (std::size_t i = 0; i != subjects.size(); ++i)
            complete = complete && (!subjects[i].fits(what) || !all.cells.back().all[i].empty());
        if (!asked.json.empty() && !write_json(all, asked.json)) refuse("cannot write " + asked.json);
    }
    return complete ? 0 : 1; // rows that were not what they had been end their process
}

} // namespace
} // namespace bench

int main(int argc, char** argv) {
    const auto asked = bench::parse(argc, argv);
    bench::restart_with_room_for_tls(argv);
    return bench::run(asked);
}
