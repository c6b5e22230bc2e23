// What: a reclaimer requests memory inside its call, and catches out_of_memory, as docs/reclaim.md allows ("request
// memory: it is served from what is free, or refused"). A fault {rolled_back, skip 1} of oom::injection is ordered.
// Expected: the request of the reclaimer is not hit, or is refused: "a rollback or split hits only requests that an
// arbiter may roll back" (injection.hpp), and those of a reclaimer never are. What happens: retry_out_of_memory is
// thrown inside reclaim(), which is noexcept: std::terminate, which cannot happen without injection. Today: falls short
// in every build.
#include <allot/oom/injection.hpp>
#include <allot/oom/retry.hpp>
#include <cstdio>
#include <exception>
#include <unistd.h>
namespace oom = allot::oom;
struct spiller : allot::reclaimer {
    allot::account& by;
    explicit spiller(allot::account& a) : reclaimer("spiller"), by(a) { by.add(*this); }
    ~spiller() { by.remove(*this); }
    bool reclaim(const allot::shortage&) noexcept override {
        try {
            by.charge(1); // a small buffer for its write, say
            by.refund(1);
        } catch (const allot::out_of_memory&) {
        }
        return false;
    }
};
int main() {
    std::set_terminate([] {
        std::puts("terminate: a verdict was thrown in a reclaimer");
        std::fflush(stdout);
        _exit(1);
    });
    oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{1000}, tasks};
    spiller s{engine};
    oom::injection faults{engine};
    oom::task q{tasks, "q"};
    oom::task_thread here{q};
    oom::retry_scope scope;
    engine.charge(900);
    faults.add({.fails = allot::charge_outcome::rolled_back, .skip = 1});
    try {
        engine.charge(200); // refused: the reclaimer is called
    } catch (const allot::verdict_error& e) {
        std::puts(e.what());
    }
    engine.refund(900);
}
