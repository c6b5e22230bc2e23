// What: with_retry collects the results of all bodies. Two tasks of eight inputs; each one's results (8 * 512) and one
// table (1920) fit the limit of 6400 alone. Expected: where the results are stored buffers, both tasks end
// (docs/oom.md: what a body returns stays charged, so let it be spillable). Where they are plain buffers, which no
// rollback returns, one task may be refused; the other ends. It holds in every build.
#include <allot/oom/retry.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
namespace oom = allot::oom;
struct in {
    void pin() const {}
    std::size_t bytes() const { return 0; }
};
template <bool Spillable> static int run() {
    std::atomic<int> right{0}, refused{0};
    for (int round = 0; round != 20; ++round) {
        allot::heap_memory heap;
        allot::buffer_memory memory{heap};
        allot::account disk{allot::name{"disk"}};
        oom::arbiter tasks;
        allot::account engine{allot::name{"engine"}, allot::limit{6400}, tasks};
        allot::spill_memory far{memory, disk};
        allot::store inputs{engine, far};
        const auto query = [&] {
            oom::task q{tasks, "q"};
            oom::task_thread here{q};
            std::vector<in> inputs(8);
            try {
                auto results = oom::with_retry(
                    inputs, [](in&) { return std::vector<in>{}; },
                    [&](in&) {
                        allot::buffer table = memory.allocate(engine, 1920);
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                        if constexpr (Spillable) return inputs.put(memory.allocate(engine, 512));
                        else return memory.allocate(engine, 512);
                    });
                ++right;
            } catch (const allot::out_of_memory&) {
                ++refused;
            }
        };
        std::jthread a{query}, b{query};
    }
    std::printf("results are %s: %d ended, %d refused\n", Spillable ? "spillable" : "plain buffers", right.load(),
                refused.load());
    if (right + refused != 40 || right < 20) return 1;
    return Spillable ? refused.load() : 0;
}
int main() {
    const int plain = run<false>(), spillable = run<true>();
    return plain + spillable != 0;
}
