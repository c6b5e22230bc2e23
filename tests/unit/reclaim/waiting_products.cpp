// Requests for rows, blocks, buffers and device memory that wait for memory.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/fit/runs.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;

namespace {

struct quiet : allot::policies<allot::ledger::tree, allot::oom::null> {}; // with caches of threads
struct quiet_shared : allot::policies<allot::ledger::tree, allot::oom::null, allot::heap::shared> {};
struct quiet_quarantine : allot::policies<allot::ledger::tree, allot::oom::null, allot::guard::quarantine<64>> {};
struct quiet_shared_blocks : allot::policies<allot::ledger::tree, allot::oom::null, allot::heap::shared> {};
struct quiet_on_device : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
constexpr allot::page_bytes small{64_KiB};

// What another thread does once the request sleeps.
template <class Request, class Then> auto meanwhile(const account& refuses, Request request, Then then) {
    decltype(request()) got{};
    std::atomic<long> thread{0};
    std::thread waits{[&] { thread = support::this_thread(), got = request(); }};
    while (refuses.stats().waiting == 0) std::this_thread::yield();
    support::until_asleep(thread);
    then();
    waits.join();
    return got;
}

} // namespace

TEMPLATE_TEST_CASE("rows wait for rows that are released, and for pages of others", "[reclaim][waiting]", quiet,
                   quiet_shared) {
    const support::rescue ends{"a row that waits for ever"};
    account query{name{"query"}, limit{1_MiB}};
    allot::row_manager<TestType> rows{query, small}, others{query, small};
    std::vector<void*> all;
    const auto fill = [&](auto& from) {
        while (void* const row = from.try_allocate(1000)) all.push_back(row);
    };
    const auto release = [&](auto& from, std::size_t n) {
        for (; n != 0 && !all.empty(); --n, all.pop_back()) from.release(all.back());
    };
    fill(others);
    void* row =
        meanwhile(query, [&] { return rows.allocate_for(1000, allot::forever); }, [&] { release(others, all.size()); });
    CHECK(row != nullptr); // a page that became empty
    rows.release(row);
    fill(rows);
    row = meanwhile(
        query, [&] { return rows.allocate_for(1000, allot::forever); },
        [&] { // slots, and no page becomes empty
            for (std::size_t i = 0; i + 1 < all.size(); i += 2) rows.release(std::exchange(all[i], nullptr));
        });
    CHECK(row != nullptr);
    rows.release(row);
    fill(rows);
    row = meanwhile(
        query,
        [&] {
            auto mine = rows.local();
            return mine.allocate_for(1000, allot::forever);
        },
        [&] { release(rows, 200); });
    CHECK(row != nullptr);
    rows.release(row);
    fill(rows);
    auto heap = rows.heap(1000);
    row = meanwhile(query, [&] { return heap.allocate_for(allot::forever); }, [&] { release(rows, all.size()); });
    CHECK(row != nullptr);
    rows.release(row);
    fill(rows);
    row = meanwhile(query, [&] { return rows.allocate_for(200'000, allot::forever); }, [&] { query.set_limit(2_MiB); });
    CHECK(row != nullptr);
    rows.release(row);
    charge_status why;
    CHECK(rows.allocate_for(3_MiB, allot::forever, allot::untyped, &why) == nullptr); // can never be
    CHECK(why.at == &query);
    release(rows, all.size());
    fill(rows);
    CHECK(rows.allocate_for(100'000, 1_ms, allot::untyped, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::over_limit);
    allot::cancellation stop;
    stop.cancel();
    CHECK(rows.allocate_for(100'000, {allot::forever, stop}, allot::untyped, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::cancelled);
    release(rows, all.size());
    CHECK(rows.live_rows() + others.live_rows() == 0);
}

TEMPLATE_TEST_CASE("one row that is released serves the request that waits", "[reclaim][waiting]", quiet, quiet_shared,
                   quiet_quarantine) {
    const support::rescue ends{"a row that waits for one that was released"};
    account query{name{"query"}, limit{1_MiB}};
    allot::row_manager<TestType> rows{query, small};
    std::vector<void*> all;
    for (int round = 0; round != 3; ++round) { // the caches are used again after a wait
        while (void* const row = rows.try_allocate(1000)) all.push_back(row);
        void* const row = meanwhile(
            query, [&] { return rows.allocate_for(1000, allot::forever); }, [&] { rows.release(all.back()); });
        CHECK(row == all.back());
        for (; !all.empty(); all.pop_back()) rows.release(all.back());
    }
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEMPLATE_TEST_CASE("heaps and threads that are new have no cached rows while a request waits, and have them behind it",
                   "[reclaim][waiting]", quiet, quiet_shared, quiet_quarantine) {
    const support::rescue ends{"a row that waits for one that was released"};
    account query{name{"query"}, limit{1_MiB + 256_KiB}};
    allot::row_manager<TestType> rows{query, small};
    const auto use = [&] {
        std::vector<void*> some;
        for (int i = 0; i != 100; ++i) some.push_back(rows.try_allocate(24));
        for (void* const one : some) rows.release(one);
    };
    const auto cached = [&] {
        std::size_t n = 0;
        rows.usage([&](const allot::heap_usage& u) { n += u.cached_rows; });
        return n;
    };
    const auto use_uncached = [&] {
        use();
        while (cached() != 0) std::this_thread::yield(); // the request that waits may be taking some
    };
    use();
    CHECK(cached() != 0);
    void* const most = rows.try_allocate(1'000'000);
    REQUIRE(most != nullptr);
    void* const row = meanwhile(
        query, [&] { return rows.allocate_for(1'000'000, allot::forever); },
        [&] {
            use_uncached();
            std::thread{use_uncached}.join();
            rows.release(most);
        });
    CHECK(row != nullptr);
    use();
    CHECK(cached() != 0);
    rows.release(row);
}

TEMPLATE_TEST_CASE("the last row of another manager that is released frees its page for the request that waits",
                   "[reclaim][waiting]", quiet, quiet_shared, quiet_quarantine) {
    const support::rescue ends{"a request that waits for the page of a row in a cache"};
    account query{name{"query"}, limit{1_MiB}};
    allot::row_manager<TestType> others{query, small};
    std::vector<void*> all;
    for (int i = 0; i != 40; ++i) all.push_back(others.try_allocate(1000)); // in one page
    const auto release = [&] {
        for (; !all.empty(); all.pop_back()) others.release(all.back());
    };
    const charge_status s = meanwhile(
        query, [&] { return query.charge_for(1_MiB, allot::forever); },
        [&] {
            {
                auto mine = others.local(); // its rows are released together, in another way
                for (int i = 0; i != 20; ++i, all.pop_back()) mine.release(all.back());
            }
            for (; !all.empty(); all.pop_back()) {
                while (query.stats().waiting == 0) std::this_thread::yield(); // it has looked
                others.release(all.back());
            }
        });
    CHECK(s.fitted());
    query.refund(1_MiB);
    for (int i = 0; i != 40; ++i) all.push_back(others.try_allocate(1000));
    allot::chunk_arena<quiet> blocks{query, small, allot::chunk_bytes{256_KiB}};
    const allot::block b = meanwhile(query, [&] { return blocks.allocate_for(1_MiB, allot::forever); }, release);
    CHECK(b);
    blocks.deallocate(b.address);
    blocks.trim();
    // A manager that is made while a request waits.
    REQUIRE(query.try_charge(900'000));
    std::optional<allot::row_manager<TestType>> made;
    const charge_status late = meanwhile(
        query, [&] { return query.charge_for(1_MiB, allot::forever); },
        [&] {
            made.emplace(query, small);
            void* const row = made->try_allocate(1000);
            CHECK(row != nullptr);
            query.refund(900'000);
            made->release(row);
        });
    CHECK(late.fitted());
    query.refund(1_MiB);
}

TEMPLATE_TEST_CASE("a request that waits at its own limit leaves the caches of others alone", "[reclaim][waiting]",
                   quiet, quiet_shared) {
    const support::rescue ends{"a request that waits for ever"};
    account engine{name{"engine"}, limit{64_MiB}}, query{engine, name{"query"}, limit{1_MiB}},
        beside{engine, name{"beside"}};
    allot::row_manager<TestType> rows{beside, small};
    allot::chunk_arena<TestType> blocks{beside, small, allot::chunk_bytes{256_KiB}};
    const auto cached_after_use = [&] {
        std::vector<void*> some;
        for (int i = 0; i != 100; ++i) some.push_back(rows.try_allocate(24));
        for (void* const one : some) rows.release(one);
        std::size_t n = 0;
        rows.usage([&](const allot::heap_usage& u) { n += u.cached_rows; });
        blocks.deallocate(blocks.try_allocate(5'000).address);
        return n != 0 && blocks.stats().cached != 0;
    };
    REQUIRE(query.try_charge(1_MiB));
    charge_status s = meanwhile(
        query, [&] { return query.charge_for(1_MiB, allot::forever); },
        [&] {
            CHECK(cached_after_use());
            query.refund(1_MiB);
        });
    CHECK(s.fitted());
    // Bytes of it are charged elsewhere, so the engine's limit refuses.
    void* const last = rows.try_allocate(1000);
    rows.trim(), blocks.trim();
    const std::size_t more = 63_MiB - beside.used();
    REQUIRE(beside.try_charge(more));
    s = meanwhile(
        query, [&] { return query.charge_for(64_KiB, allot::forever); },
        [&] {
            CHECK(account::transfer(query, beside, 64_KiB).charged());
            while (engine.stats().refused == 0 || query.stats().waiting == 0) std::this_thread::yield();
            rows.release(last); // the last one in its page
        });
    CHECK(s.fitted());
    query.refund(query.used()), beside.refund(more + 64_KiB);
    CHECK(cached_after_use());
}

TEMPLATE_TEST_CASE("one block that is deallocated or shrinks serves the request that waits", "[reclaim][waiting]",
                   quiet, quiet_shared_blocks) {
    const support::rescue ends{"a block that waits for one that was deallocated"};
    account query{name{"query"}, limit{1_MiB}};
    allot::chunk_arena<TestType> blocks{query, small, allot::chunk_bytes{256_KiB}};
    std::vector<allot::block> all;
    for (int round = 0; round != 3; ++round) {
        while (const allot::block b = blocks.try_allocate(5'000)) all.push_back(b);
        allot::block b = meanwhile(
            query, [&] { return blocks.allocate_for(5'000, allot::forever); },
            [&] { blocks.deallocate(all.back().address); });
        CHECK(b.address == all.back().address);
        all.back() = b;
        if (round == 2) {
            while (const allot::block more = blocks.try_allocate(64)) all.push_back(more);
            b = meanwhile(
                query, [&] { return blocks.allocate_for(64, allot::forever); },
                [&] { CHECK(blocks.resize(all.front().address, 2'000)); });
            CHECK(b);
            all.push_back(b);
        }
        for (; !all.empty(); all.pop_back()) blocks.deallocate(all.back().address);
    }
    CHECK(blocks.stats().live == 0);
    CHECK(blocks.valid());
}

TEST_CASE("blocks and buffers wait for those that are deallocated", "[reclaim][waiting]") {
    const support::rescue ends{"a block that waits for ever"};
    account query{name{"query"}, limit{4_MiB}};
    allot::chunk_arena<quiet> blocks{query, small, allot::chunk_bytes{256_KiB}};
    std::vector<allot::block> all;
    const auto fill = [&](std::size_t bytes) {
        while (const allot::block b = blocks.try_allocate(bytes)) all.push_back(b);
    };
    const auto release = [&] {
        for (; !all.empty(); all.pop_back()) blocks.deallocate(all.back().address);
    };
    for (const std::size_t bytes : {std::size_t{5'000}, std::size_t{700'000}}) {
        fill(bytes);
        const allot::block b = meanwhile(query, [&] { return blocks.allocate_for(bytes, allot::forever); }, release);
        CHECK(b);
        blocks.deallocate(b.address);
    }
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    account task{name{"task"}, limit{1_MiB}};
    allot::buffer held = memory.allocate(task, 600'000);
    const allot::buffer got =
        meanwhile(task, [&] { return memory.allocate_for(task, 700'000, allot::forever); }, [&] { held.release(); });
    CHECK(got.size() == 700'000);
    CHECK(task.peak() <= 1_MiB);
    charge_status why;
    CHECK_FALSE(memory.allocate_for(task, 900'000, 0_ms, &why));
    CHECK(why.at == &task);
    CHECK(memory.allocate_for(task, 0, 0_ms, &why).size() == 0);
    CHECK(why.fitted());
}

TEST_CASE("a buffer whose memory is charged in its own tree sleeps until there is room for both",
          "[reclaim][waiting]") {
    const support::rescue ends{"a buffer that waits for ever"};
    account engine{name{"engine"}, limit{8_MiB}}, query{engine, name{"query"}}, beside{engine, name{"beside"}};
    allot::row_manager<quiet> rows{engine, small};
    allot::buffer_memory memory{rows};
    charge_status why;
    CHECK_FALSE(memory.allocate_for(query, 5_MiB, allot::forever, &why)); // 10 MiB
    CHECK(why.outcome == charge_outcome::over_limit);
    REQUIRE(beside.try_charge(3_MiB));
    const std::uint64_t before = engine.stats().refused;
    const allot::buffer got = meanwhile(
        engine, [&] { return memory.allocate_for(query, 3_MiB, allot::forever); },
        [&] {
            CHECK(engine.stats().refused == before + 2);
            beside.refund(1'000'000); // too little
            CHECK(engine.stats().refused == before + 2);
            beside.refund(3_MiB - 1'000'000);
        });
    CHECK(got.size() == 3_MiB);
}

TEST_CASE("a buffer sleeps while an account refuses its memory that is not above the buffer's", "[reclaim][waiting]") {
    const support::rescue ends{"a buffer that waits for memory of another account"};
    account engine{name{"engine"}}, pool{engine, name{"pool"}, limit{1_MiB}}, query{engine, name{"query"}};
    allot::row_manager<quiet> rows{pool, small};
    allot::buffer_memory memory{rows};
    account full{pool, name{"full"}};
    for (const std::size_t bytes : {std::size_t{600}, std::size_t{100'000}}) {
        REQUIRE(full.try_charge(pool.headroom()));
        std::uint64_t before = 0;
        const auto got = meanwhile(
            pool, [&] { return memory.allocate_for(query, bytes, allot::forever); },
            [&] {
                before = pool.stats().refused;
                std::this_thread::sleep_for(std::chrono::milliseconds{5});
                CHECK(pool.stats().refused == before);
                full.refund(full.used());
            });
        CHECK(got.size() == bytes);
    }
}

TEST_CASE("small buffers whose memory is charged in their own tree sleep until there is room", "[reclaim][waiting]") {
    const support::rescue ends{"small buffers that wait for ever"};
    account engine{name{"engine"}, limit{1_MiB}}, beside{engine, name{"beside"}};
    allot::row_manager<quiet> rows{engine, small};
    allot::buffer_memory memory{rows};
    REQUIRE(beside.try_charge(1_MiB - 64_KiB - 100)); // room for a page, not for a buffer in it
    const auto wait = [&] { return memory.allocate_for(engine, 4000, allot::forever); };
    allot::buffer a, b;
    std::thread first{[&] { a = wait(); }}, second{[&] { b = wait(); }};
    while (engine.stats().waiting != 2) std::this_thread::yield();
    const std::uint64_t before = engine.stats().refused;
    const auto sleeps = std::chrono::milliseconds{20};
    std::this_thread::sleep_for(sleeps);
    CHECK(engine.stats().refused - before <= 4); // of tries that had begun
    beside.refund(100'000);
    first.join();
    second.join();
    CHECK(a.size() == 4000);
    CHECK(b.size() == 4000);
    beside.refund(beside.used());
}

TEST_CASE("a buffer sleeps until a pool has a page for it, whatever its account's limit and floor are",
          "[reclaim][waiting]") {
    const support::rescue ends{"a buffer that waits for a page of a pool"};
    struct pooled : allot::policies<allot::ledger::pool> {};
    for (const bool has_floor : {false, true}) {
        account engine{name{"engine"}, limit{8_MiB}}, other{engine, name{"other"}};
        account query{engine, name{"query"}, limit{has_floor ? 8_MiB : 256_KiB}}; // less than a page
        allot::chunk_arena<pooled> pool{engine, allot::page_bytes{1_MiB}};
        allot::buffer_memory memory{pool};
        allot::account_reservation floor;
        if (has_floor) floor = query.reserve_floor_for(1_MiB, 0_ms);
        REQUIRE(other.try_charge(engine.limit() - engine.used()));
        charge_status why;
        const allot::buffer b = meanwhile(
            engine, [&] { return memory.allocate_for(query, 3000, allot::forever, &why); },
            [&] { other.refund(2_MiB); });
        CHECK(why.fitted());
        CHECK(query.used() == b.capacity());
        other.refund(other.used());
    }
}

TEST_CASE("a buffer sleeps at the level that refuses what its account's promise does not pay", "[reclaim][waiting]") {
    const support::rescue ends{"a buffer that waits for a page of a pool beside its promise"};
    struct pooled : allot::policies<allot::ledger::pool, allot::fit::runs> {};
    account engine{name{"engine"}, limit{8_MiB}}, filler{engine, name{"filler"}};
    account query{engine, name{"query"}, limit{1536_KiB}}, op{query, name{"op"}};
    allot::chunk_arena<pooled> pool{query, allot::page_bytes{512_KiB}};
    allot::buffer_memory memory{pool};
    const allot::buffer live = memory.allocate(query, 192_KiB);
    const allot::account_reservation sure = op.reserve_for(384_KiB, 0_ms);
    REQUIRE(sure);
    REQUIRE(filler.try_charge(filler.headroom())); // the query has room beside the promise, the engine has none
    charge_status why;
    const allot::buffer b = meanwhile(
        engine, [&] { return memory.allocate_for(op, 900_KiB, allot::forever, &why); },
        [&] { filler.refund(filler.used()); }); // the query has no room without the promise
    CHECK(why.fitted());
}

TEST_CASE("a buffer that waits for its memory ends when its account or that of the memory is closed",
          "[reclaim][waiting]") {
    const support::rescue ends{"a buffer that waits for a closed account"};
    account engine{name{"engine"}, limit{1_MiB}}, above{engine, name{"above"}}, full{engine, name{"full"}};
    allot::row_manager<quiet> rows{above, small, name{"rows"}, unheard};
    allot::buffer_memory memory{rows};
    REQUIRE(full.try_charge(1_MiB));
    charge_status why;
    const auto ends_by = [&](account& query, auto then) {
        CHECK_FALSE(meanwhile(engine, [&] { return memory.allocate_for(query, 4000, allot::forever, &why); }, then));
        return std::string_view{why.name};
    };
    account query{engine, name{"query"}}, elsewhere{name{"elsewhere"}}, other{engine, name{"other"}};
    CHECK(ends_by(query, [&] { query.close(); }) == "query");
    CHECK(why.outcome == charge_outcome::closed);
    CHECK(ends_by(elsewhere, [&] { elsewhere.close(); }) == "elsewhere"); // another tree
    CHECK(why.outcome == charge_outcome::closed);
    CHECK(ends_by(other, [&] { above.set_limit(1000); }) == "above"); // not above the buffer
    CHECK(why.outcome == charge_outcome::over_limit);
    above.set_limit(2_MiB);
    CHECK(ends_by(other, [&] { above.close(); }) == "above");
    CHECK(why.outcome == charge_outcome::closed);
    full.refund(1_MiB);
}

TEST_CASE("a buffer waits for a source that does not say why it has no block", "[reclaim][waiting]") {
    const support::rescue ends{"a buffer that waits for ever"};
    struct source_of_user {
        std::atomic<bool> is_empty{true};
        allot::heap_memory heap;
        void* try_allocate(std::size_t n, std::size_t align) noexcept {
            return is_empty ? nullptr : heap.try_allocate(n, align).address;
        }
        void deallocate(void* p) noexcept { heap.deallocate(p); }
    } source;
    account query{name{"query"}, limit{1_MiB}};
    allot::buffer_memory memory{source};
    charge_status why;
    CHECK_FALSE(memory.try_allocate(query, 1000, &why));
    CHECK(why.by == allot::refuser::system);
    char text[64];
    allot::text_writer out{text};
    write(out, why);
    CHECK(out.view() == "no memory: the system");
    CHECK_FALSE(memory.allocate_for(query, 1000, 5_ms, &why));
    CHECK(why.outcome == charge_outcome::no_memory);
    const auto request = [&] { return memory.allocate_for(query, 1000, allot::forever); };
    const allot::buffer got = meanwhile(query, request, [&] { source.is_empty = false; });
    CHECK(got.size() == 1000);

    struct freed : allot::reclaimer {
        source_of_user& of;
        std::size_t missing = 0;
        explicit freed(source_of_user& s) : reclaimer("freed"), of(s) {}
        bool reclaim(const allot::shortage& s) noexcept override {
            missing = s.missing();
            of.is_empty = false;
            return true;
        }
    } cache{source};
    query.add(cache);
    source.is_empty = true;
    CHECK(memory.try_allocate(query, 1000));
    CHECK(cache.missing == 1000);
    query.remove(cache);
    // More than any process has is refused at once.
    if (ALLOT_ASAN || ALLOT_TSAN) return; // whose operator new ends the process there
    account all{name{"all"}};
    allot::heap_memory heap;
    CHECK_FALSE(allot::buffer_memory{heap}.allocate_for(all, std::size_t{1} << 60, allot::forever, &why));
    CHECK(why.outcome == charge_outcome::no_memory);
}

TEST_CASE("a reclaimer that is added, or that has more to free, serves a request that waits", "[reclaim][waiting]") {
    const support::rescue ends{"a request that no reclaimer serves"};
    struct cache : allot::reclaimer {
        explicit cache(account& a) : reclaimer("cache", 2), of(a) {}
        bool reclaim(const allot::shortage&) noexcept override {
            const std::size_t n = has.exchange(0);
            of.refund(n);
            return n != 0;
        }
        account& of;
        std::atomic<std::size_t> has{0};
    };
    account engine{name{"engine"}, limit{1000}}, query{engine, name{"query"}}, kept{engine, name{"kept"}};
    REQUIRE(kept.try_charge(1000));
    cache cached{kept};
    cached.has = 400;
    const auto wait = [&](std::size_t bytes) {
        return [&query, bytes] { return query.charge_for(bytes, allot::forever).charged(); };
    };
    CHECK(meanwhile(engine, wait(400), [&] { kept.add(cached); }));
    CHECK(meanwhile(engine, wait(600), [&] {
        cached.has = 600;
        kept.notify_unused();
    }));
    CHECK(kept.remove(cached));
    query.refund(1000);
}

TEST_CASE("device memory waits for what another allocator frees", "[reclaim][waiting][device]") {
    const support::rescue ends{"a device block that waits for ever"};
    allocator_machine m{{.execution = allot::device::execution::delayed}};
    account task{name{"task"}, limit{64_MiB}};
    allot::device_allocator<quiet_on_device> gpu{m.api, task, unheard}, other{m.api, task, unheard};
    void* const held = m.used(other, 48_MiB, m.b);
    void* const p = meanwhile(
        task, [&] { return gpu.allocate_for(32_MiB, m.a, allot::forever); },
        [&] { other.deallocate(held, m.b); }); // free once the kernel has ended, of which nothing tells
    CHECK(p != nullptr);
    CHECK(m.sim.count(allot::device::call::synchronize_event) == 1); // so the request waited for it
    gpu.deallocate(p, m.a);
    CHECK(gpu.allocate_for(0, m.a, allot::forever) == nullptr);
    CHECK(gpu.valid());
    CHECK(other.valid());
}

TEST_CASE("threads that allocate more than there is, wait, and release all finish", "[reclaim][waiting][threads]") {
    const support::rescue ends{"a wake-up that was lost"};
    account query{name{"query"}, limit{2_MiB}};
    allot::row_manager<quiet> rows{query, small};
    allot::chunk_arena<quiet> blocks{query, small, allot::chunk_bytes{128_KiB}};
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != 4; ++t)
        threads.emplace_back([&, t] {
            unsigned random = t + 1;
            for (int i = 0; i != 300; ++i) {
                random = random * 1664525 + 1013904223;
                if ((random >> 9) % 2 == 0) {
                    void* const row = rows.allocate_for(1 + (random >> 10) % 900'000, allot::forever);
                    failed += row == nullptr;
                    rows.release(row);
                } else {
                    const allot::block b = blocks.allocate_for(1 + (random >> 10) % 900'000, allot::forever);
                    failed += !b;
                    blocks.deallocate(b.address);
                }
            }
        });
    for (auto& t : threads) t.join();
    CHECK(failed == 0);
    CHECK(rows.live_rows() == 0);
    CHECK(query.peak() <= 2_MiB);
}
