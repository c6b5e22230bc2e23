// A request that does not fit waits; 300 later charge_for requests of its level come one by one. Expected: 16 pass,
// then they wait (short-of-memory.md, "Who is woken", 1). Seen: all 300 pass, because those that fit at once neither
// count nor wait. Today: falls short in every build.
#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <cstdio>
#include <thread>
using namespace allot;
using namespace allot::literals;
int main() {
    account root{name{"root"}, limit{1000}};
    account hog{root, name{"hog"}}, big{root, name{"big"}}, small{root, name{"small"}};
    hog.charge(1000);
    cancellation stop;
    std::thread t([&] { (void)!big.charge_for(900, {forever, stop}); });
    while (root.stats().waiting == 0) std::this_thread::yield();
    hog.refund(500);
    int passed = 0;
    while (passed != 300 && small.charge_for(1, 20_ms)) ++passed;
    std::printf("%d later requests passed\n", passed);
    stop.cancel();
    t.join();
    small.refund(small.used());
    hog.refund(500);
    return passed <= 16 ? 0 : 1;
}
