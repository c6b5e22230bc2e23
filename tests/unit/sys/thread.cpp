#include <support/catch.hpp>

#include <allot/sys/poison.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <set>
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
