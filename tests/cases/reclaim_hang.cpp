// Buffers of a chunk arena with ledger::tree and spill::chain in the same tree, two threads, nothing but try_allocate
// and release. Expected: each request is granted or refused (try_ never waits for memory). Seen: both threads hang for
// ever within seconds. Today: holds; it runs for 20 s at most, and ends with 1 when
// both threads hang.
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>
using namespace allot;
using namespace allot::literals;
struct blocks : policies<ledger::tree, spill::chain, oom::null> {};
int main(int c, char** v) {
    const int threads = c > 1 ? std::atoi(v[1]) : 2;
    account root{name{"root"}, limit{6_MiB}};
    chunk_arena<blocks> pool{root, name{"pool"}, limit{6_MiB}};
    buffer_memory memory{pool};
    std::vector<std::atomic<long>> ops(static_cast<std::size_t>(threads));
    std::atomic<bool> stop{false};
    std::vector<std::thread> t;
    for (int i = 0; i < threads; ++i)
        t.emplace_back([&, i] {
            account mine{root, name{"operator"}};
            std::mt19937 r(static_cast<unsigned>(i));
            std::vector<buffer> held;
            while (!stop) {
                if (buffer b = memory.try_allocate(mine, 1 + r() % 1'500'000)) held.push_back(std::move(b));
                if (held.size() > 2 || r() % 2)
                    if (!held.empty()) held.pop_back();
                ++ops[static_cast<std::size_t>(i)];
            }
        });
    long before = -1, now = 0;
    int still = 0;
    for (int s = 0; s < 200 && still < 20; ++s) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        now = 0;
        for (auto& o : ops) now += o;
        still = now == before ? still + 1 : 0;
        before = now;
    }
    if (still == 20) {
        std::printf("%d threads: no progress for 2 s after %ld requests\n", threads, now);
        std::fflush(stdout);
        std::_Exit(1);
    }
    stop = true;
    for (auto& x : t) x.join();
    std::printf("%d threads: %ld requests in 20 s\n", threads, now);
    return 0;
}
