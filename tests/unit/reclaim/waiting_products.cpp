// Requests for rows, blocks, buffers and device memory that wait for memory.
#include <support/catch.hpp>
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstddef>
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
struct quiet_on_device : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
constexpr allot::page_bytes small{64_KiB};

// What another thread does once the request sleeps.
template <class Request, class Then> auto meanwhile(const account& refuses, Request request, Then then) {
    decltype(request()) got{};
    std::thread waits{[&] { got = request(); }};
    while (refuses.stats().waiting == 0) std::this_thread::yield();
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
