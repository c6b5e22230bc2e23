// Requests that wait for a level that accounts of two trees share: an arena, a pool's own limit, a device, the system.
#include <support/catch.hpp>
#include <support/death.hpp>
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sys/resource.h>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;
using allot::refuser;
using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

namespace {

using pages = allot::arena<>;
struct of_pages : allot::policies<allot::page::of<pages>, allot::ledger::tree, allot::oom::null> {};
struct of_pages_counted : allot::policies<allot::page::of<pages>, allot::oom::null> {};
struct private_pages : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct counted : allot::policies<allot::oom::null> {}; // a pool with its own limit
struct quiet_on_device : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
constexpr allot::page_bytes small{64_KiB};

double ms_between(steady::time_point a, steady::time_point b) {
    return std::chrono::duration<double, std::milli>(b - a).count();
}
constexpr double soon = 5; // ms
// Sleeps until requests that wait look by themselves only after some 80 ms. Returns: false: they may look sooner, since
// this thread was late.
bool until_looks_are_rare() {
    const auto begun = steady::now();
    std::this_thread::sleep_for(milliseconds{140}); // they look after 1, 3, 7, 15, 31, 63, 127, and 227 ms
    return steady::now() - begun < milliseconds{190};
}
// The time in ms that a request sleeps on after `then`: the least of some rounds, up to the first that is soon; a timer
// would look later. Very much: one was refused. `request` returns whether it was granted, and `undo` makes the state
// as before.
template <class Request, class Then, class Undo>
double least_ms_after(const account& waits_in, Request request, Then then, Undo undo) {
    double least = 1e9;
    for (int i = 0; i != 8 && least >= soon; ++i) {
        bool got = false;
        steady::time_point granted;
        std::thread waits{[&] {
            got = request();
            granted = steady::now();
        }};
        while (waits_in.stats().waiting == 0) std::this_thread::yield();
        const bool counts = until_looks_are_rare();
        const auto begun = steady::now();
        then();
        waits.join();
        if (!got) return 1e9;
        if (counts) least = std::min(least, ms_between(begun, granted));
        undo();
    }
    return least;
}

} // namespace

TEMPLATE_TEST_CASE("rows wait for pages of a shared arena that another tree gives", "[reclaim][waiting][levels]",
                   of_pages, of_pages_counted) {
    const support::rescue ends{"a row that waits for pages of another tree"};
    for (const bool at_limit : {true, false}) {
        account here{name{"here"}}, there{name{"there"}};
        std::optional<pages> shared;
        if (at_limit) shared.emplace(limit{4_MiB}, small);
        else shared.emplace(allot::reserve_bytes{4_MiB}, small);
        allot::row_manager<of_pages> mine{*shared, here};
        std::optional<allot::row_manager<TestType>> other;
        if constexpr (std::is_same_v<TestType, of_pages>) other.emplace(*shared, there);
        else other.emplace(*shared);
        void *row = nullptr, *held = nullptr;
        const auto fill = [&] { REQUIRE((held = other->try_allocate(3_MiB)) != nullptr); };
        const auto undo = [&] {
            mine.release(std::exchange(row, nullptr));
            mine.trim();
            fill();
        };
        fill();
        charge_status why;
        CHECK(mine.allocate_for(2_MiB, 1_ms, allot::untyped, &why) == nullptr);
        CHECK(why.by == refuser::arena);
        CHECK(why.outcome == (at_limit ? charge_outcome::over_limit : charge_outcome::no_address_space));
        const auto release = [&] { other->release(std::exchange(held, nullptr)); };
        const auto wait = [&] { return (row = mine.allocate_for(2_MiB, allot::forever)) != nullptr; };
        CHECK(least_ms_after(here, wait, release, undo) < soon);
        const auto wait_for = [&] { return (row = mine.allocate_for(2_MiB, 2_s)) != nullptr; };
        CHECK(least_ms_after(here, wait_for, release, undo) < soon);
        release();
    }
}

TEST_CASE("each tree that waits for an arena is woken, and each request of it that can be served",
          "[reclaim][waiting][levels]") {
    const support::rescue ends{"one of four rows that wait for pages of another tree"};
    account here{name{"here"}}, there{name{"there"}};
    pages shared{limit{4_MiB}, small};
    allot::row_manager<of_pages> a{shared, here}, b{shared, there};
    allot::row_manager<of_pages_counted> other{shared};
    double least = 1e9;
    for (int round = 0; round != 8 && least >= soon; ++round) {
        void* const held = other.try_allocate(3'900'000);
        REQUIRE(held != nullptr);
        std::vector<std::thread> waits;
        std::atomic<std::int64_t> last{0};
        std::vector<void*> rows(4);
        for (unsigned i = 0; i != 4; ++i)
            waits.emplace_back([&, i] {
                rows[i] = (i % 2 == 0 ? a : b).allocate_for(900'000, allot::forever);
                last = steady::now().time_since_epoch().count();
            });
        while (here.stats().waiting + there.stats().waiting != 4) std::this_thread::yield();
        const bool counts = until_looks_are_rare();
        const auto begun = steady::now();
        other.release(held);
        for (auto& t : waits) t.join();
        if (counts) least = std::min(least, ms_between(begun, steady::time_point{steady::duration{last}}));
        for (unsigned i = 0; i != 4; ++i) (i % 2 == 0 ? a : b).release(rows[i]);
        a.trim(), b.trim();
    }
    CHECK(least < soon);
}

TEST_CASE("a buffer waits for a pool's own limit, and another tree releases", "[reclaim][waiting][levels]") {
    const support::rescue ends{"a buffer that waits for one of another tree"};
    account here{name{"here"}}, there{name{"there"}};
    allot::chunk_arena<counted> pool{limit{4_MiB}, small, allot::chunk_bytes{256_KiB}};
    allot::buffer_memory memory{pool};
    allot::buffer held = memory.allocate(there, 3_MiB), got;
    charge_status why;
    CHECK_FALSE(memory.allocate_for(here, 2_MiB, 1_ms, &why));
    CHECK(why.by == refuser::limit);
    const auto wait = [&] { return bool(got = memory.allocate_for(here, 2_MiB, allot::forever)); };
    const auto undo = [&] {
        got.release();
        held = memory.allocate(there, 3_MiB);
    };
    CHECK(least_ms_after(here, wait, [&] { held.release(); }, undo) < soon);
    held.release();
    // Small ones, in caches of the pool: seen at a look of its own.
    std::vector<allot::buffer> all;
    while (allot::buffer b = memory.try_allocate(there, 5'000)) all.push_back(std::move(b));
    std::thread waits{[&] { static_cast<void>(wait()); }};
    while (here.stats().waiting == 0) std::this_thread::yield();
    all.clear();
    waits.join();
    CHECK(bool(got));
}

TEST_CASE("device memory waits for what an allocator of another tree frees", "[reclaim][waiting][levels][device]") {
    const support::rescue ends{"a device block that waits for ever"};
    allocator_machine m{{.total_bytes = 8_MiB, .poison = false}};
    account here{name{"here"}}, there{name{"there"}};
    allot::device_allocator<quiet_on_device> mine{m.api, here, unheard}, other{m.api, there, unheard};
    void *held = m.used(other, 6_MiB, m.b), *got = nullptr;
    charge_status why;
    CHECK(mine.allocate_for(4_MiB, m.a, 1_ms, 256, &why) == nullptr);
    CHECK(why.by == refuser::device);
    const auto wait = [&] { return (got = mine.allocate_for(4_MiB, m.a, allot::forever)) != nullptr; };
    const auto undo = [&] {
        mine.deallocate(got, m.a);
        mine.trim();
        held = m.used(other, 6_MiB, m.b);
    };
    CHECK(least_ms_after(here, wait, [&] { other.deallocate(held, m.b); }, undo) < soon);
    other.deallocate(held, m.b);
}

TEST_CASE("a row waits for memory that the system refuses, until another arena returns some or ends",
          "[reclaim][waiting][levels]") {
    if (ALLOT_ASAN || ALLOT_TSAN) SKIP("a sanitizer maps memory of its own");
    // The limit of the process is lifted when the other arena returns its pages, since a returned page counts for it.
    const auto in_child = [](bool ends) {
        const support::rescue late{"a row that waits for memory of the system"};
        rlimit before{};
        static_cast<void>(getrlimit(RLIMIT_DATA, &before));
        const auto set_limit = [&](rlim_t most) {
            const rlimit now{most, before.rlim_max};
            if (setrlimit(RLIMIT_DATA, &now) != 0) std::_Exit(2);
        };
        account here{name{"here"}}, there{name{"there"}};
        allot::row_manager<private_pages> mine{here, small};
        std::optional<allot::row_manager<private_pages>> other;
        void *row = nullptr, *held = nullptr;
        std::size_t bytes = 0;
        const auto wait = [&] {
            mine.release(mine.allocate(1000)); // glibc ends a process where a thread's first destructor finds no memory
            set_limit(1_MiB);                  // less than the process has
            charge_status why;
            bytes += 3_MiB; // pages that were never usable
            if (mine.allocate_for(bytes, 1_ms, allot::untyped, &why) != nullptr) return false;
            if (why.outcome != charge_outcome::no_memory) return false;
            return (row = mine.allocate_for(bytes, allot::forever)) != nullptr;
        };
        const auto then = [&] {
            other->release(held);
            set_limit(before.rlim_cur);
            if (ends) other.reset();
            else other->trim();
        };
        const auto fill = [&] {
            mine.release(std::exchange(row, nullptr));
            held = other.emplace(there, small).allocate(3_MiB);
        };
        fill();
        pages unused{limit{1_MiB}, small};
        unused.give(unused.take(4), 4);
        const double ms = least_ms_after(here, wait, then, fill);
        other->release(held);
        if (!(ms < soon) || unused.kept() != 0) std::_Exit(3); // other arenas are asked first
    };
    for (const bool ends : {false, true}) CHECK(death_of([&] { in_child(ends); }).survived());
}

TEST_CASE("a wait for a level ends at its deadline, by cancellation, and when its account is closed",
          "[reclaim][waiting][levels]") {
    const support::rescue ends{"a row that waits for pages of nobody"};
    account here{name{"here"}}, query{here, name{"query"}};
    pages shared{limit{1_MiB}, small};
    allot::row_manager<of_pages_counted> other{shared};
    allot::row_manager<of_pages> mine{shared, query, unheard};
    void* const held = other.try_allocate(700'000);
    charge_status why;
    const auto begun = steady::now();
    CHECK(mine.allocate_for(700'000, 50_ms, allot::untyped, &why) == nullptr);
    CHECK(steady::now() - begun >= milliseconds{50});
    CHECK(steady::now() - begun < milliseconds{200});
    CHECK(why.by == refuser::arena);
    std::optional<allot::cancellation> stop;
    const auto ends_by = [&](auto then) {
        stop.emplace();
        void* row = nullptr;
        std::thread waits{[&] { row = mine.allocate_for(700'000, {allot::forever, *stop}, allot::untyped, &why); }};
        while (here.stats().waiting == 0) std::this_thread::yield();
        then();
        waits.join();
        CHECK(row == nullptr);
        return why.outcome;
    };
    CHECK(mine.allocate_for(2_MiB, allot::forever, allot::untyped, &why) == nullptr); // can never be
    CHECK(why.by == refuser::arena);
    CHECK(ends_by([&] { stop->cancel(); }) == charge_outcome::cancelled);
    CHECK(ends_by([&] { query.close(); }) == charge_outcome::closed);
    other.release(held);
}

TEST_CASE("threads of two trees that want more of an arena than there is all finish",
          "[reclaim][waiting][levels][threads]") {
    const support::rescue ends{"a wake-up of another tree that was lost"};
    account here{name{"here"}}, there{name{"there"}};
    pages shared{limit{2_MiB}, small};
    allot::row_manager<of_pages> a{shared, here}, b{shared, there};
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != 4; ++t)
        threads.emplace_back([&, t] {
            unsigned random = t + 1;
            auto& rows = t % 2 == 0 ? a : b;
            for (int i = 0; i != 300; ++i) {
                random = random * 1664525 + 1013904223;
                void* const row = rows.allocate_for(100'000 + (random >> 10) % 900'000, allot::forever);
                failed += row == nullptr;
                rows.release(row);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(failed == 0);
    CHECK(a.live_rows() + b.live_rows() == 0);
    CHECK(shared.stats().peak_taken <= 2_MiB);
}

TEST_CASE("a child of fork knows nothing of requests that wait in its parent", "[reclaim][waiting][levels]") {
    if (ALLOT_TSAN) SKIP("no threads in a child");
    const support::rescue ends{"a request that waits in a parent"};
    account here{name{"here"}};
    pages shared{limit{4_MiB}, small};
    allot::row_manager<of_pages> rows{shared, here};
    const auto wait_and_serve = [&](account& by, auto& of, auto meanwhile) {
        void *const held = of.allocate(3_MiB), *got = nullptr;
        std::thread waits{[&] { got = of.allocate_for(2_MiB, allot::forever); }};
        while (by.stats().waiting == 0) std::this_thread::yield();
        meanwhile();
        of.release(held);
        waits.join();
        of.release(got);
        return got != nullptr;
    };
    CHECK(wait_and_serve(here, rows, [&] {
        const death end = death_of([&] {
            const support::rescue late{"a request that waits in a child"};
            account there{name{"there"}};
            pages own{limit{4_MiB}, small};
            allot::row_manager<of_pages> others{own, there};
            if (!wait_and_serve(there, others, [] {})) std::_Exit(1);
        });
        CHECK(end.survived());
    }));
}
