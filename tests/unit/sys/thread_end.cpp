// Calls at the end of a thread: after its thread_locals, the newest first, and those that a call asks for.
#include <support/catch.hpp>

#include <allot/sys/thread_end.hpp>

#include <string>
#include <thread>

namespace {

std::string calls;

struct last {
    ~last() { calls += 'l'; }
};
thread_local last of_thread;

constinit thread_local allot::sys::thread_end first, second, third;
void call_first() noexcept { calls += '1'; }
void call_third() noexcept { calls += '3'; }
void call_second() noexcept {
    calls += '2';
    CHECK(allot::sys::at_thread_end<&call_third>(third));
}

} // namespace

TEST_CASE("calls at the end of a thread run after its destructors, the newest first", "[sys]") {
    for (int i = 0; i != 2; ++i) {
        calls.clear();
        std::thread{[] {
            CHECK(allot::sys::at_thread_end<&call_first>(first));
            CHECK(allot::sys::at_thread_end<&call_second>(second));
            static_cast<void>(&of_thread);
        }}.join();
        CHECK(calls == "l213");
    }
}
