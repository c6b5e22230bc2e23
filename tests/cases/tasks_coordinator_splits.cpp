// What: two tasks; each one's thread holds 28 of 100 in a with_retry with an input that can be split, and waits, marked
// by scoped_wait{own task}, for its worker, which joins its scope, and needs 24 + 24 in a with_retry_no_split. Each
// task needs 76, so one after the other both fit; split once, each needs 38. Expected: both end (docs/oom.md: "With an
// arbiter all of them end"): the coordinator is rolled back and split with its worker. A worker that does not join has
// a scope of its own, in which a split is final. It holds in every build.
#include <allot/oom/retry.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>
namespace oom = allot::oom;
struct charged {
    allot::account& a;
    std::size_t n;
    charged(allot::account& by, std::size_t b) : a(by), n(b) { by.charge(b); }
    ~charged() { a.refund(n); }
};
struct in {
    std::size_t n;
    void pin() const {}
    std::size_t bytes() const { return n; }
};
static void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
int main() {
    std::atomic<int> right{0}, refused{0};
    for (int round = 0; round != 40; ++round) {
        oom::arbiter tasks;
        allot::account engine{allot::name{"engine"}, allot::limit{100}, tasks};
        const auto query = [&] {
            oom::task q{tasks, "q"};
            oom::task_thread here{q};
            std::vector<in> inputs{{4}};
            const auto halve = [](in& i) {
                return i.n < 2 ? std::vector<in>{} : std::vector<in>{{i.n / 2}, {i.n - i.n / 2}};
            };
            try {
                oom::with_retry(inputs, halve, [&](in& i) {
                    charged mine{engine, 7 * i.n};
                    nap(3);
                    auto worker = std::async(std::launch::async, [&i, &engine, scope = oom::retry_scope::now()] {
                        oom::task_thread worker_here{*scope};
                        oom::with_retry_no_split([&] {
                            charged a{engine, 6 * i.n};
                            nap(3);
                            charged b{engine, 6 * i.n};
                        });
                    });
                    {
                        oom::scoped_wait w{q};
                        worker.wait();
                    }
                    worker.get();
                });
                ++right;
            } catch (const allot::out_of_memory& e) {
                if (refused++ == 0) std::printf("%s\n", e.report());
            }
        };
        std::jthread a{query}, b{query};
    }
    std::printf("%d ended, %d refused\n", right.load(), refused.load());
    return refused != 0;
}
