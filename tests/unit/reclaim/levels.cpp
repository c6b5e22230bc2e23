// Requests that wait for a level that accounts of two trees share: how such a wait ends, threads, fork. That each level
// wakes them: tests/model/levels.cpp.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/death.hpp>
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <thread>
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
constexpr allot::page_bytes small{64_KiB};

} // namespace

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
        std::atomic<long> thread{0};
        std::thread waits{[&] {
            thread = support::this_thread();
            got = of.allocate_for(2_MiB, allot::forever);
        }};
        while (by.stats().waiting == 0) std::this_thread::yield();
        support::until_asleep(thread); // a fork before may leave the child a lock that this thread holds
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
