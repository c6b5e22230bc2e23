#include <support/catch.hpp>

#include <allot/sys/map.hpp>
#include <allot/sys/poison.hpp>
#include <allot/sys/thread.hpp>
#include <allot/sys/thread_end.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
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
            tokens[t] = allot::detail::sys::thread_token();
            ++here;
            while (here != n) std::this_thread::yield(); // nobody ends before all have asked
            if (tokens[t] != allot::detail::sys::thread_token()) steady = false;
        });
    for (auto& t : all) t.join();
    std::set<std::uintptr_t> distinct(tokens.begin(), tokens.end());
    distinct.insert(allot::detail::sys::thread_token());
    CHECK(steady);
    CHECK(distinct.size() == n + 1);
    CHECK(distinct.count(0) == 0);
}

TEST_CASE("poison changes no bytes, and what is unpoisoned can be used", "[sys]") {
    alignas(8) char bytes[64];
    for (char& b : bytes) b = 'a';
    allot::detail::sys::poison(bytes, sizeof bytes);
#if ALLOT_ASAN
    CHECK(__asan_address_is_poisoned(bytes + 10) == 1);
    CHECK(__asan_address_is_poisoned(bytes + 63) == 1);
#endif
    allot::detail::sys::unpoison(bytes, sizeof bytes);
    for (const char b : bytes) CHECK(b == 'a');
}

TEST_CASE("hidden words are used by hidden_ref, and memory beside them is exact to the byte", "[sys]") {
    alignas(8) std::uint32_t words[4] = {1, 2, 3, 4}; // a row of three words, and one behind it
    allot::detail::sys::hide(words, sizeof words);
    allot::detail::sys::unpoison(words, 12, allot::detail::sys::unit_ends::own);
#if ALLOT_ASAN
    CHECK(__asan_region_is_poisoned(words, 12) == nullptr);
    CHECK(__asan_address_is_poisoned(words + 3) == 1);
#endif
    const allot::detail::sys::hidden_ref<std::uint32_t> word{words[3]};
    CHECK(word.fetch_add(1) == 4);
    CHECK(word.fetch_sub(2) == 5);
    CHECK((word.fetch_or(8) == 3 && word.fetch_and(9) == 11));
    std::uint32_t was = 9;
    while (!word.compare_exchange_weak(was, 7)) CHECK(was == 9);
    std::uint32_t read = 0;
    allot::detail::sys::read_hidden(&read, reinterpret_cast<std::byte*>(words + 3), 4);
    CHECK((read == 7 && word.load() == 7));
    word.store(6);
    allot::detail::sys::expose(words, sizeof words, allot::detail::sys::unit_ends::own);
    CHECK((words[0] == 1 && words[2] == 3 && words[3] == 6));
}

TEST_CASE("all of a run of pages can be used after it is exposed, however long it is", "[sys]") {
    const std::size_t bytes = allot::detail::sys::most_poisoned + (std::size_t{1} << 20), page = std::size_t{16} << 10;
    std::byte* const all = allot::detail::sys::reserve(bytes + 2 * page, page);
    REQUIRE(all != nullptr);
    std::byte* const run = all + page;
    allot::detail::sys::poison_pages(all, page);
    allot::detail::sys::poison_pages(run, bytes);
    allot::detail::sys::poison_pages(run + bytes - page, 2 * page);
    allot::detail::sys::expose_pages(run, bytes);
#if ALLOT_ASAN
    CHECK(__asan_region_is_poisoned(run, bytes) == nullptr);
    CHECK(__asan_address_is_poisoned(run - 1) == 1);
    CHECK(__asan_address_is_poisoned(run + bytes) == 1);
#endif
    allot::detail::sys::expose_pages(all, bytes + 2 * page);
    allot::detail::sys::unmap(all, bytes + 2 * page);
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
    CHECK_ON_THREAD(allot::detail::sys::at_thread_end<&call_first>(&again));
}

} // namespace

TEST_CASE("calls at the end of a thread run after its destructors, and may ask for others", "[sys]") {
    char replaced = '0', first = '1', second = '2';
    for (int i = 0; i != 2; ++i) {
        calls.clear();
        std::thread{[&] {
            CHECK_ON_THREAD(allot::detail::sys::at_thread_end<&call_first>(&replaced));
            CHECK_ON_THREAD(allot::detail::sys::at_thread_end<&call_first>(&first));
            CHECK_ON_THREAD(allot::detail::sys::at_thread_end<&call_second>(&second));
            static_cast<void>(&of_thread);
        }}.join();
        CHECK(calls == "l123");
    }
}
