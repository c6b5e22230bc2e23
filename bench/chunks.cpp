// allot_chunks: the cost of an allocate and deallocate in a chunk arena, beside mimalloc, malloc and whole pages.
// Prints Markdown tables for docs/bench/chunks.md.
//
//   allot_chunks [rounds] [subject]        default: 9 rounds of all; one subject is for valgrind --tool=callgrind
//
//   pair     a block is freed before the next is allocated
//   window   a random one of n live blocks is replaced
//   mixed    window with sizes from 256 bytes to 1 MiB, each the double of the last
//   fill     how full an arena of 256 MiB is at the first refusal
// Only the first byte of each block is written. Subjects take turns, round by round, in one process. Results are
// medians of rounds of thread CPU time, with the ratio to mimalloc's.
#include <allot/chunk_arena.hpp>

#include <harness/measure.hpp>
#include <harness/mimalloc.hpp>
#include <harness/statistics.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace allot::literals;

namespace {

struct runs_of_threads : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};
struct runs_unwatched
    : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null, allot::watch::none> {};
struct runs_shared : allot::policies<allot::fit::runs, allot::heap::shared, allot::oom::null> {};
struct buddies : allot::policies<allot::fit::buddy, allot::heap::per_thread, allot::oom::null> {};
struct best : allot::policies<allot::fit::best, allot::heap::per_thread, allot::oom::null> {};

struct subject {
    virtual ~subject() = default;
    virtual void pairs(std::size_t bytes, std::size_t n) = 0;
    virtual void replace(const std::vector<std::uint32_t>& which, const std::vector<std::size_t>& bytes) = 0;
    virtual void clear() = 0;
};

template <class Self> struct looped : subject {
    std::vector<std::pair<void*, std::size_t>> at = std::vector<std::pair<void*, std::size_t>>(1024);

    void pairs(std::size_t bytes, std::size_t n) override {
        for (std::size_t i = 0; i != n; ++i) {
            void* const p = take(bytes);
            self().give(p, bytes);
        }
    }
    void replace(const std::vector<std::uint32_t>& which, const std::vector<std::size_t>& bytes) override {
        for (std::size_t i = 0; i != which.size(); ++i) {
            auto& [p, n] = at[which[i]];
            if (p != nullptr) self().give(p, n);
            n = bytes[i];
            p = take(n);
        }
    }
    void clear() override {
        for (auto& [p, n] : at) {
            if (p != nullptr) self().give(p, n);
            p = nullptr;
        }
    }
    void* take(std::size_t bytes) {
        void* const p = self().allocate(bytes);
        *static_cast<volatile char*>(p) = 1;
        return p;
    }
    Self& self() { return static_cast<Self&>(*this); }
};

template <class Set, bool Sized> struct ours : looped<ours<Set, Sized>> {
    allot::chunk_arena<Set> blocks{allot::limit{4_GiB}};
    void* allocate(std::size_t n) { return blocks.try_allocate(n).address; }
    void give(void* p, [[maybe_unused]] std::size_t n) {
        if constexpr (Sized) blocks.deallocate({p, n});
        else blocks.deallocate(p);
    }
};
struct hosts : looped<hosts> {
    void* (*take_)(std::size_t);
    void (*give_)(void*);
    hosts(void* (*a)(std::size_t), void (*r)(void*)) : take_(a), give_(r) {}
    void* allocate(std::size_t n) { return take_(n); }
    void give(void* p, std::size_t) { give_(p); }
};
struct pages : looped<pages> {
    allot::arena<> all{allot::limit{4_GiB}};
    void* allocate(std::size_t n) { return all.take(allot::detail::ceil_div(n, all.page_bytes())); }
    void give(void* p, std::size_t n) {
        all.give(static_cast<std::byte*>(p), allot::detail::ceil_div(n, all.page_bytes()));
    }
};

// How full an arena is when the first of random requests of 256 bytes to 1 MiB is refused.
template <class Set> void fill(const char* name) {
    for (const bool by_doubling : {false, true}) {
        std::vector<double> live, asked;
        for (unsigned seed = 1; seed != 10; ++seed) {
            allot::chunk_arena<Set> blocks{allot::limit{256_MiB}};
            std::mt19937_64 random{seed};
            std::vector<void*> all;
            std::size_t sum = 0;
            for (;;) {
                const std::size_t n =
                    256 + random() % ((by_doubling ? std::size_t{256} << random() % 13 : 1_MiB) - 255);
                void* const p = blocks.try_allocate(n).address;
                if (p == nullptr) break;
                all.push_back(p);
                sum += n;
            }
            live.push_back(100.0 * static_cast<double>(blocks.stats().live) / static_cast<double>(256_MiB));
            asked.push_back(100.0 * static_cast<double>(sum) / static_cast<double>(256_MiB));
            for (void* const p : all) blocks.deallocate(p);
        }
        std::sort(live.begin(), live.end());
        std::sort(asked.begin(), asked.end());
        std::printf("| %s | %s | %.1f | %.1f | %.1f |\n", name, by_doubling ? "by doublings" : "even", live[4], live[0],
                    asked[4]);
    }
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
    std::vector<std::pair<std::string, std::unique_ptr<subject>>> all;
    if (const auto peer = bench::mimalloc::find())
        all.emplace_back("mimalloc", std::make_unique<hosts>(peer.allocate, peer.release));
    const bool has_peer = !all.empty();
    all.emplace_back("malloc", std::make_unique<hosts>(&std::malloc, &std::free));
    all.emplace_back("runs, per_thread", std::make_unique<ours<runs_of_threads, false>>());
    all.emplace_back("the same, told bytes", std::make_unique<ours<runs_of_threads, true>>());
    all.emplace_back("the same, watch::none", std::make_unique<ours<runs_unwatched, true>>());
    all.emplace_back("runs, shared", std::make_unique<ours<runs_shared, false>>());
    all.emplace_back("buddy, per_thread", std::make_unique<ours<buddies, false>>());
    all.emplace_back("best, per_thread", std::make_unique<ours<best, false>>());
    all.emplace_back("whole pages", std::make_unique<pages>());
    if (argc > 2) std::erase_if(all, [&](auto& s) { return s.first != argv[2]; });

    struct load {
        const char* kind;
        std::size_t bytes, live;
    };
    std::vector<load> loads;
    for (const std::size_t n : {1_KiB, 4_KiB, 16_KiB, 64_KiB, 256_KiB, 1_MiB, 4_MiB, 16_MiB})
        loads.push_back({"pair", n, 0});
    for (const std::size_t n : {4_KiB, 64_KiB, 1_MiB}) loads.push_back({"window", n, n == 4_KiB ? 512U : 64U});
    loads.push_back({"mixed", 0, 512});
    std::printf("| load |");
    for (const auto& [name, s] : all) std::printf(" %s |", name.c_str());
    std::printf("\n|---|");
    for (std::size_t s = 0; s != all.size(); ++s) std::printf("---:|");
    std::printf("\n");
    for (const load& l : loads) {
        std::mt19937_64 random{l.bytes + 1};
        const std::size_t steps = l.bytes >= 1_MiB ? 4000 : 100'000;
        std::vector<std::vector<double>> ns(all.size());
        for (int round = -1; round < rounds; ++round) { // the first one warms up
            std::vector<std::uint32_t> which(steps);
            std::vector<std::size_t> sizes(steps, l.bytes);
            if (l.live != 0)
                for (auto& w : which) w = static_cast<std::uint32_t>(random() % l.live);
            if (l.bytes == 0)
                for (auto& n : sizes) n = 256 + random() % ((std::size_t{256} << random() % 13) - 255);
            for (std::size_t i = 0; i != all.size(); ++i) {
                const std::size_t s = (i + static_cast<std::size_t>(round + 1)) % all.size();
                const double begin = bench::cpu_ns();
                if (l.live == 0) all[s].second->pairs(l.bytes, steps);
                else all[s].second->replace(which, sizes);
                if (round >= 0) ns[s].push_back((bench::cpu_ns() - begin) / static_cast<double>(steps));
            }
        }
        if (l.live == 0) std::printf("| pair of %zu KiB |", l.bytes >> 10);
        else if (l.bytes == 0) std::printf("| mixed, %u live of 256 bytes to 1 MiB |", static_cast<unsigned>(l.live));
        else std::printf("| %zu of %zu KiB live |", l.live, l.bytes >> 10);
        for (std::size_t s = 0; s != all.size(); ++s) {
            all[s].second->clear();
            std::printf(" %.1f", bench::spread_of(ns[s]).median);
            if (has_peer && s != 0) std::printf(" (%.2f)", bench::ratio_of(ns[s], ns[0]).median);
            std::printf(" |");
        }
        std::printf("\n");
    }
    std::printf(
        "\n| fill at the first refusal | sizes | in blocks, %% | at least | asked for |\n|---|---|---:|---:|---:|\n");
    fill<runs_of_threads>("runs");
    fill<buddies>("buddy");
    fill<best>("best");
}
