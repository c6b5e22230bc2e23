// allot_buffers: what views, transfers and buffers cost, beside atomic additions and the process' heap; a Markdown table for docs/bench/buffers.md.
//
//     allot_buffers [--smoke]
//
// Subjects take turns, round by round; a figure is the median of 15 rounds of thread CPU time, its ratio the median of the rounds' own ratios.
#include <harness/measure.hpp>
#include <harness/statistics.hpp>

#include <allot/buffers.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace {

using namespace allot::literals;
using allot::account;
using allot::buffer;
using allot::name;

struct subject {
    const char* what;
    const char* goal;
    double per; // operations a step
    std::function<double(std::size_t)> run;
};
template <class Step> double timed(std::size_t n, Step step) {
    const double begin = bench::cpu_ns();
    for (std::size_t i = 0; i != n; ++i) step(i);
    return bench::cpu_ns() - begin;
}
struct pool : allot::policies<> {};

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const std::size_t n = smoke ? 5'000 : 500'000;
    const int rounds = smoke ? 3 : 15;

    alignas(64) std::atomic<std::size_t> word{0};
    allot::heap_memory heap;
    allot::row_manager<pool> rows{allot::limit{64_MiB}};
    const allot::buffer_memory from_heap{heap}, from_rows{rows};
    account root{name{"root"}, allot::limit{1_GiB}};
    account query{root, name{"query"}}, a{query, name{"a"}}, b{query, name{"b"}}, stepped{query, name{"stepped"}, allot::steps{1_MiB}};
    buffer one = from_heap.allocate(a, 4096), moving = from_heap.allocate(a, 4096), shared = from_heap.allocate(a, 4096), also = shared.retain(b);

    const std::vector<subject> all{
        {"two atomic additions, nobody else", "", 1, [&](std::size_t k) { return timed(k, [&](std::size_t) { word.fetch_add(1, std::memory_order_relaxed), word.fetch_sub(1, std::memory_order_acq_rel); }); }},
        {"slice + release", "<= 3", 1, [&](std::size_t k) {
             return timed(k, [&](std::size_t i) {
                 const buffer s = one.slice(i % 64, 100);
                 bench::escape(&s);
             });
         }},
        {"retain by an account that has views + release", "", 1, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = shared.retain(b);
                 bench::escape(&s);
             });
         }},
        {"retain by one that has none + release", "", 1, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = one.retain(b);
                 bench::escape(&s);
             });
         }},
        {"transfer to a sibling and back, each", "60 ns", 2, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 moving = std::move(moving).transfer(b).view;
                 bench::escape(&moving);
                 moving = std::move(moving).transfer(a).view;
                 bench::escape(&moving);
             });
         }},
        {"of which the accounts' part", "", 2, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 static_cast<void>(account::transfer(a, b, 4096)), static_cast<void>(account::transfer(b, a, 4096));
             });
         }},
        {"malloc + free of 4 KiB, glibc", "", 1, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 void* const p = std::malloc(4096);
                 bench::escape(p);
                 std::free(p);
             });
         }},
        {"buffer of 4 KiB, the process' heap", "", 1, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = from_heap.allocate(a, 4096);
                 bench::escape(&s);
             });
         }},
        {"buffer of 4 KiB, the process' heap, a leaf with steps", "", 1, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = from_heap.allocate(stepped, 4096);
                 bench::escape(&s);
             });
         }},
        {"buffer of 4 KiB, rows, a leaf with steps", "", 1, [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = from_rows.allocate(stepped, 4096);
                 bench::escape(&s);
             });
         }},
    };
    std::vector<std::vector<double>> ns(all.size());
    for (int round = -1; round != rounds; ++round)
        for (std::size_t i = 0; i != all.size(); ++i) {
            const std::size_t s = (i + static_cast<std::size_t>(round + 1)) % all.size();
            const double each = all[s].run(n) / static_cast<double>(n) / all[s].per;
            if (round >= 0) ns[s].push_back(each);
        }
    std::printf("| what | ns | to two additions | goal |\n|---|---|---|---|\n");
    for (std::size_t s = 0; s != all.size(); ++s) {
        const auto ratio = bench::ratio_of(ns[s], ns[0]);
        std::printf("| %s | %.1f | %.2f (%.2f to %.2f) | %s |\n", all[s].what, bench::spread_of(ns[s]).median, ratio.median, ratio.q1, ratio.q3, all[s].goal);
    }
    const bool charged = a.used() == 3 * 4096 && b.used() == 0;
    one.release(), moving.release(), shared.release(), also.release();
    return charged && root.verify() && a.used() + b.used() + stepped.used() == 0 ? 0 : 1;
}
