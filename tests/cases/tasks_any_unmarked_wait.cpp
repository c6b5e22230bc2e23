// What: one task, two dedicated threads; the rule task_is_blocked = any (the default). The first thread, in a scope
// with an input that can be split, needs more than there is; the second waits, without a mark, for the first one's
// result. Expected by the rule's text (rules.hpp: a task counts as blocked when one of its dedicated threads is;
// docs/oom.md: "With `all`, a thread that the arbiter takes for a running one can hold back every decision", so with
// `any` it cannot; the seed: "at least one thread that is directly blocked"; the original splits): the first thread
// tries alone, is rolled back and splits. What happens: nothing is decided, the first thread sleeps for ever: where one
// thread waits for memory, or all are rolled back, machine::decide_among also asks is_alone(), which a running second
// thread makes false. The unmarked wait breaks a documented rule; the text about `any` says the opposite. `any` helps
// only where two or more threads wait. Today: falls short in every build.
#include <allot/oom/retry.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>
#include <unistd.h>
namespace oom = allot::oom;
struct in {
    std::size_t n;
    void pin() const {}
    std::size_t bytes() const { return n; }
};
int main() {
    oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{100}, tasks};
    oom::task q{tasks, "q"};
    std::promise<void> result;
    auto done = result.get_future();
    std::promise<void> begun;
    std::jthread second{[&] {
        oom::task_thread here{q};
        begun.set_value();
        done.wait(); // not marked
    }};
    begun.get_future().wait();
    auto first = std::async(std::launch::async, [&] {
        oom::task_thread here{q};
        std::vector<in> inputs{{2}};
        const auto halve = [](in& i) { return i.n < 2 ? std::vector<in>{} : std::vector<in>{{1}, {1}}; };
        oom::with_retry(inputs, halve, [&](in& i) {
            engine.charge(40 * i.n);
            struct undo {
                allot::account& a;
                std::size_t n;
                ~undo() { a.refund(n); }
            } u{engine, 40 * i.n};
            engine.charge(30 * i.n), engine.refund(30 * i.n);
        });
        result.set_value();
    });
    if (first.wait_for(std::chrono::seconds(3)) == std::future_status::ready) return std::puts("ended"), 0;
    const auto m = tasks.now();
    std::printf("after 3 s: is_deadlocked() is %d, and nothing was decided: %lu rollbacks, %lu splits\n",
                m.is_deadlocked(), tasks.stats().rollbacks, tasks.stats().splits);
    std::fflush(stdout);
    _exit(1);
}
