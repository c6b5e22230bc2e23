// Tiers: what left for memory of the host leaves further where that is short, and is read from where it is.
#include <support/catch.hpp>
#include <support/device_sets.hpp>
#include <support/hooked_home.hpp>
#include <support/stored_bytes.hpp>
#include <support/tasks.hpp>

#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_device.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using stored_buffer = allot::stored<allot::buffer>;
using support::holds;

namespace {

struct tiers {
    account near{name{"near"}, limit{64_KiB}}, host{name{"host"}, limit{64_KiB}}, disk{name{"disk"}, limit{128_KiB}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home below{disk, true, 1000};
    allot::spill_memory there{memory, host, below};
    allot::store inputs{near, there};

    ~tiers() {
        CHECK(inputs.stats().entries == 0);
        CHECK(there.tier()->stats().entries == 0);
        CHECK((near.used() == 0 && host.used() == 0 && disk.used() == 0 && below.records == 0));
    }
    stored_buffer filled(std::size_t n, int with) {
        allot::buffer b = memory.allocate(near, n);
        std::memset(b.data(), with, n);
        return inputs.put(std::move(b));
    }
};
} // namespace

TEST_CASE("what left for a tier leaves further where that is short, and comes back from where it is", "[spill]") {
    tiers t;
    std::vector<stored_buffer> all;
    for (int i = 0; i != 10; ++i) all.push_back(t.filled(16_KiB, i)); // 160 KiB; near and host have 128 KiB
    for (auto& b : all) CHECK((b.is_away() || b.spill()));
    CHECK((t.host.used() == 64_KiB && t.disk.used() == 96_KiB && t.near.used() == 0));
    const std::size_t reads = t.below.reads;
    for (int i = 0; i != 10; ++i) CHECK(holds(all[static_cast<std::size_t>(i)], i));
    CHECK(t.below.reads > reads);
    CHECK(t.host.peak() <= 64_KiB);
    for (int i = 10; i-- != 0;) CHECK(holds(all[static_cast<std::size_t>(i)], i));
}

TEST_CASE("where all tiers are full, a write is refused, and nothing is lost", "[spill]") {
    tiers t;
    std::vector<stored_buffer> all;
    for (int i = 0; i != 3; ++i) all.push_back(t.filled(16_KiB, i));
    CHECK((all[0].spill() && all[1].spill()));
    const support::charged most{t.host, 32_KiB};
    t.below.is_full = true;
    allot::home_status why;
    CHECK_FALSE(all[2].spill(&why));
    CHECK(why.how == allot::home_status::outcome::refused);
    CHECK((!all[2].is_away() && t.host.used() == 64_KiB));
    t.below.is_full = false;
    CHECK(all[2].spill());
    CHECK(t.disk.used() == 16_KiB);
    for (int i = 0; i != 3; ++i) CHECK(holds(all[static_cast<std::size_t>(i)], i));
}

TEST_CASE("what is larger than the tier is written below at once", "[spill]") {
    tiers t;
    t.host.set_limit(8_KiB);
    stored_buffer small = t.filled(4_KiB, 1), large = t.filled(16_KiB, 2);
    CHECK((small.spill() && large.spill()));
    CHECK((t.disk.used() == 20_KiB && t.host.used() == 0)); // the small one has left further, in vain
    CHECK((holds(large, 2) && t.disk.used() == 4_KiB));
    CHECK(large.spill());
    const std::vector<stored_buffer> parts = large.halves(1000);
    REQUIRE(parts.size() == 2);
    CHECK((holds(parts[0], 2) && holds(parts[1], 2) && holds(small, 1)));
}

TEST_CASE("a tier that fails to read from below says so, and the object stays away", "[spill]") {
    tiers t;
    stored_buffer b = t.filled(16_KiB, 7);
    CHECK(b.spill());
    {
        const support::charged all{t.host, 64_KiB}; // a request of others
    }
    CHECK(t.disk.used() == 16_KiB);
    t.below.fail_read = 0;
    CHECK_THROWS_AS(b.pin(), allot::spill_error);
    CHECK(b.is_away());
    const std::vector<stored_buffer> parts = b.halves(1000);
    REQUIRE(parts.size() == 2);
    CHECK((holds(parts[1], 7) && holds(parts[0], 7) && holds(b, 7)));
}

TEST_CASE("device memory leaves for the host, and from there further", "[spill][device]") {
    using allocator = allot::device_allocator<task_memory>;
    allocator_machine m;
    account device{name{"device"}, limit{256_KiB}}, host{name{"host"}, limit{256_KiB}}, disk{name{"disk"}};
    {
        allocator gpu{m.api, unheard, limit{64_MiB}};
        allot::on_stream at{gpu, m.a};
        const allot::buffer_memory memory{at};
        allot::device_staging through{m.api, allot::device_id{0}, disk, 64_KiB};
        allot::heap_memory heap;
        support::hooked_home below{disk, true, 10'000};
        allot::spill_memory there{heap, host, below};
        allot::store inputs{device, there};
        std::vector<allot::stored<allot::device_buffer<allot::device::simulated>>> all;
        for (int i = 0; i != 10; ++i) {
            allot::device_buffer b{memory.allocate(device, 100'000), at, through};
            REQUIRE(m.api.fill_async(b.bytes.data(), static_cast<unsigned char>(i), 100'000, m.a));
            all.push_back(inputs.put(std::move(b)));
        }
        CHECK((device.used() <= 256_KiB && host.used() <= 256_KiB && disk.used() >= 500'000));
        for (std::size_t i = 0; i != 10; ++i) {
            const auto pin = all[i].pin();
            std::vector<unsigned char> back(100'000);
            REQUIRE(m.api.copy_async(back.data(), pin->bytes.data(), back.size(), m.a));
            REQUIRE(m.api.synchronize(m.a));
            CHECK((back.front() == i && back.back() == i));
        }
    }
    CHECK((device.used() == 0 && host.used() == 0 && disk.used() == 0 && m.sim.hazards() == 0));
}

TEST_CASE("threads use buffers of tiers while all of them are short", "[spill]") {
    tiers t;
    std::vector<stored_buffer> all;
    for (int i = 0; i != 12; ++i) all.push_back(t.filled(12_KiB, i));
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (std::size_t n = 0; n != 3; ++n)
        threads.emplace_back([&, n] {
            for (std::size_t i = 0; i != 300; ++i) {
                const stored_buffer& b = all[(i * 5 + n) % all.size()];
                if (i % 4 == 3) static_cast<void>(b.spill());
                else if (const auto pin = b.try_pin())
                    wrong += pin->bytes()[i] != static_cast<std::byte>((i * 5 + n) % all.size());
                if (i % 7 == n && t.host.try_charge(40_KiB)) t.host.refund(40_KiB);
            }
        });
    threads.clear();
    CHECK(wrong == 0);
    for (int i = 0; i != 12; ++i) CHECK(holds(all[static_cast<std::size_t>(i)], i));
}
