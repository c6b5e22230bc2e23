// allot_executor: tasks that an executor starts where their memory is there, beside the arbiter alone; and what a task
// costs. Prints Markdown tables for docs/bench/executor.md.
//
//     allot_executor [--smoke]        --smoke: a short run, only to see that it works
#include <allot/core/units.hpp>
#include <allot/oom/retry.hpp>
#include <allot/task/task_group.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using allot::account;
using clock = std::chrono::steady_clock;

constexpr int tasks = 16, steps = 10;
constexpr unsigned threads = 2;
constexpr std::size_t whole = 64_MiB;

double ms_since(clock::time_point t) { return std::chrono::duration<double, std::milli>(clock::now() - t).count(); }
double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

struct outcome {
    double ms, work, wide; // wall time; steps done to steps needed; part of the steps beside another task
    std::uint64_t again;
};

// A task charges its part of the limit step by step, and works for a millisecond after each.
struct workload {
    std::size_t bytes;
    std::chrono::microseconds step;
    std::atomic<int> running{0}, done{0}, beside{0};

    void run(account& memory) {
        struct held {
            account& of;
            workload& in;
            std::size_t bytes = 0;
            held(account& a, workload& w) : of(a), in(w) { ++in.running; }
            ~held() {
                of.refund(bytes);
                --in.running;
            }
        } mine{memory, *this};
        for (int i = 0; i != steps; ++i) {
            memory.charge(bytes / steps);
            mine.bytes += bytes / steps;
            for (const auto end = clock::now() + step; clock::now() < end;) {
            }
            ++done;
            beside += running > 1;
        }
    }
    outcome end(clock::time_point start, std::uint64_t again) const {
        return {ms_since(start), double(done) / (tasks * steps), double(beside) / double(done), again};
    }
};

outcome with_executor(std::size_t bytes, double says, std::chrono::microseconds step) {
    allot::oom::arbiter by;
    account engine{allot::name{"engine"}, allot::limit{whole}, by};
    allot::executor run{by, engine, {.threads = threads}};
    allot::task_group query{run, allot::name{"query"}};
    workload w{bytes, step};
    const auto start = clock::now();
    for (int i = 0; i != tasks; ++i)
        query.add({.overhead = static_cast<std::size_t>(static_cast<double>(bytes) * says)},
                  [&](allot::task_step& s) { w.run(s.memory()); });
    query.wait();
    return w.end(start, run.stats().ran_out);
}
// The same two threads take the tasks one after the other; where memory ends, the arbiter decides.
outcome with_arbiter(std::size_t bytes, double, std::chrono::microseconds step) {
    allot::oom::arbiter by;
    account engine{allot::name{"engine"}, allot::limit{whole}, by};
    workload w{bytes, step};
    std::atomic<int> next{0};
    const auto start = clock::now();
    {
        std::vector<std::jthread> all;
        for (unsigned t = 0; t != threads; ++t)
            all.emplace_back([&] {
                while (next++ < tasks) {
                    account memory{engine, allot::name{"task"}};
                    allot::oom::task mine{by, "task"};
                    allot::oom::task_thread here{mine};
                    allot::oom::with_retry_no_split([&] { w.run(memory); });
                }
            });
    }
    return w.end(start, by.stats().rollbacks);
}

template <class Run> void row(const char* name, Run run, std::size_t bytes, double says, int rounds, bool smoke) {
    std::vector<double> ms, work, wide, again;
    for (int i = 0; i != rounds; ++i) {
        const outcome o = run(bytes, says, std::chrono::microseconds(smoke ? 10 : 1000));
        ms.push_back(o.ms), work.push_back(o.work), wide.push_back(o.wide), again.push_back(double(o.again));
    }
    std::printf("| %s | %.0f | %.2f | %.0f %% | %.0f |\n", name, median(ms), median(work), median(wide) * 100,
                median(again));
}

// Microseconds for each of n tasks.
template <class Step> double cost(std::size_t n, int rounds, Step step) {
    std::vector<double> us;
    for (int i = 0; i != rounds; ++i) {
        const auto start = clock::now();
        step(n);
        us.push_back(ms_since(start) * 1000 / double(n));
    }
    return median(us);
}
void costs(std::size_t n, int rounds) {
    allot::oom::arbiter by;
    account engine{allot::name{"engine"}, allot::limit{1_GiB}, by};
    allot::executor run{by, engine};
    allot::task_group query{run, allot::name{"query"}};
    std::printf("\n| one of %zu tasks, on one thread | us | goal |\n|---|---:|---:|\n", n);
    const double one = cost(n, rounds, [&](std::size_t all) {
        for (std::size_t i = 0; i != all; ++i) query.add({.output = 1000}, [] {}), query.wait();
    });
    std::printf("| added, run and finished, alone | %.2f | <= 5 |\n", one);
    std::vector<allot::task_ref> refs;
    refs.reserve(n);
    const double added = cost(n, 1, [&](std::size_t all) {
        for (std::size_t i = 0; i != all; ++i) refs.push_back(query.add_known({.output = 1000}, [] {}));
    });
    const double moved = cost(n, rounds, [&](std::size_t all) {
        for (std::size_t i = 0; i != all; ++i)
            refs[i * 7919 % all].set_number(static_cast<std::int64_t>(i * 31 % 1000));
    });
    const double run_all = cost(n, 1, [&](std::size_t) { query.wait(); });
    std::printf("| added beside all others | %.2f | <= 2 |\n| given another place | %.2f | <= 2 |\n", added, moved);
    std::printf("| started, run and finished | %.2f | <= 2 |\n", run_all);
}

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const int rounds = smoke ? 1 : 9;
    std::puts("| 16 tasks on two threads, each of .. of the limit | ms | work done | two at once | begun again |\n"
              "|---|---:|---:|---:|---:|");
    const std::size_t large = whole * 6 / 10, small = whole * 4 / 10;
    row("60 %, executor", with_executor, large, 1, rounds, smoke);
    row("60 %, arbiter alone", with_arbiter, large, 1, rounds, smoke);
    row("60 %, executor, estimates of half", with_executor, large, 0.5, rounds, smoke);
    row("60 %, executor, estimates of twice", with_executor, large, 2, rounds, smoke);
    row("40 %, executor", with_executor, small, 1, rounds, smoke);
    row("40 %, arbiter alone", with_arbiter, small, 1, rounds, smoke);
    row("40 %, executor, estimates of half", with_executor, small, 0.5, rounds, smoke);
    row("40 %, executor, estimates of twice", with_executor, small, 2, rounds, smoke);
    costs(smoke ? 100 : 100'000, smoke ? 1 : 5);
}
