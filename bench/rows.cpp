// allot_bench: our rows beside glibc, mimalloc, jemalloc and tcmalloc, and beside what no allocator can beat.
// How to run it and how far to trust it: NOTES.md.
#include <bounds/free_list.hpp>
#include <harness/json.hpp>
#include <harness/machine.hpp>
#include <harness/options.hpp>
#include <harness/print.hpp>
#include <harness/rounds.hpp>
#include <harness/targets.hpp>
#include <ours/subjects.hpp>
#include <peers/peer.hpp>
#include <workloads/bytes.hpp>
#include <workloads/pages.hpp>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

namespace bench {
namespace {

// jemalloc's thread-local state lies in the static TLS block, which glibc sizes before main.
void restart_with_room_for_tls(char** argv) {
    constexpr const char* wish = "glibc.rtld.optional_static_tls=16384";
    const char* const now = std::getenv("GLIBC_TUNABLES");
    if (now != nullptr && std::strstr(now, "optional_static_tls") != nullptr) return;
    setenv("GLIBC_TUNABLES", now != nullptr && *now != 0 ? (std::string(now) + ":" + wish).c_str() : wish, 1);
    execv("/proc/self/exe", argv); // comes back only when it failed: then a peer is skipped
}

std::vector<subject> all_subjects(const std::vector<peer>& peers) {
    using unique = allot::heap::unique;
    using packed = allot::size::packed;
    std::vector<subject> all;
    all.push_back(make_subject<null_bound>("null", kind::bound));
    all.push_back(make_subject<bump_bound>("bump", kind::bound));
    all.push_back(make_subject<free_list_bound<false>>("free list", kind::bound));
    all.push_back(make_subject<free_list_bound<true>>("free list, counted", kind::bound));
    all.push_back(make_subject<classed_list_bound>("free lists, classed", kind::bound));
    all.push_back(make_subject<local_heap_subject<bitmap_rows, unique>>("heap.local bitmap", kind::ours));
    all.push_back(make_subject<local_heap_subject<linked_rows, unique>>("heap.local linked", kind::ours));
    all.push_back(
        make_subject<local_heap_subject<bitmap_rows, unique, packed>>("heap.local packed", kind::ours));
    all.push_back(make_subject<local_heap_subject<bitmap_rows>>("heap.local shared", kind::ours));
    all.push_back(make_subject<heap_subject<bitmap_rows>>("heap, no handle", kind::ours));
    all.push_back(make_subject<local_rows_subject<bitmap_rows>>("rows.local bitmap", kind::ours));
    all.push_back(make_subject<manager_subject<bitmap_rows>>("manager, shared", kind::ours));
    all.push_back(make_subject<manager_subject<thread_rows>>("manager, per_thread", kind::ours));
    for (const peer& p : peers)
        all.push_back(make_subject<peer_subject<true>>(p.name + " rows", kind::peer_rows, p));
    for (const peer& p : peers)
        all.push_back(make_subject<peer_subject<false>>(p.name + " raw", kind::peer_raw, p));
    return all;
}

std::vector<subject> page_subjects() {
    std::vector<subject> all;
    for (const std::size_t others : {0u, 100u, 4000u})
        all.push_back({std::to_string(others) + " other heaps", kind::ours, [](const job&) { return true; },
                       [others](const job& j) { return pages_with_others(others, j.scale); }});
    return all;
}

std::vector<bytes_line> measure_bytes(const std::vector<peer>& peers) {
    std::vector<bytes_line> all;
    const auto line = [&](const std::string& name, kind what, auto measure) {
        const std::optional<row_bytes> many = isolated([&] { return measure(many_rows); });
        const std::optional<row_bytes> few = isolated([&] { return measure(few_rows); });
        if (many && few) all.push_back({name, what, many->charged, many->resident, few->few});
    };
    line("packed, unique", kind::ours, &bytes_of_set<packed_rows>);
    line("exact, unique", kind::ours, &bytes_of_set<exact_rows>);
    line("bucketed, fine", kind::ours, &bytes_of_set<fine_rows>);
    line("bucketed, roxie", kind::ours, &bytes_of_set<roxie_rows>);
    line("packed, uncounted", kind::ours, &bytes_of_set<uncounted_rows>);
    for (const peer& p : peers) {
        line(p.name + " rows", kind::peer_rows, [&](std::size_t n) { return bytes_of_peer(p, n, 72); });
        line(p.name + " raw", kind::peer_raw, [&](std::size_t n) { return bytes_of_peer(p, n, 64); });
    }
    return all;
}

template <class Set> std::string described() { return std::string(allot::describe<Set>().text().view()); }

int run(const options& asked) {
    results all;
    all.command = asked.command;
    all.rounds = asked.rounds;
    all.header = machine();
    const std::vector<peer> peers = open_peers();
    std::string names;
    for (const peer& p : peers) names += (names.empty() ? "" : ", ") + p.name + " " + p.version;
    all.header.emplace_back("peers", names);
    all.sets = {described<bitmap_rows>(), described<linked_rows>(), described<thread_rows>(),
                described<packed_rows>()};
    print_header(all);

    const std::size_t scale = asked.smoke ? 50 : 1;
    std::mt19937_64 random(std::random_device{}());
    const auto subjects = all_subjects(peers);
    for (const auto& size : asked.sizes)
        for (const auto& name : workload_names) {
            if (name.id == workload::pages || !chosen(asked, name.name)) continue;
            const job what{name.id, size == "mixed" ? 0 : number(size, 8, 65536), scale};
            all.cells.push_back(run_rounds(what, subjects, asked.rounds, random));
            print_cell(all.cells.back());
        }
    if (chosen(asked, "pages")) {
        all.cells.push_back(run_rounds({workload::pages, 64, scale}, page_subjects(), asked.rounds, random));
        print_cell(all.cells.back());
    }
    if (chosen(asked, "bytes")) all.bytes = measure_bytes(peers);
    print_bytes(all);
    if (!asked.smoke) judge(all);
    print_targets(all);
    if (!asked.json.empty() && !write_json(all, asked.json)) {
        std::fprintf(stderr, "allot_bench: cannot write %s\n", asked.json.c_str());
        return 1;
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
