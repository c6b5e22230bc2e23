// As machine values: A's thread waits (marked) for work that no thread has begun, since the thread that would do it is
// blocked in task B for memory that A holds. Expected: a decision (B's thread tries alone or is rolled back), as today.
// A cure of tasks_wait_for_ended_thread that takes every wait for a task without other threads as over loses it:
// "nothing decided" is a deadlock that hangs. Today: holds in every build.
#include <allot/oom/machine.hpp>
#include <cstdio>
namespace oom = allot::oom;
static int run(bool pool) {
    oom::machine m{oom::rules{}};
    int decided = 0;
    const auto sink = [&](const oom::change& c) {
        decided += c.by == oom::event::tries_alone || c.by == oom::event::rolled_back || c.by == oom::event::split ||
                   c.by == oom::event::refused;
    };
    const auto ta = m.add_task({0, 1}), tb = m.add_task({0, 2}), tx = m.add_task({0, 3});
    const auto a = m.add_thread(oom::thread_kind::dedicated, ta);
    const auto b =
        m.add_thread(pool ? oom::thread_kind::pool : oom::thread_kind::dedicated, tb); // the only executor thread
    m.enter_scope(a), m.enter_scope(b);
    m.wait(a, pool ? oom::waits_for::pool : oom::waits_for::task, pool ? oom::no_id : tx, sink);
    m.announce(b, allot::memory_kind::host, 50, sink);
    m.fail(b, false, sink);
    std::printf("%s: %s\n",
                pool ? "for_pool, the pool's only thread is blocked in B"
                     : "for task X, not begun; its executor is blocked in B",
                decided ? "decided" : "nothing decided");
    return decided == 0;
}
int main() { return run(false) + run(true); }
