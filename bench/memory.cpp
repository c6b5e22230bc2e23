// allot_memory: how much memory rows and blocks take, beside what was asked for and beside glibc.
//
//   allot_memory [--smoke]        with --smoke less of each, and 1 if a bar is lost
//
// - payload: bytes asked for at the first refusal over a hard limit, for each documented set; one thread and eight.
// - SQLite: peak of an in-memory database over a row manager. Only where SQLite was found.
// - Arrow: peak of buffers as Arrow asks for them, and of buffers of 2^n + 64 bytes.
// - huge rows: the time of a pair of calls beside others that live.
// The processes of the last two are forked first, while this one has no heap to leave to them.
// "glibc" is its heap and mappings (mallinfo2) in a process of its own; "asked" the bytes that the program asked for.
#include <memory/arrow.hpp>
#include <memory/payload.hpp>
#ifdef ALLOT_BENCH_SQLITE
#include <memory/sqlite.hpp>
#endif

#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using namespace allot::literals;

struct fallbacks : allot::policies<> {};
struct packed : allot::policies<allot::size::packed> {};
struct exact : allot::policies<allot::size::exact> {};
struct fine : allot::policies<allot::size::bucketed<allot::size::list::fine>> {};

int lost = 0; // bars that this version is known to meet, and did not

const char* verdict(bool good, bool is_known_to_be_met) {
    if (!good && is_known_to_be_met) ++lost;
    return good ? "met" : "MISSED";
}

double bar_at(std::size_t limit) { return limit <= 8_MiB ? 0.80 : limit <= 64_MiB ? 0.90 : 0.92; }

template <class Set> void payload_of(const char* name, bool has_bar, bool smoke) {
    for (const std::size_t limit : {8_MiB, 64_MiB, 512_MiB}) {
        if (smoke && limit > 64_MiB) continue;
        double sum = 0;
        const unsigned rounds = limit > 64_MiB ? 2 : 5;
        for (unsigned seed = 0; seed != rounds; ++seed) sum += bench::payload<Set>(limit, 1, seed);
        const double one = sum / rounds, eight = bench::payload<Set>(limit, 8, 1);
        std::printf("payload %-10s %4zu MiB  %5.1f %%  8 threads %5.1f %%  %s\n", name, limit >> 20, 100 * one,
                    100 * eight, has_bar ? verdict(one >= bar_at(limit), true) : "");
    }
}

void print_peaks(const char* what, const char* from, const bench::peaks& ours, const bench::peaks& glibc, bool is_met) {
    const double asked = static_cast<double>(ours.taken) / static_cast<double>(glibc.asked),
                 beside = static_cast<double>(ours.taken) / static_cast<double>(glibc.taken);
    std::printf("%-22s %-13s asked %8.2f MB  charged %8.2f MB: %.3f %s  of glibc's %8.2f MB: %.3f %s\n", what, from,
                static_cast<double>(glibc.asked) / 1e6, static_cast<double>(ours.taken) / 1e6, asked,
                verdict(asked <= 1.08, is_met), static_cast<double>(glibc.taken) / 1e6, beside,
                verdict(beside <= 1.05, is_met));
}

void arrow(const char* pattern, unsigned batches, bool padded) {
    char what[40];
    std::snprintf(what, sizeof what, "%s, %u", pattern, batches);
    const auto glibc = bench::arrow_peaks<bench::arrow_over_glibc>(batches, padded);
    print_peaks(what, "chunk arena", bench::arrow_peaks<bench::arrow_over_chunks>(batches, padded), glibc, true);
    print_peaks(what, "row manager", bench::arrow_peaks<bench::arrow_over_rows>(batches, padded), glibc, false);
}

// Rows of 20,000 bytes in pages of 16 KiB.
void huge_rows(std::size_t live) {
    allot::row_manager<fallbacks> rows{allot::page_bytes{16_KiB}};
    std::vector<void*> all(live);
    for (void*& row : all) row = rows.allocate(20'000);
    std::vector<double> each(9);
    for (double& ns : each) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i != 1000; ++i) rows.release(rows.allocate(20'000));
        ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 1000;
    }
    std::sort(each.begin(), each.end());
    std::printf("huge rows, %zu others live: %.0f ns per pair of calls\n", live, each[each.size() / 2]);
    for (void* const row : all) rows.release(row);
}

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    for (const unsigned batches : {64U, 256U}) {
        if (smoke && batches > 64) continue;
        arrow("Arrow, batches", batches, false);
        arrow("2^n + 64, times", batches, true);
    }
#ifdef ALLOT_BENCH_SQLITE
    for (const int rows : {10'000, 100'000, 400'000}) {
        if (smoke && rows > 10'000) continue;
        char what[32];
        std::snprintf(what, sizeof what, "SQLite, %d rows", rows);
        print_peaks(what, "row manager", bench::sqlite_over_a_manager(rows), bench::sqlite_over_malloc(rows), false);
    }
#else
    std::puts("SQLite: not found, skipped");
#endif
    for (const std::size_t live : {0U, 1'000U, 10'000U, 50'000U})
        if (!smoke || live <= 1'000) huge_rows(live);
    payload_of<fallbacks>("fallbacks", true, smoke);
    payload_of<allot::use::thor>("use::thor", true, smoke);
    payload_of<allot::use::roxie>("use::roxie", false, smoke);
    if (!smoke) {
        payload_of<packed>("packed", true, smoke);
        payload_of<exact>("exact", true, smoke);
        payload_of<fine>("fine", true, smoke);
    }
    return smoke && lost != 0;
}
