#include <support/catch.hpp>

#include <allot/sys/poison.hpp>
#include <allot/sys/thread.hpp>
#include <allot/sys/thread_end.hpp>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

TEST_CASE("threads that live at once have tokens of their own", "[sys]") {
    constexpr std::size_t n = 16;
    std::vector<std::uintptr_t> tokens(n);
    std::atomic<std::size_t> here{0};
    std::atomic<bool> steady{true};
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < n; ++t)
        all.emplace_back([&, t] {
            tokens[t] = allot::sys::thread_token();
            ++here;
            while (here != n) std::this_thread::yield(); // nobody ends before all have asked
            if (tokens[t] != allot::sys::thread_token()) steady = false;
        });
    for (auto& t : all) t.join();
    std::set<std::uintptr_t> distinct(tokens.begin(), tokens.end());
    distinct.insert(allot::sys::thread_token());
    CHECK(steady);
    CHECK(distinct.size() == n + 1);
    CHECK(distinct.count(0) == 0);
}

TEST_CASE("poison changes no bytes, and what is unpoisoned can be used", "[sys]") {
    alignas(8) char bytes[64];
    for (char& b : bytes) b = 'a';
    allot::sys::poison(bytes, sizeof bytes);
#if ALLOT_ASAN
    CHECK(__asan_address_is_poisoned(bytes + 10) == 1);
    CHECK(__asan_address_is_poisoned(bytes + 63) == 1);
#endif
    allot::sys::unpoison(bytes, sizeof bytes);
    for (const char b : bytes) CHECK(b == 'a');
}

namespace {

std::string calls;

struct last {
    ~last() { calls += 'l'; }
};
thread_local last of_thread;

void call_first(void* what) noexcept { calls += *static_cast<char*>(what); }
void call_second(void* what) noexcept {
    static char again = '3';
    calls += *static_cast<char*>(what);
    CHECK(allot::sys::at_thread_end<&call_first>(&again));
}

} // namespace

TEST_CASE("calls at the end of a thread run after its destructors, and may ask for others", "[sys]") {
    char replaced = '0', first = '1', second = '2';
    for (int i = 0; i != 2; ++i) {
        calls.clear();
        std::thread{[&] {
            CHECK(allot::sys::at_thread_end<&call_first>(&replaced));
            CHECK(allot::sys::at_thread_end<&call_first>(&first));
            CHECK(allot::sys::at_thread_end<&call_second>(&second));
            static_cast<void>(&of_thread);
        }}.join();
        CHECK(calls == "l123");
    }
}
