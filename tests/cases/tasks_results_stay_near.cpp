// What: with_retry collects the results of all bodies. Bodies that return plain buffers keep near memory that no
// rollback frees. Two tasks of eight inputs; each one's results (8 * 512) and one table (1920) fit the limit of 6400
// alone. Expected by the rules of docs/oom.md (inputs are spillable; the body frees what it took when it throws): both
// end. What happens: one is refused in most rounds; with results that are spillable_buffers both end. A missing rule
// ("what a body returns stays charged: let it be spillable"), not a wrong decision. Today: falls short by chance, in
// every build.
#include <allot/oom/retry.hpp>
#include <allot/spill/spillable_buffer.hpp>
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
                        if constexpr (Spillable)
                            return allot::spillable_buffer{
                                memory.allocate(engine, 512), {memory, engine}, {memory, disk}};
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
    return refused.load();
}
int main() {
    const int plain = run<false>(), spillable = run<true>();
    return plain + spillable != 0;
}
