// allot_tasks: the cost of the OOM state machine, beside one uncontended atomic addition in the same run. Prints
// Markdown tables for docs/bench/tasks.md.
//
//     allot_tasks [--smoke]           --smoke: a short run, only to see that it works
//
// Subjects take turns, round by round. Those of the first table count thread CPU time, those of the second the time
// that passes, since threads wake each other.
#include <harness/turns.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <allot/oom/retry.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using allot::account;
using allot::limit;
using allot::name;
using bench::timed;
using namespace allot::oom;
using clock = std::chrono::steady_clock;

double ns_since(clock::time_point start) {
    return std::chrono::duration<double, std::nano>(clock::now() - start).count();
}
template <class Step> double passed(std::size_t n, Step step) {
    const auto start = clock::now();
    for (std::size_t i = 0; i != n; ++i) step(i);
    return ns_since(start);
}

// 64 tasks of a thread; all but the first wait.
struct sixty_four {
    machine all;
    static void drop(const change&) noexcept {}

    sixty_four() {
        for (std::uint64_t t = 0; t != 64; ++t) {
            const thread_id id = all.add_thread(thread_kind::dedicated, all.add_task({0, t}));
            all.enter_scope(id);
            if (t == 0) continue;
            all.announce(id, allot::memory_kind::host, 1, drop);
            all.step(id, event::failed, drop);
        }
    }
    void fail_and_decide() { // the first one is refused too: the last one is rolled back, frees, and is woken
        all.announce(0, allot::memory_kind::host, 1, drop);
        all.step(0, event::failed, drop);
        all.step(63, event::thrown, drop);
        all.step(0, event::may_fit, drop);
        all.step(63, event::woken, drop);
        all.announce(63, allot::memory_kind::host, 1, drop);
        all.step(63, event::failed, drop);
        all.leave_scope(0, true, 0, drop); // its attempts count from 0 again
        all.enter_scope(0);
    }
};

// Two threads take turns at a limit: each sleeps until the other refunds.
double hand_over(std::size_t n) {
    arbiter tasks;
    account memory{name{"engine"}, limit{1}, tasks};
    std::atomic<bool> ends{false};
    const auto work = [&](std::size_t times) {
        task mine{tasks};
        task_thread here{mine};
        for (std::size_t i = 0; i != times; ++i) {
            memory.charge(1);
            while (!ends && memory.stats().waiting == 0) std::this_thread::yield();
            memory.refund(1);
        }
        ends = true;
    };
    const auto start = clock::now();
    std::thread other{[&] { work(n / 2); }};
    work(n / 2);
    other.join();
    return ns_since(start);
}

// The time from the last request of 64 tasks that deadlock to the catch of the one that is rolled back, in ns.
double deadlock_of_64() {
    constexpr unsigned n = 64;
    arbiter tasks;
    account memory{name{"engine"}, limit{n}, tasks};
    std::atomic<unsigned> holding{0};
    std::atomic<std::int64_t> last{0}, caught{0};
    const auto now = [] { return clock::now().time_since_epoch().count(); };
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t != n; ++t)
            threads.emplace_back([&] {
                task mine{tasks};
                task_thread here{mine};
                with_retry_no_split([&] {
                    memory.charge(1);
                    if (caught == 0) {
                        ++holding;
                        while (holding < n) std::this_thread::yield();
                    }
                    try {
                        if (caught == 0) last = now();
                        memory.charge(1);
                    } catch (...) {
                        std::int64_t none = 0;
                        caught.compare_exchange_strong(none, now());
                        memory.refund(1);
                        throw;
                    }
                    memory.refund(2);
                });
            });
    }
    return static_cast<double>(caught - last);
}

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const std::size_t n = smoke ? 2'000 : 200'000;
    const int rounds = smoke ? 3 : 15;

    alignas(64) std::atomic<std::size_t> word{0};
    sixty_four many;
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task query{tasks, "query"};
    task_thread here{query};
    allot::detail::judged_thread& mine = *tasks.by->this_thread();

    const std::vector<bench::subject> alone{
        {"one atomic addition, nobody else", "", 1,
         [&](std::size_t k) { return timed(k, [&](std::size_t) { word.fetch_add(1, std::memory_order_relaxed); }); }},
        {"a charge that fits + its refund, with an arbiter", "as without", 1,
         [&](std::size_t k) { return timed(k, [&](std::size_t) { memory.charge(1), memory.refund(1); }); }},
        {"a transition, 64 tasks, one decision in 8", "<= 1000 ns", 8,
         [&](std::size_t k) { return timed(k / 10, [&](std::size_t) { many.fail_and_decide(); }) * 10; }},
        {"a transition of the arbiter, no sleep", "<= 1000 ns", 2,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 mine.post({.what = allot::oom::event::announced,
                            .detail = static_cast<std::uint8_t>(allot::memory_kind::host),
                            .bytes = 1});
                 mine.post({.what = allot::oom::event::granted});
             });
         }},
        {"throw and catch of an error of the library", "", 1,
         [&](std::size_t k) {
             return timed(k / 10,
                          [&](std::size_t) {
                              try {
                                  throw allot::retry_out_of_memory({}, allot::memory_kind::host);
                              } catch (const allot::verdict_error&) {
                              }
                          }) *
                    10;
         }},
        {"a rollback: thrown, caught, begun again", "<= 3000 ns", 1,
         [&](std::size_t k) {
             return timed(k / 10,
                          [&](std::size_t) {
                              bool first = true;
                              with_retry_no_split([&] {
                                  if (std::exchange(first, false))
                                      throw allot::retry_out_of_memory({.outcome = allot::charge_outcome::rolled_back},
                                                                       allot::memory_kind::host);
                              });
                          }) *
                    10;
         }},
    };
    bench::write_turns(alone, bench::take_turns(alone, n, rounds), "one addition");

    const std::vector<bench::subject> together{
        {"one atomic addition, nobody else", "", 1,
         [&](std::size_t k) { return passed(k, [&](std::size_t) { word.fetch_add(1, std::memory_order_relaxed); }); }},
        {"a transition of two threads that take turns at a limit", "<= 10000 ns", 5,
         [&](std::size_t k) { return hand_over(k / 10) * 10; }},
    };
    bench::write_turns(together, bench::take_turns(together, n, smoke ? 1 : 7), "one addition");

    std::vector<double> us;
    for (int i = 0; i != (smoke ? 2 : 31); ++i) us.push_back(deadlock_of_64() / 1000);
    std::sort(us.begin(), us.end());
    std::printf(
        "The last of 64 tasks is refused; the one that is rolled back catches it after %.0f us (median; most %.0f "
        "us).\n",
        us[us.size() / 2], us.back());
    return memory.verify() ? 0 : 1;
}
