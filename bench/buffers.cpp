// allot_buffers: the cost of views, transfers and buffers, beside atomic additions and the process' heap; what a pool
// that lends its blocks to accounts costs, and how much of its limit is in live buffers where it refuses one. Prints
// Markdown tables for docs/bench/buffers.md.
//
//     allot_buffers [--smoke | libmimalloc.so]      --smoke: a short run; a library: replaces the installed mimalloc
//
// Subjects take turns, round by round. A result is the median of 15 rounds of thread CPU time; a ratio is the median of
// the ratios of rounds.
#include <harness/mimalloc.hpp>
#include <harness/turns.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/drill.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace allot::literals;
using allot::account;
using allot::buffer;
using allot::name;
using bench::timed;

struct pool : allot::policies<> {};
struct blocks : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};

// So many live ones, of which each step replaces one; of 1 it is the last. Goes through malloc and free, a chunk arena,
// buffers.
template <class Held, class Make> double replaced(std::size_t n, std::size_t live, Make make) {
    std::vector<Held> held(live);
    bench::random_source random;
    return timed(n, [&](std::size_t) {
        Held& one = held[live == 1 ? 0 : random.below(live)];
        one = Held{}; // gives back first
        one = make();
        *static_cast<volatile char*>(one.address()) = 1;
    });
}
struct of_peer {
    void* p = nullptr;
    void (*release)(void*) = nullptr;
    of_peer() = default;
    of_peer(void* at, void (*r)(void*)) : p(at), release(r) {}
    of_peer(of_peer&& o) noexcept : p(std::exchange(o.p, nullptr)), release(o.release) {}
    of_peer& operator=(of_peer&& o) noexcept { return std::swap(p, o.p), std::swap(release, o.release), *this; }
    ~of_peer() {
        if (p != nullptr) release(p);
    }
    void* address() const { return p; }
};
struct of_arena {
    void* p = nullptr;
    allot::chunk_arena<blocks>* from = nullptr;
    of_arena() = default;
    of_arena(allot::chunk_arena<blocks>& a, std::size_t bytes) : p(a.try_allocate(bytes).address), from(&a) {}
    of_arena(of_arena&& o) noexcept : p(std::exchange(o.p, nullptr)), from(o.from) {}
    of_arena& operator=(of_arena&& o) noexcept { return std::swap(p, o.p), std::swap(from, o.from), *this; }
    ~of_arena() {
        if (p != nullptr) from->deallocate(p);
    }
    void* address() const { return p; }
};
struct of_buffer {
    buffer b;
    void* address() const { return b.data(); }
};

// Blocks and buffers of a size beside mimalloc's malloc + free; a line of the table.
void compare_blocks(const bench::mimalloc& peer, allot::chunk_arena<blocks>& arena, account& stepped, account& exact,
                    std::size_t bytes, std::size_t live, std::size_t n, int rounds, const char* goal) {
    const allot::buffer_memory memory{arena};
    const std::vector<bench::subject> all{
        {"mimalloc", "", 1,
         [&](std::size_t k) {
             return replaced<of_peer>(k, live, [&] { return of_peer{peer.allocate(bytes), peer.release}; });
         }},
        {"block", "", 1,
         [&](std::size_t k) { return replaced<of_arena>(k, live, [&] { return of_arena{arena, bytes}; }); }},
        {"buffer, steps", "", 1,
         [&](std::size_t k) {
             return replaced<of_buffer>(k, live, [&] { return of_buffer{memory.allocate(stepped, bytes)}; });
         }},
        {"buffer", "", 1,
         [&](std::size_t k) {
             return replaced<of_buffer>(k, live, [&] { return of_buffer{memory.allocate(exact, bytes)}; });
         }},
    };
    const bench::turns ns = bench::take_turns(all, n, rounds);
    std::printf("| %zu KiB | %s | %.1f |", bytes >> 10,
                live == 1 ? "the last" : (std::to_string(live) + " live").c_str(), bench::spread_of(ns[0]).median);
    for (std::size_t s = 1; s != all.size(); ++s) {
        const auto [q1, ratio, q3] = bench::ratio_of(ns[s], ns[0]);
        std::printf(" %.1f: %.2f (%.2f to %.2f) |", bench::spread_of(ns[s]).median, ratio, q1, q3);
    }
    std::printf(" %s |\n", goal);
}

// A buffer and its release, of a pool that its own limit bounds alone, and of one whose pages are charged to accounts.
struct counted : allot::with<allot::use::drill, allot::ledger::counter> {};
void compare_ledgers(std::size_t n, int rounds) {
    account engine{name{"engine"}, allot::limit{1_GiB}}, leaf{engine, name{"leaf"}, allot::credit_step{}};
    allot::chunk_arena<counted> alone{allot::limit{1_GiB}, allot::use::drill::chunk};
    allot::chunk_arena<allot::use::drill> below{engine, allot::use::drill::chunk};
    const allot::buffer_memory from_alone{alone}, from_below{below};
    std::printf("| bytes | live | ledger::counter | ledger::pool |\n|---|---:|---:|---:|\n");
    for (const std::size_t bytes : {1000, 60'000})
        for (const std::size_t live : {1, 100}) {
            const auto of = [&](const allot::buffer_memory& memory) {
                return [&, bytes, live](std::size_t k) {
                    std::vector<buffer> held(live);
                    return timed(k, [&](std::size_t i) {
                        held[i % live].release();
                        held[i % live] = memory.allocate(leaf, bytes);
                    });
                };
            };
            const bench::turns ns =
                bench::take_turns({{"", "", 1, of(from_alone)}, {"", "", 1, of(from_below)}}, n, rounds);
            const auto [q1, ratio, q3] = bench::ratio_of(ns[1], ns[0]);
            std::printf("| %zu | %zu | %.1f | %.1f: %.2f (%.2f to %.2f) |\n", bytes, live,
                        bench::spread_of(ns[0]).median, bench::spread_of(ns[1]).median, ratio, q1, q3);
        }
    std::printf("\n");
}
// Bytes of live buffers at each refusal, where threads take and release buffers whose sizes are as often below the
// geometric mean as above it; a line of the table.
void fill(std::size_t chunk, std::size_t least, std::size_t most, unsigned threads, int requests) {
    constexpr std::size_t limit = 256_MiB;
    account engine{name{"engine"}, allot::limit{limit}}, scan{engine, name{"scan"}, allot::credit_step{}};
    allot::chunk_arena<allot::use::drill> pool{engine, allot::chunk_bytes{chunk}};
    const allot::buffer_memory memory{pool};
    struct seen {
        std::size_t least = SIZE_MAX, refusals = 0;
        double sum = 0;
    };
    std::vector<seen> of(threads);
    std::vector<std::vector<buffer>> held_by(threads); // also when a thread has ended
    std::vector<std::thread> all;
    for (unsigned t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937_64 random{t + 1};
            std::uniform_real_distribution<> size{std::log2(least), std::log2(most)};
            std::vector<buffer>& held = held_by[t];
            const auto release_one = [&] {
                if (held.empty()) return;
                std::swap(held[random() % held.size()], held.back());
                held.pop_back();
            };
            for (int i = 0; i != requests; ++i) {
                if (buffer b = memory.try_allocate(scan, static_cast<std::size_t>(std::exp2(size(random))))) {
                    held.push_back(std::move(b));
                    if (random() % 8 == 0) release_one();
                } else {
                    const std::size_t live = scan.used();
                    of[t].least = std::min(of[t].least, live);
                    of[t].sum += static_cast<double>(live);
                    ++of[t].refusals;
                    for (int k = 0; k != 3; ++k) release_one();
                }
            }
        });
    for (std::thread& t : all) t.join();
    seen sum;
    for (const seen& s : of) sum.least = std::min(sum.least, s.least), sum.sum += s.sum, sum.refusals += s.refusals;
    const double percent = 100.0 / static_cast<double>(limit);
    std::printf("| %zu to %zu KiB | %zu MiB | %u | %zu | ", least >> 10, most >> 10, chunk >> 20, threads,
                sum.refusals);
    if (sum.refusals == 0) std::printf("- | - |\n");
    else
        std::printf("%.0f %% | %.0f %% |\n", percent * sum.sum / static_cast<double>(sum.refusals),
                    percent * static_cast<double>(sum.least));
}

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const char* const library = argc > 1 && !smoke ? argv[1] : nullptr;
    const std::size_t n = smoke ? 5'000 : 500'000;
    const int rounds = smoke ? 3 : 15;

    alignas(64) std::atomic<std::size_t> word{0};
    allot::heap_memory heap;
    allot::row_manager<pool> rows{allot::limit{64_MiB}};
    const allot::buffer_memory from_heap{heap}, from_rows{rows};
    account root{name{"root"}, allot::limit{4_GiB}};
    account query{root, name{"query"}}, a{query, name{"a"}}, b{query, name{"b"}},
        stepped{query, name{"stepped"}, allot::credit_step{1_MiB}};
    buffer one = from_heap.allocate(a, 4096), moving = from_heap.allocate(a, 4096),
           shared = from_heap.allocate(a, 4096), also = shared.retain(b);

    const std::vector<bench::subject> all{
        {"two atomic additions, nobody else", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 word.fetch_add(1, std::memory_order_relaxed), word.fetch_sub(1, std::memory_order_acq_rel);
             });
         }},
        {"slice + release", "<= 3", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t i) {
                 const buffer s = one.slice(i % 64, 100);
                 bench::escape(&s);
             });
         }},
        {"retain by an account that has views + release", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = shared.retain(b);
                 bench::escape(&s);
             });
         }},
        {"retain by one that has none + release", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = one.retain(b);
                 bench::escape(&s);
             });
         }},
        {"transfer to a sibling and back, each", "60 ns", 2,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 moving = std::move(moving).transfer(b).view;
                 bench::escape(&moving);
                 moving = std::move(moving).transfer(a).view;
                 bench::escape(&moving);
             });
         }},
        {"of which the accounts' part", "", 2,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 static_cast<void>(account::transfer(a, b, 4096)), static_cast<void>(account::transfer(b, a, 4096));
             });
         }},
        {"malloc + free of 4 KiB, glibc", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 void* const p = std::malloc(4096);
                 bench::escape(p);
                 std::free(p);
             });
         }},
        {"buffer of 4 KiB, the process' heap", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = from_heap.allocate(a, 4096);
                 bench::escape(&s);
             });
         }},
        {"buffer of 4 KiB, the process' heap, a leaf with steps", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = from_heap.allocate(stepped, 4096);
                 bench::escape(&s);
             });
         }},
        {"buffer of 4 KiB, rows, a leaf with steps", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 const buffer s = from_rows.allocate(stepped, 4096);
                 bench::escape(&s);
             });
         }},
    };
    bench::write_turns(all, bench::take_turns(all, n, rounds), "two additions");

    if (const auto peer = bench::mimalloc::find(library)) {
        std::printf("Made and given back, %s in ns; then ns and the ratio to it.\n\n", peer.file);
        std::printf("| bytes | of | malloc + free | block of a chunk arena | buffer, leaf with steps | buffer, leaf "
                    "without | goal |\n|---|---|---:|---:|---:|---:|---|\n");
        allot::chunk_arena<blocks> arena{allot::limit{2_GiB}};
        for (const std::size_t bytes : {4_KiB, 64_KiB, 1_MiB, 16_MiB})
            for (const std::size_t live : {std::size_t{1}, bytes == 4_KiB    ? std::size_t{512}
                                                           : bytes == 16_MiB ? std::size_t{8}
                                                                             : std::size_t{64}})
                compare_blocks(peer, arena, stepped, query, bytes, live, bytes >= 1_MiB ? n / 50 : n / 2, rounds,
                               bytes == 4_KiB ? "<= 1" : "<= 0.5");
    } else {
        std::printf("mimalloc is not here: blocks are not compared.\n");
    }
    compare_ledgers(n / 2, rounds);
    std::printf(
        "| buffers | chunks | threads | refusals | live at one: mean | least |\n|---|---|---:|---:|---:|---:|\n");
    for (const unsigned threads : {1u, 8u})
        for (const std::size_t chunk : {16_MiB, 1_MiB}) {
            if (!smoke) fill(chunk, 4_KiB, 1_MiB, threads, 8000);
            fill(chunk, 64_KiB, 16_MiB, threads, smoke ? 500 : 8000);
        }
    const bool charged = a.used() == 3 * 4096 && b.used() == 0;
    one.release(), moving.release(), shared.release(), also.release();
    return charged && root.verify() && a.used() + b.used() + stepped.used() == 0 ? 0 : 1;
}
