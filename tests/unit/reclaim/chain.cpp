// spill::chain: requests for rows, blocks and device memory that an account refuses call its reclaimers.
#include <support/catch.hpp>
#include <support/device_sets.hpp>

#include <allot/account/account.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct asks : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null> {};
struct asks_per_thread
    : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null, allot::heap::per_thread> {};
struct asks_nobody : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct asks_on_device : allot::policies<on_simulated, allot::ledger::tree, allot::spill::chain, allot::oom::null> {};

constexpr allot::page_bytes small{64_KiB};

struct called final : allot::reclaimer {
    called(account& at, std::function<bool(const allot::shortage&)> call, std::uint32_t cost = 1)
        : reclaimer("called", cost), at_{at}, does{std::move(call)} {
        at_.add(*this);
    }
    ~called() { at_.remove(*this); }
    bool reclaim(const allot::shortage& s) noexcept override { return does(s); }
    account& at_;
    std::function<bool(const allot::shortage&)> does;
};

// Every way to a row of 1,000 bytes.
template <class Rows, class Body> void each_way(Rows& rows, Body body) {
    SECTION("the manager") {
        body([&] { return rows.try_allocate(1000); }, [&](void* row) { rows.release(row); });
    }
    SECTION("a handle of a thread") {
        auto mine = rows.local();
        body([&] { return mine.try_allocate(1000); }, [&](void* row) { mine.release(row); });
    }
    SECTION("a heap") {
        auto heap = rows.heap(1000);
        body([&] { return heap.try_allocate(); }, [&](void* row) { heap.release(row); });
    }
    SECTION("a thread's handle of a heap") {
        auto heap = rows.heap(1000);
        auto mine = heap.local();
        body([&] { return mine.try_allocate(); }, [&](void* row) { mine.release(row); });
    }
}

} // namespace

TEMPLATE_TEST_CASE("rows that a reclaimer releases serve the request, and no slot is lost", "[reclaim][rows]", asks,
                   asks_per_thread) {
    account query{name{"query"}, limit{1_MiB}};
    allot::row_manager<TestType> rows{query, small};
    each_way(rows, [&](auto allocate, auto release) {
        std::vector<void*> cache, kept;
        const called gives{query, [&](const allot::shortage& s) {
                               CHECK(s.why.at == &query);
                               for (int i = 0; i != 40 && !cache.empty(); ++i) {
                                   release(cache.back());
                                   cache.pop_back();
                               }
                               return !cache.empty();
                           }};
        for (int i = 0; i != 700; ++i) { // about 1,040 fit
            void* const row = allocate();
            REQUIRE(row != nullptr);
            cache.push_back(row);
        }
        for (int i = 0; i != 700; ++i) {
            void* const row = allocate();
            REQUIRE(row != nullptr);
            kept.push_back(row);
        }
        CHECK(gives.calls() >= 4);
        CHECK(cache.size() <= 400);
        CHECK(cache.size() >= 200); // not more were asked for than needed, some batches aside
        CHECK(rows.live_rows() == cache.size() + kept.size());
        for (void* const row : kept) rows.release(row);
        for (void* const row : cache) rows.release(row);
        CHECK(rows.live_rows() == 0);
    });
    rows.trim();
    CHECK(query.used() == 0);
}

TEST_CASE("what others below the account release serves rows, blocks and charges", "[reclaim]") {
    account query{name{"query"}, limit{4_MiB}};
    allot::row_manager<asks> rows{query, name{"rows"}, small}, others{query, name{"others"}, small};
    allot::chunk_arena<asks> blocks{query, name{"blocks"}, small, allot::chunk_bytes{256_KiB}};
    account leaf{query, name{"leaf"}};
    std::vector<void*> cache;
    int each = 100;
    const called gives{query, [&](const allot::shortage&) {
                           const bool some = !cache.empty();
                           for (int i = 0; i != each && !cache.empty(); ++i) {
                               others.release(cache.back());
                               cache.pop_back();
                           }
                           return some;
                       }};
    const called dear{query, [](const allot::shortage&) { return false; }, 2};
    const auto fill = [&] {
        while (query.used() + 128_KiB <= 4_MiB) {
            void* const row = others.try_allocate(1000);
            REQUIRE(row != nullptr);
            cache.push_back(row);
        }
    };
    fill();
    const std::size_t before = cache.size();
    CHECK(leaf.try_charge(1_MiB));
    CHECK(cache.size() < before);
    CHECK(cache.size() > before / 2);
    leaf.refund(1_MiB);
    fill();
    each = 2000;
    const std::size_t calls = dear.calls();
    CHECK(leaf.try_charge(1_MiB)); // the pages of released rows are returned before another is called
    CHECK(dear.calls() == calls);
    leaf.refund(1_MiB);
    each = 100;
    fill();
    void* const huge = rows.try_allocate(1_MiB);
    CHECK(huge != nullptr);
    CHECK(gives.freed() >= 1_MiB);
    rows.release(huge);
    fill();
    const allot::block b = blocks.try_allocate(200'000);
    CHECK(b);
    blocks.deallocate(b.address);
    fill();
    const allot::block pages = blocks.try_allocate(1_MiB);
    CHECK(pages);
    blocks.deallocate(pages.address);
    CHECK(query.peak() <= 4_MiB);
    for (void* const row : cache) others.release(row);
}

TEST_CASE("a device allocator asks after its own memory, and waits for nobody with a lock", "[reclaim][device]") {
    allocator_machine m;
    account task{name{"task"}, limit{64_MiB}};
    allot::device_allocator<asks_on_device> gpu{m.api, task, unheard}, other{m.api, task, unheard};
    std::vector<void*> cache;
    const called gives{task, [&](const allot::shortage&) {
                           if (cache.empty()) return false;
                           other.deallocate(cache.back(), m.b);
                           cache.pop_back();
                           m.sim.run_all();
                           (void)gpu.stats(); // takes its locks
                           return true;
                       }};
    for (int i = 0; i != 6; ++i) cache.push_back(m.used(other, 8_MiB, m.b));
    void* const p = gpu.try_allocate(40_MiB, m.a);
    CHECK(p != nullptr);
    CHECK(gives.calls() == 3);
    gpu.deallocate(p, m.a);
    for (void* const each : cache) other.deallocate(each, m.b);
    CHECK(gpu.valid());
    CHECK(other.valid());
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("a set without spill::chain asks nobody, and a cap keeps dear ones", "[reclaim]") {
    account query{name{"query"}, limit{1_MiB}};
    account cached{query, name{"cached"}};
    REQUIRE(cached.try_charge(900'000));
    const called gives{cached,
                       [&](const allot::shortage& s) {
                           const std::size_t bytes = s.critical ? cached.used() : std::min(s.missing(), cached.used());
                           cached.refund(bytes);
                           return bytes != 0;
                       },
                       5};
    allot::row_manager<asks_nobody> quiet{query, small};
    CHECK(quiet.try_allocate(500'000) == nullptr);
    CHECK(gives.calls() == 0);
    allot::row_manager<asks> rows{query, small};
    allot::charge_status why;
    {
        const allot::cost_cap cheap{4};
        CHECK(rows.try_allocate(500'000, allot::untyped, &why) == nullptr);
        CHECK(why.outcome == allot::charge_outcome::over_limit);
        CHECK(why.at == &query);
        const allot::cost_cap inside{9}; // the lower one applies
        CHECK(allot::cost_cap::now() == 4);
        CHECK(!query.try_charge(500'000));
        CHECK(gives.calls() == 0);
    }
    CHECK(allot::cost_cap::now() == UINT32_MAX);
    void* const row = rows.try_allocate(500'000);
    CHECK(row != nullptr);
    CHECK(gives.calls() == 1);
    rows.release(row);
    cached.refund(cached.used());
}

TEST_CASE("a request in a call is served from what is free, and its refusal is not the request's", "[reclaim]") {
    account query{name{"query"}, limit{1_MiB}};
    allot::row_manager<asks> rows{query, small};
    allot::row_manager<asks_nobody> elsewhere{limit{0}};
    void* inner = nullptr;
    const called uses{query, [&](const allot::shortage&) {
                          if (inner == nullptr) inner = rows.try_allocate(1000);
                          CHECK(elsewhere.try_allocate(8) == nullptr);
                          return false;
                      }};
    std::vector<void*> all;
    while (void* const row = rows.try_allocate(1000)) all.push_back(row);
    allot::charge_status why;
    CHECK(rows.try_allocate(100'000, allot::untyped, &why) == nullptr);
    CHECK(why.at == &query);
    CHECK(inner == nullptr); // nothing was free
    rows.release(all.back());
    all.pop_back();
    CHECK(rows.try_allocate(100'000) == nullptr);
    CHECK(inner != nullptr);
    rows.release(inner);
    for (void* const row : all) rows.release(row);
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("a full arena asks the reclaimers of the tree that requests", "[reclaim]") {
    struct on_arena
        : allot::policies<allot::page::of<allot::arena<>>, allot::ledger::tree, allot::spill::chain, allot::oom::null> {
    };
    struct pool_on_arena : allot::policies<allot::page::of<allot::arena<>>, allot::ledger::none, allot::oom::null> {};
    allot::arena<> pages{limit{2_MiB}, small};
    account engine{name{"engine"}};
    allot::row_manager<on_arena> rows{pages, engine, name{"rows"}}, cached{pages, engine, name{"cached"}};
    allot::chunk_arena<pool_on_arena> pool{pages, allot::chunk_bytes{64_KiB}};
    allot::buffer_memory buffers{pool};
    std::vector<void*> cache;
    const called gives{engine, [&](const allot::shortage& s) {
                           CHECK(s.why.by == allot::refuser::arena);
                           for (int i = 0; i != 300 && !cache.empty(); ++i) {
                               cached.release(cache.back());
                               cache.pop_back();
                           }
                           return !cache.empty();
                       }};
    const auto fill = [&] {
        cache.reserve(3000);
        for (const allot::cost_cap none{0};;) {
            void* const row = cached.try_allocate(1000);
            if (row == nullptr) break;
            cache.push_back(row);
        }
    };
    fill();
    CHECK(gives.calls() == 0);
    void* const row = rows.try_allocate(400'000);
    CHECK(row != nullptr);
    CHECK(gives.calls() != 0);
    rows.release(row);
    fill();
    const std::size_t calls = gives.calls();
    allot::buffer got = buffers.try_allocate(engine, 300'000);
    CHECK(got.size() == 300'000);
    CHECK(gives.calls() > calls);
    got.release();
    account other{name{"another tree"}};
    fill();
    CHECK_FALSE(buffers.try_allocate(other, 300'000)); // it has nothing to give
    CHECK(cache.size() > 1000);
    for (void* const each : cache) cached.release(each);
}

TEST_CASE("a request asks again for memory that became idle behind its pass", "[reclaim][idle]") {
    account query{name{"query"}, limit{100}};
    std::size_t used = 60, idle = 0; // of one object, which is asked first
    REQUIRE(query.try_charge(60));
    const auto give = [&](const allot::shortage&) {
        const std::size_t some = std::exchange(idle, 0);
        if (some != 0) query.refund(some);
        return some != 0;
    };
    const auto releases = [&](const allot::shortage&) { // meanwhile, on another thread
        idle += std::exchange(used, 0);
        query.notify_unused();
        return false;
    };
    for (const bool turned : {false, true}) { // whichever of the two is asked first
        used = 60, idle = 0;
        std::optional<called> one, other;
        one.emplace(query, turned ? std::function<bool(const allot::shortage&)>{releases} : give,
                    allot::reclaimer::idle);
        other.emplace(query, turned ? std::function<bool(const allot::shortage&)>{give} : releases,
                      allot::reclaimer::idle);
        CHECK(query.try_charge(100));
        CHECK(idle == 0);
        query.refund(query.used());
        REQUIRE(query.try_charge(60));
    }
    query.refund(60);
}
