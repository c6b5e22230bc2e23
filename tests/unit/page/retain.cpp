// When an arena's free pages go back to the system: each answer of `retain`, by an injected clock.
#include <support/catch.hpp>

#include <allot/ledger/tree.hpp>
#include <allot/page/arena.hpp>
#include <allot/row_manager.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using namespace allot::literals;
using allot::limit;
using allot::page_bytes;

namespace {

struct test_clock {
    static inline std::uint64_t ms = 1000, reads = 0;
    static std::uint64_t now() noexcept {
        ++reads;
        return ms * 1'000'000;
    }
};
using idle = allot::retain::idle<10_s, test_clock>;
struct idle_set : allot::policies<idle> {};
struct never_set : allot::policies<allot::retain::never> {};
struct on_call_set : allot::policies<allot::retain::on_call> {};
struct on_pressure_set : allot::policies<> {};
struct real_clock_set : allot::policies<allot::retain::idle<1_ms>> {};

template <class Arena> std::vector<std::byte*> take(Arena& pages, int n) {
    std::vector<std::byte*> all;
    for (int i = 0; i < n; ++i) {
        all.push_back(pages.take());
        std::memset(all.back(), 1, pages.page_bytes());
    }
    return all;
}
template <class Arena> void give(Arena& pages, const std::vector<std::byte*>& all) {
    for (std::byte* p : all) pages.give(p, 1);
}
// A page request at a time.
template <class Arena> void request(Arena& pages, std::uint64_t after_ms) {
    test_clock::ms += after_ms;
    pages.give(pages.take(), 1);
}

} // namespace

TEST_CASE("never, and on call: when free pages go back", "[arena][retain]") {
    allot::arena<never_set> never{allot::page_bytes{64_KiB}};
    give(never, take(never, 3));
    CHECK(never.trim() == 0);
    CHECK(never.stats().committed == 3 * 64_KiB);
    allot::arena<on_call_set> on_call{allot::page_bytes{64_KiB}};
    give(on_call, take(on_call, 3));
    CHECK(on_call.trim() == 3 * 64_KiB);
    CHECK(on_call.stats().committed == 0);
    CHECK(on_call.stats().returned == 3 * 64_KiB);
}

TEST_CASE("idle pages go back at a page request, not before their time and not long after", "[arena][retain]") {
    allot::arena<idle_set> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{64_MiB}};
    auto all = take(pages, 8);
    std::byte* const held = pages.take();
    std::memset(held, 3, 64_KiB);
    test_clock::ms += 4900; // shortly before a walk, if walks came in half the time
    give(pages, all);
    const std::size_t full = pages.stats().committed;
    CHECK(full == 9 * 64_KiB);
    for (int s = 0; s < 9; ++s) { // less than the span: nothing goes
        request(pages, 1000);
        CHECK(pages.stats().returned == 0);
    }
    for (int s = 9; s < 21; ++s) request(pages, 1000); // the page that the requests used stays, the others have gone
    CHECK(pages.stats().returned >= 7 * 64_KiB);
    CHECK(pages.stats().committed <= 2 * 64_KiB);
    CHECK(pages.resident() <= 2 * 64_KiB);
    CHECK(held[64_KiB - 1] == std::byte{3});
    pages.give(held, 1);
    CHECK(pages.valid());
}

TEST_CASE("a page that is used again and again never goes", "[arena][retain]") {
    allot::arena<idle_set> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{64_MiB}};
    for (int i = 0; i < 50; ++i) request(pages, 9000);
    CHECK(pages.stats().returned == 0);
    test_clock::ms += 100'000;
    CHECK(pages.trim_idle() == 0); // it was used since the last look
    test_clock::ms += 10'000;
    CHECK(pages.trim_idle() == 64_KiB);
}

TEST_CASE("idle pages go back a few at a time, and all of them in the end", "[arena][retain]") {
    allot::arena<idle_set> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{256_MiB}};
    give(pages, take(pages, 3000));
    REQUIRE(pages.stats().committed == 3000 * 64_KiB);
    std::size_t steps = 0, most = 0;
    for (int walk = 0; walk < 4; ++walk, test_clock::ms += 10'000)
        for (int i = 0; i < 1000; ++i) {
            const std::size_t back = pages.trim_idle();
            most = std::max(most, back);
            steps += back != 0;
        }
    CHECK(most <= allot::detail::idle_pages::pages_per_step * 64_KiB);
    CHECK(steps >= 375);
    CHECK(pages.stats().committed == 0);
    CHECK(pages.resident() == 0);
    CHECK(pages.valid());
}

TEST_CASE("giving reads no clock and gives nothing back by itself", "[arena][retain]") {
    allot::arena<idle_set> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{64_MiB}};
    const auto all = take(pages, 20);
    test_clock::ms += 1'000'000;
    const auto reads = test_clock::reads;
    give(pages, all);
    CHECK(test_clock::reads == reads);
    CHECK(pages.stats().returned == 0);
}

TEST_CASE("rows of a manager never read the clock; its page requests do, and give back", "[row_manager][retain]") {
    struct set : allot::policies<idle, allot::oom::null> {};
    allot::row_manager<set> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> some, huge;
    for (int i = 0; i < 2000; ++i) some.push_back(rows.allocate(1000));
    for (int i = 0; i < 10; ++i) huge.push_back(rows.allocate(300'000));
    const auto reads = test_clock::reads;
    for (void* row : huge) rows.release(row); // whole runs go back to the arena
    for (void* row : some) rows.release(row);
    for (int i = 0; i < 100'000; ++i) rows.release(rows.allocate(1000));
    CHECK(test_clock::reads == reads);
    rows.release_empty_pages();
    const std::size_t before = rows.stats().committed;
    REQUIRE(before >= 5_MiB);
    for (int i = 0; i < 400; ++i) {
        test_clock::ms += 500;
        rows.release(rows.allocate(300'000)); // a page request each
    }
    CHECK(rows.stats().committed <= 1_MiB);
    CHECK(rows.arena().valid());
}

TEST_CASE("with the system's clock, too", "[arena][retain]") {
    allot::arena<real_clock_set> pages{allot::page_bytes{64_KiB}};
    give(pages, take(pages, 4));
    while (pages.stats().committed != 0) pages.trim_idle();
    CHECK(pages.stats().returned == 4 * 64_KiB);
}

TEST_CASE("an arena that looks for nothing carries nothing for it", "[arena][retain]") {
    STATIC_REQUIRE(sizeof(allot::arena<on_call_set>) == sizeof(allot::arena<on_pressure_set>));
    STATIC_REQUIRE(sizeof(allot::arena<on_pressure_set>) == sizeof(allot::page_arena));
    allot::arena<on_pressure_set> pages{allot::page_bytes{64_KiB}};
    give(pages, take(pages, 2));
    CHECK(pages.trim_idle() == 0);
}

TEST_CASE("page requests of one object return the memory of another that sits idle", "[retain]") {
    struct own : allot::policies<idle, allot::heap::per_thread> {};
    allot::row_manager<own> sits{limit{8_MiB}, page_bytes{64_KiB}}, requests{limit{8_MiB}, page_bytes{64_KiB}};
    std::vector<void*> rows;
    for (int i = 0; i < 20'000; ++i) rows.push_back(sits.allocate(64));
    void* const last = rows.back();
    rows.pop_back();
    for (void* const row : rows) sits.release(row);
    REQUIRE(sits.arena().stats().taken > 16 * 64_KiB); // pages that caches and heaps keep
    const auto span = [&] {
        test_clock::ms += 10'000;
        for (int i = 0; i < 10; ++i) requests.release(requests.allocate(100'000));
    };
    span();
    CHECK(sits.arena().resident() > 16 * 64_KiB);
    for (int i = 0; i < 4; ++i) span();
    CHECK(sits.arena().resident() <= 2 * 64_KiB);
    CHECK(sits.arena().stats().taken == 64_KiB); // of the row that is left
    sits.release(last);
    CHECK(sits.stats().live_rows == 0);
}

TEST_CASE("objects on one arena that sit idle return what they keep, others do not", "[retain]") {
    struct shares : allot::policies<allot::page::of<allot::arena<idle_set>>> {};
    allot::arena<idle_set> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{64_MiB}};
    allot::row_manager<shares> sits{pages}, works{pages};
    sits.release(sits.allocate(64));
    std::vector<void*> rows;
    for (int i = 0; i < 5; ++i) {
        rows.push_back(works.allocate(100'000));
        works.release(works.allocate(64));
        test_clock::ms += 10'000;
        (void)pages.trim_idle(); // begins a walk
        (void)pages.trim_idle();
        CHECK(works.stats().charged == rows.size() * 2 * 64_KiB + 64_KiB); // and the page of the small rows
    }
    CHECK(sits.stats().charged == 0);
    for (void* const row : rows) works.release(row);
}

TEST_CASE("a request in a listener returns nothing of others, and a quarantine is kept", "[retain]") {
    struct charged : allot::policies<idle, allot::ledger::tree> {};
    struct waits : allot::policies<idle, allot::guard::quarantine<100>> {};
    allot::account tree{allot::name{"tree"}};
    allot::row_manager<charged> sits{tree, limit{8_MiB}, page_bytes{64_KiB}};
    allot::row_manager<waits> kept{limit{8_MiB}, page_bytes{64_KiB}};
    allot::row_manager<idle_set> requests{limit{8_MiB}, page_bytes{64_KiB}};
    sits.release(sits.allocate(64));
    kept.release(kept.allocate(64));
    const auto spans = [&] {
        for (int s = 0; s < 5; ++s, test_clock::ms += 10'000)
            for (int i = 0; i < 10; ++i) requests.release(requests.allocate(100'000));
    };
    struct listens : allot::account_listener {
        explicit listens(void (*call)(void*), void* with) : call_(call), with_(with) {}
        void after(const allot::account&, std::size_t, const allot::charge_status&) noexcept override { call_(with_); }
        void (*call_)(void*);
        void* with_;
    } listener{[](void* to) { (*static_cast<decltype(spans)*>(to))(); },
               const_cast<void*>(static_cast<const void*>(&spans))};
    tree.add(listener);
    (void)tree.try_charge(1);
    CHECK(sits.stats().charged == 64_KiB);
    tree.remove(listener);
    spans();
    CHECK(sits.stats().charged == 0);
    CHECK(kept.stats().charged == 64_KiB);
    tree.refund(1);
}
