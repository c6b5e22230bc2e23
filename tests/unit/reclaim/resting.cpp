// An object that had nothing idle when it was asked rests: it is asked again once it may have something, and then gives
// all that it has.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/buffers.hpp>
#include <allot/channel/channels.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct of_threads : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct of_all : allot::policies<allot::ledger::tree, allot::oom::null, allot::heap::shared> {};
struct quarantined : allot::policies<allot::ledger::tree, allot::oom::null, allot::guard::quarantine<64>> {};
struct delayed : allot::policies<allot::ledger::tree, allot::oom::null, allot::slots::delay_release> {};
struct in_spans : allot::policies<allot::ledger::tree, allot::oom::null, allot::size::in_spans> {};
struct borrowing : allot::policies<allot::ledger::tree, allot::oom::null, allot::page::of<allot::arena<>>> {};
struct plain : allot::policies<allot::oom::null> {};
struct pooled : allot::policies<allot::ledger::pool, allot::oom::null> {};
constexpr allot::page_bytes small{64_KiB};

// How often objects below were asked for idle memory.
std::size_t asked(const account& at) {
    std::size_t calls = 0;
    at.visit_reclaimers(
        [&](const allot::reclaimer& r) { calls += r.cost() == allot::reclaimer::idle ? r.calls() : 0; });
    return calls;
}
// A charge that all idle memory below could not serve.
struct shortage_of {
    explicit shortage_of(account& a) : all{a, name{"all"}} { all.charge(1_MiB); }
    ~shortage_of() { all.refund(1_MiB); }
    bool operator()() { return all.try_charge(all.root().limit() - 1).charged(); }
    account all;
};

// As rows: allocate(bytes), release(p).
template <class Blocks> struct as_rows {
    Blocks& of;
    void* allocate(std::size_t bytes) {
        if constexpr (requires { of.live_rows(); }) return of.try_allocate(bytes);
        else return of.try_allocate(bytes).address;
    }
    void release(void* p) {
        if constexpr (requires { of.live_rows(); }) of.release(p);
        else of.deallocate(p);
    }
};

} // namespace

TEMPLATE_TEST_CASE("an object that has nothing is asked once, and again once it may have something", "[reclaim][idle]",
                   allot::row_manager<of_threads>, allot::row_manager<of_all>, allot::row_manager<quarantined>,
                   allot::row_manager<delayed>, allot::row_manager<in_spans>, allot::chunk_arena<of_threads>,
                   allot::chunk_arena<of_all>, allot::chunk_arena<pooled>) {
    account engine{name{"engine"}, limit{64_MiB}};
    shortage_of request{engine};
    TestType of{engine, small};
    as_rows<TestType> rows{of};
    std::vector<void*> all;
    for (int i = 0; i != 200; ++i) all.push_back(rows.allocate(1000)); // a thread has a cache from its 32nd use on
    void* const large = rows.allocate(300'000);
    const auto rests = [&] { // after a pass or two that returned something
        for (int i = 0; i != 3; ++i) CHECK_FALSE(request());
        const std::size_t calls = asked(engine);
        for (int i = 0; i != 3; ++i) CHECK_FALSE(request());
        return asked(engine) == calls;
    };
    const auto has_nothing = [&] {
        const std::size_t before = engine.used(), trimmed = of.trim();
        return trimmed == 0 && engine.used() == before;
    };
    CHECK(rests());
    CHECK(has_nothing());
    std::size_t calls = asked(engine), used = engine.used();
    const auto gives = [&] { // it was asked, and returned memory
        CHECK_FALSE(request());
        const bool some = asked(engine) > calls && engine.used() < used;
        CHECK(rests());
        CHECK(has_nothing());
        calls = asked(engine), used = engine.used();
        return some;
    };
    rows.release(large);
    CHECK(gives());
    for (int i = 0; i != 150; ++i)
        rows.release(std::exchange(all[static_cast<std::size_t>(i)], nullptr)); // they go past the caches
    CHECK(gives());
    std::thread{[&] { // from another thread, without a cache
        for (void*& row : all)
            if (row != nullptr) rows.release(std::exchange(row, nullptr));
    }}
        .join();
    CHECK(gives());
    for (void*& row : all) row = rows.allocate(1000); // refills its caches
    used = engine.used();
    for (void* const row : std::exchange(all, {})) rows.release(row);
    CHECK(gives());
    void* const last = rows.allocate(100);
    used = engine.used();
    rows.release(last); // into a cache
    CHECK(gives());
}

TEST_CASE("an object over a borrowed arena rests, too, and a handle that is closed wakes it", "[reclaim][idle]") {
    account engine{name{"engine"}, limit{64_MiB}};
    shortage_of request{engine};
    allot::arena<> pages{small};
    allot::row_manager<borrowing> rows{engine, pages};
    std::size_t calls = 0;
    {
        auto mine = rows.local();
        void* const row = mine.allocate(1000);
        CHECK_FALSE(request());
        calls = asked(engine);
        CHECK_FALSE(request());
        CHECK(asked(engine) == calls);
        mine.release(row); // into the handle's cache: it is in use there
        CHECK_FALSE(request());
        CHECK(asked(engine) == calls);
    }
    CHECK_FALSE(request());
    CHECK(asked(engine) > calls);
    CHECK(rows.used() == 0);
}

TEST_CASE("an object that rests is in reports, and may leave while it does", "[reclaim][idle]") {
    account engine{name{"engine"}, limit{64_MiB}};
    shortage_of request{engine};
    auto first = std::make_unique<allot::row_manager<of_threads>>(engine, small);
    allot::row_manager<of_threads> second{engine, small};
    void *const one = first->allocate(100), *const other = second.allocate(100);
    for (int i = 0; i != 3; ++i) CHECK_FALSE(request());
    const auto objects = [&] {
        std::size_t n = 0;
        engine.visit_reclaimers([&](const allot::reclaimer&) { ++n; });
        return n;
    };
    CHECK(objects() == 2);
    CHECK(engine.reclaimable(allot::reclaimer::idle) == 0);
    first->release(one); // woken, and on no list yet
    CHECK(engine.reclaimable(allot::reclaimer::idle) == first->stats().idle);
    CHECK(objects() == 2);
    first.reset();
    CHECK(objects() == 1);
    CHECK_FALSE(request());
    second.release(other);
    CHECK_FALSE(request());
    CHECK(second.used() == 0);
}

TEST_CASE("books of a thread that ends are idle memory of an object that rests", "[reclaim][idle][books]") {
    account engine{name{"engine"}, limit{64_MiB}};
    shortage_of request{engine};
    std::vector<std::unique_ptr<allot::row_manager<of_threads>>> others; // until no more books are charged to nobody
    do others.push_back(std::make_unique<allot::row_manager<of_threads>>(engine, small));
    while (others.back()->used() == 0);
    allot::row_manager<of_threads> rows{engine, small};
    void* const stays = rows.allocate(100);
    std::atomic<int> step{0};
    std::thread other{[&] {
        for (std::size_t i = 0; i != 200; ++i) rows.release(rows.allocate(200 + i % 10 * 100)); // it has a cache
        step = 1;
        while (step != 2) std::this_thread::yield();
    }};
    while (step != 1) std::this_thread::yield();
    void* const more = rows.allocate(3000); // its heap pays for the cache
    for (int i = 0; i != 3; ++i) CHECK_FALSE(request());
    const std::size_t used = rows.used(), calls = asked(engine);
    CHECK_FALSE(request());
    CHECK(asked(engine) == calls);
    step = 2;
    other.join();
    CHECK(rows.used() == used);
    CHECK_FALSE(request());
    CHECK(rows.used() < used);
    rows.release(stays);
    rows.release(more);
}

TEST_CASE("global rows of channels rest at each account, and wake at all", "[reclaim][idle][channels]") {
    account engine{name{"engine"}, limit{64_MiB}};
    shortage_of request{engine};
    allot::channels<plain> all{engine, 3};
    std::vector<void*> rows;
    for (int i = 0; i != 100; ++i) rows.push_back(all.global().allocate(1000));
    for (int i = 0; i != 3; ++i) CHECK_FALSE(request());
    const std::size_t calls = asked(engine), used = engine.used();
    CHECK_FALSE(request());
    CHECK(asked(engine) == calls);
    for (void* const row : rows) all.global().release(row);
    CHECK_FALSE(request());
    CHECK(engine.used() < used);
    CHECK(all.global_part(0) == 0);
}

TEST_CASE("an object that rested is shut for a request that waits, until it ends", "[reclaim][idle][waiting]") {
    const support::rescue ends{"a request that waits for a row in a cache"};
    account engine{name{"engine"}, limit{2_MiB}};
    shortage_of request{engine};
    allot::row_manager<of_threads> rows{engine, small};
    std::array<void*, 8> all{};
    for (int i = 0; i != 100; ++i) rows.release(rows.allocate(1000)); // the thread has a cache
    for (void*& row : all) row = rows.allocate(1000);                 // in one page
    account leaf{engine, name{"leaf"}};
    const std::size_t rest = 1_MiB - rows.used();
    const auto rests = [&] {
        for (int i = 0; i != 3; ++i) CHECK_FALSE(request());
    };
    const auto cached = [&] { // of a row that is released
        for (int i = 0; i != 2; ++i) rows.release(rows.allocate(2000));
        std::size_t n = 0;
        rows.usage([&](const allot::heap_usage& u) { n += u.cached_rows; });
        return n != 0;
    };
    const auto waits = [&](auto then, const allot::wait_limit& most) {
        bool got = false;
        std::atomic<long> thread{0};
        std::thread waiter{[&] {
            thread = support::this_thread();
            got = leaf.charge_for(rest + 1, most).charged();
        }};
        while (engine.stats().waiting == 0) std::this_thread::yield();
        support::until_asleep(thread);
        then();
        waiter.join();
        if (got) leaf.refund(rest + 1);
        return got;
    };
    rests();
    CHECK(waits(
        [&] {
            for (int i = 0; i != 100; ++i) rows.release(rows.allocate(1000)); // refills a cache, and fills it
            for (void* const row : all) rows.release(row);
        },
        allot::forever));
    CHECK(rows.used() <= small.bytes);
    CHECK(cached());
    for (void*& row : all) row = rows.allocate(1000);
    allot::cancellation stop;
    CHECK_FALSE(waits(
        [&] {
            rests(); // while it is shut
            stop.cancel();
        },
        {allot::forever, stop}));
    CHECK(cached());
    for (void* const row : all) rows.release(row);
}

// Whatever objects do between two refused requests, the second one leaves nothing that they do not use.
TEST_CASE("no refused request leaves memory that an object does not use", "[reclaim][idle]") {
    account engine{name{"engine"}, limit{256_MiB}};
    shortage_of request{engine};
    std::mt19937 random{11};
    struct object {
        virtual ~object() = default;
        virtual void step(std::mt19937& random) = 0;
        virtual std::size_t left() = 0; // in bytes
        virtual void end() = 0;
    };
    const auto make = [&]<class Blocks>(std::in_place_type_t<Blocks>) -> std::unique_ptr<object> {
        struct its final : object {
            explicit its(account& a) : of{a, small} {}
            void step(std::mt19937& random) override {
                as_rows<Blocks> rows{of};
                for (auto n = random() % 40; n != 0; --n) {
                    const std::size_t bytes = random() % 50 == 0 ? random() % 400'000 : random() % 3000;
                    if (random() % 2 == 0) all.push_back(rows.allocate(bytes + 1));
                    else if (!all.empty())
                        std::swap(all[random() % all.size()], all.back()), rows.release(all.back()), all.pop_back();
                }
                if (random() % 8 == 0) end();
            }
            std::size_t left() override {
                const std::size_t used = of.used();
                return of.trim() + (used - of.used());
            }
            void end() override {
                for (void* const p : std::exchange(all, {})) as_rows<Blocks>{of}.release(p);
            }
            Blocks of;
            std::vector<void*> all;
        };
        return std::make_unique<its>(engine);
    };
    std::vector<std::unique_ptr<object>> all;
    for (int i = 0; i != 2; ++i) {
        all.push_back(make(std::in_place_type<allot::row_manager<of_threads>>));
        all.push_back(make(std::in_place_type<allot::row_manager<of_all>>));
        all.push_back(make(std::in_place_type<allot::row_manager<quarantined>>));
        all.push_back(make(std::in_place_type<allot::row_manager<delayed>>));
        all.push_back(make(std::in_place_type<allot::row_manager<in_spans>>));
        all.push_back(make(std::in_place_type<allot::chunk_arena<of_threads>>));
        all.push_back(make(std::in_place_type<allot::chunk_arena<of_all>>));
        all.push_back(make(std::in_place_type<allot::chunk_arena<pooled>>));
    }
    for (int i = 0; i != 600; ++i) {
        for (unsigned n = random() % 4; n != 0; --n) all[random() % all.size()]->step(random);
        CHECK_FALSE(request());
        for (const auto& each : all) CHECK(each->left() == 0);
    }
    for (const auto& each : all) each->end();
}
