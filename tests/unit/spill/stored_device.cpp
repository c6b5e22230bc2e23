// Buffers of a device's memory in a store: copied in the order of their stream, behind the kernels that use them.
#include <support/catch.hpp>
#include <support/device_sets.hpp>
#include <support/hooked_home.hpp>

#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_device.hpp>
#include <allot/task/task_cache.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allocator = allot::device_allocator<task_memory>;
using device_buffer = allot::device_buffer<allot::device::simulated>;
using stored = allot::stored<device_buffer>;

namespace {

struct homes {
    explicit homes(std::uint64_t seed = 1, std::size_t most = 1_MiB)
        : m{{.execution = allot::device::execution::delayed, .seed = seed}},
          device{name{"device"}, limit{most}, tasks} {}
    allocator_machine m;
    allot::oom::arbiter tasks;
    account device, host{name{"host"}}, pinned{name{"pinned"}};
    allocator gpu{m.api, unheard, limit{64_MiB}};
    allot::on_stream<allocator> at{gpu, m.a};
    allot::buffer_memory memory{at};
    allot::device_staging<allot::device::simulated> through{m.api, allot::device_id{0}, pinned, 1000};
    allot::heap_memory heap;
    allot::spill_memory there{heap, host};
    allot::store inputs{device, there};

    ~homes() {
        CHECK(inputs.stats().entries == 0);
        CHECK((device.used() == 0 && host.used() == 0 && pinned.used() == 1000));
        CHECK(gpu.stats().live == 0);
        CHECK(m.sim.hazards() == 0);
    }
    device_buffer filled(std::size_t n, unsigned char with) { return filled(n, with, device); }
    device_buffer filled(std::size_t n, unsigned char with, account& by) {
        device_buffer b{memory.allocate(by, n), at, through};
        CHECK_ON_THREAD(m.api.fill_async(b.bytes.data(), with, n, m.a)); // not done yet
        return b;
    }
    stored put(std::size_t n, unsigned char with) { return inputs.put(filled(n, with)); }
    std::vector<unsigned char> read(const device_buffer& b, simulated_machine::stream s) {
        std::vector<unsigned char> all(b.bytes.size());
        CHECK_ON_THREAD(m.api.copy_async(all.data(), b.bytes.data(), all.size(), s));
        CHECK_ON_THREAD(m.api.synchronize(s));
        return all;
    }
    bool holds(const stored& b, unsigned char with) {
        const auto pin = b.pin();
        const std::vector<unsigned char> all = read(*pin, m.a);
        for (const unsigned char x : all)
            if (x != with) return false;
        return all.size() == b.bytes();
    }
};

} // namespace

TEST_CASE("device memory leaves for the host where it is short, and comes back", "[spill][device]") {
    homes h;
    for (const std::size_t n : {1u, 499u, 500u, 501u, 1000u, 100'000u}) {
        const stored b = h.put(n, 7);
        CHECK((!b.is_away() && b.bytes() == n));
        {
            const allot::buffer all = h.memory.allocate(h.device, 1_MiB);
            CHECK((b.is_away() && h.device.used() == 1_MiB && h.host.used() >= n));
            CHECK_FALSE(b.try_pin());
            CHECK_THROWS_AS(b.pin(), allot::memory_error);
        }
        CHECK(h.holds(b, 7));
        CHECK(h.host.used() == 0);
        CHECK(b.spill());
        CHECK(h.holds(b, 7));
    }
}

TEST_CASE("a copy to the host is behind kernels that still run, and the block is used again behind it",
          "[spill][device]") {
    homes h;
    const stored b = h.put(10'000, 1);
    {
        const auto pin = b.pin();
        REQUIRE(h.m.api.fill_async(pin->bytes.data(), 2, 5'000, h.m.a)); // still to run when the pin has ended
    }
    CHECK(b.spill());
    const device_buffer other = h.filled(10'000, 3); // the same block
    const auto pin = b.pin();
    const std::vector<unsigned char> all = h.read(*pin, h.m.a);
    CHECK((all[0] == 2 && all[4999] == 2 && all[5000] == 1 && all[9999] == 1));
    CHECK(h.read(other, h.m.a)[0] == 3);
}

TEST_CASE("work of the stream may use what comes back at once", "[spill][device]") {
    for (std::uint64_t seed = 1; seed != 9; ++seed) {
        homes h{seed};
        const stored b = h.put(10'000, 1), c = h.put(10'000, 2);
        CHECK((b.spill() && c.spill()));
        const auto first = b.pin(), second = c.pin(); // staging is used again, when its copies are done
        h.m.reads(h.m.a, first->bytes.data(), 10'000);
        h.m.order(h.m.a, h.m.b);
        h.m.reads(h.m.b, second->bytes.data(), 10'000);
        CHECK((h.read(*first, h.m.a)[9999] == 1 && h.read(*second, h.m.b)[9999] == 2));
        h.m.order(h.m.b, h.m.a);
    }
}

TEST_CASE("halves of device memory are copied back in part", "[spill][device]") {
    homes h;
    stored b = h.put(10'000, 1);
    {
        const auto pin = b.pin_to_change();
        REQUIRE(h.m.api.fill_async(pin->bytes.data() + 5'000, 2, 5'000, h.m.a));
    }
    const std::vector<stored> parts = b.halves(1000);
    REQUIRE(parts.size() == 2);
    CHECK(h.device.used() == 0);
    CHECK((h.holds(parts[0], 1) && h.holds(parts[1], 2)));
}

TEST_CASE("a consumer takes device memory in its account", "[spill][device]") {
    homes h;
    account scan{h.device, name{"scan"}};
    for (const bool away : {false, true}) {
        stored b = h.put(10'000, 1);
        if (away) CHECK(b.spill());
        const device_buffer mine = std::move(b).take(scan);
        CHECK((!b && mine.bytes.holder() == &scan && h.host.used() == 0));
        CHECK(h.read(mine, h.m.a)[9999] == 1);
    }
    CHECK(h.inputs.put(device_buffer{allot::buffer{}, h.at, h.through}).bytes() == 0);
}

TEST_CASE("an error of the device in a copy leaves the object where it was", "[spill][device]") {
    using allot::device::call;
    for (const call c : {call::copy, call::record, call::synchronize_event})
        for (std::uint64_t nth = 1; nth <= 3; ++nth) {
            INFO(static_cast<int>(c) << ", " << nth);
            homes h;
            const stored b = h.put(1'400, 7);
            h.m.sim.fail(c, {.nth = nth});
            allot::home_status why;
            CHECK_FALSE(b.spill(&why));
            CHECK((why.how == allot::home_status::outcome::failed && *why.call != 0));
            CHECK((!b.is_away() && h.host.used() == 0));
            CHECK(h.holds(b, 7));
            CHECK(b.spill());
            if (c == call::synchronize_event && nth > 1) continue; // fewer waits that way
            h.m.sim.fail(c, {.nth = nth});
            CHECK_THROWS_AS(b.pin(), allot::spill_error);
            CHECK((b.is_away() && h.device.used() == 0));
            CHECK(h.holds(b, 7));
        }
}

TEST_CASE("a home that fails, or reads in pieces, gets device memory too", "[spill][device]") {
    homes h;
    account far{name{"far"}};
    support::hooked_home there{far, true, 77};
    allot::store inputs{h.device, there};
    stored b = inputs.put(h.filled(10'000, 9));
    there.fail_write = 0;
    CHECK_FALSE(b.spill());
    CHECK(h.holds(b, 9));
    CHECK(b.spill());
    there.fail_read = 0;
    CHECK_THROWS_AS(b.pin(), allot::spill_error);
    CHECK(h.holds(b, 9));
    CHECK((there.writes == 2 && b.spill() && there.writes == 2)); // it is at home, too
    CHECK(h.holds(b, 9));
}

TEST_CASE("device memory that others have views of stays", "[spill][device]") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    homes h;
    const stored b = h.put(10'000, 9);
    {
        const allot::buffer view = b.pin()->bytes.slice(0, 100);
        CHECK((!b.spill() && h.host.used() == 0));
    }
    static_cast<void>(b.pin());
    CHECK((b.spill() && h.holds(b, 9)));
}

TEST_CASE("a size that no device has is refused cleanly", "[spill][device]") {
    homes h;
    CHECK_THROWS_AS(h.memory.allocate(h.device, std::size_t{1} << 31), allot::memory_error);
    const stored b = h.put(1, 7);
    CHECK((b.halves(std::size_t{1} << 31).empty() && b.halves().empty() && b.spill() && h.holds(b, 7)));
}

TEST_CASE("threads spill and pin device memory through one staging", "[spill][device]") {
    homes h;
    std::vector<stored> all;
    for (unsigned char i = 0; i != 6; ++i) all.push_back(h.put(3'000 + i, i));
    std::atomic<int> failed{0};
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i != 60; ++i) {
                const stored& b = all[(5 * i + t) % all.size()];
                allot::home_status why;
                if (i % 2 == 0) static_cast<void>(b.spill(&why));
                else static_cast<void>(b.try_pin(&why));
                failed += why.how == allot::home_status::outcome::failed;
            }
        });
    threads.clear();
    CHECK(failed == 0);
    for (unsigned char i = 0; i != 6; ++i) CHECK(h.holds(all[i], i));
}

TEST_CASE("staging that the device or the account refuses says so", "[spill][device]") {
    using staging = allot::device_staging<allot::device::simulated>;
    allocator_machine m;
    account pinned{name{"pinned"}, limit{1000}};
    CHECK_THROWS_AS((staging{m.api, allot::device_id{0}, pinned, 2000}), allot::out_of_memory);
    for (const auto c : {allot::device::call::allocate_pinned, allot::device::call::create_event})
        for (std::uint64_t nth = 1; nth <= 2; ++nth) {
            m.sim.fail(c, {.nth = nth});
            bool failed = false;
            try {
                const staging through{m.api, allot::device_id{0}, pinned, 1000};
            } catch (const allot::spill_error& e) {
                failed = true;
                CHECK_THAT(std::string(e.what()), ContainsSubstring("device staging"));
            }
            CHECK((failed || (c == allot::device::call::allocate_pinned && nth == 2)));
            CHECK(pinned.used() == 0);
        }
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("tasks of an executor share the memory of a device, and their inputs leave for the host", "[spill][task]") {
    // Two joins always fit: what one frees may fill up what another was promised, so each counts 900 kB at most.
    homes h{1, 1536_KiB};
    allot::executor run{h.tasks, h.device, {.threads = 2}};
    allot::task_group query{run, name{"query"}};
    allot::task_cache<stored> made{query};
    std::atomic<int> now{0}, most{0}, wrong{0};
    for (unsigned char i = 0; i != 30; ++i) // 3 MB of 1.5 MiB
        query.add(
            {.name = "scan", .output = 100'000},
            [&h, i](allot::task_step& step) { return h.inputs.put(h.filled(100'000, i, step.memory())); }, made.sink());
    query.wait();
    while (std::optional<stored> first = made.try_pull()) {
        std::optional<stored> second = made.try_pull();
        query.add({.name = "join", .overhead = 250'000}, allot::inputs(*std::move(first), *std::move(second)),
                  [&](std::span<stored::pinned> in, allot::task_step& step) {
                      const int n = ++now;
                      for (int m = most; m < n && !most.compare_exchange_weak(m, n);) {
                      }
                      const device_buffer table = h.filled(250'000, 7, step.memory());
                      for (int ms = 0; most != 2 && ms != 10'000; ++ms)
                          std::this_thread::sleep_for(std::chrono::milliseconds(1));
                      for (const auto& b : in) {
                          const std::vector<unsigned char> all = h.read(*b, h.m.a);
                          wrong += all.size() != 100'000 || all.front() != all.back();
                      }
                      --now;
                  });
    }
    query.wait();
    CHECK((wrong == 0 && most == 2 && h.inputs.stats().bytes_left >= 1'300'000 && run.stats().done == 45));
    CHECK((run.stats().ran_out == 0 && h.device.peak() <= 1536_KiB));
}
