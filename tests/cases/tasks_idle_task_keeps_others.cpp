// What: A and B deadlock, B is rolled back. A ends its scope, frees everything and idles (marked scoped_wait{outside},
// its task has an account that shows 0 bytes). Expected by a user: B runs, since all memory is free. What happens with
// the default rules: B sleeps until A's *task* ends; a server whose tasks live long stops rolled back tasks for good.
// Documented (D4 at_task_end; "progress" is the end of a task) and the original's; wakes::at_scope_end helps. A bad
// default rather than a defect: nothing in docs/oom.md says that B sleeps beside free memory. Today: falls short in
// every build.
#include <allot/oom/retry.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <latch>
#include <thread>
namespace oom = allot::oom;
struct charged {
    allot::account& a;
    std::size_t n;
    charged(allot::account& by, std::size_t b) : a(by), n(b) { by.charge(b); }
    ~charged() { a.refund(n); }
};
static double run(oom::wakes when) {
    using clock = std::chrono::steady_clock;
    oom::arbiter tasks{{.rolled_back_wakes = when}};
    allot::account engine{allot::name{"engine"}, allot::limit{100}, tasks};
    std::latch both{2};
    std::atomic<clock::time_point> freed{}, ran{};
    {
        std::jthread a{[&] {
            allot::account mine{engine, allot::name{"A"}};
            oom::task q{tasks, "A", 0, &mine};
            oom::task_thread here{q};
            oom::with_retry_no_split([&] {
                charged one{mine, 50};
                both.arrive_and_wait();
                std::this_thread::sleep_for(std::chrono::milliseconds(20)); // B asks first
                charged two{mine, 30};
            });
            freed = clock::now();
            oom::scoped_wait idle{oom::outside};
            std::this_thread::sleep_for(std::chrono::seconds(2));
        }};
        std::jthread b{[&] {
            while (engine.used() < 50) std::this_thread::yield();
            oom::task q{tasks, "B"};
            oom::task_thread here{q};
            bool first = true;
            oom::with_retry_no_split([&] {
                charged one{engine, 30};
                if (first) first = false, both.arrive_and_wait();
                charged two{engine, 30};
            });
            ran = clock::now();
        }};
    }
    return std::chrono::duration<double, std::milli>(ran.load() - freed.load()).count();
}
int main() {
    const double slow = run(oom::wakes::at_task_end), fast = run(oom::wakes::at_scope_end);
    std::printf("B ends after all memory is free: %.0f ms (at_task_end, the default), %.1f ms (at_scope_end)\n", slow,
                fast);
    return slow > 1000;
}
