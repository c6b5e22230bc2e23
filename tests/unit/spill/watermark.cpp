// A store below a watermark: its entries leave before a request is refused.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>
#include <support/rescue.hpp>

#include <allot/reclaim/cost_cap.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::watermark;

TEST_CASE("entries of a store leave past a watermark, of the level that asks", "[spill][watermark]") {
    const support::rescue ends{"a store below a watermark"};
    account engine{name{"engine"}, limit{64_KiB}, watermark{48_KiB}}, disk{name{"disk"}};
    account query{engine, name{"query"}, watermark{16_KiB}}, other{engine, name{"other"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home home{disk};
    allot::store inputs{engine, home, name{"inputs"}};
    std::vector<allot::stored<allot::buffer>> held;
    const auto put = [&](account& by) { held.push_back(inputs.put(memory.allocate(by, 16_KiB))); };
    put(other);
    put(query);
    CHECK(disk.used() == 0);
    put(query); // 32 of 16 KiB: what it has put before leaves
    CHECK((query.used() == 16_KiB && engine.used() == 32_KiB && held[1].is_away() && !held[0].is_away()));
    put(other);
    put(other);                                            // 64 of 48 KiB
    CHECK((engine.used() == 48_KiB && held[2].is_away())); // the own ones of the requester come last
    CHECK(engine.stats().refused == 0);
    CHECK(inputs.freed() == 32_KiB);
    held.clear();
    CHECK(engine.used() == 0);
}

TEST_CASE("pins keep a watermark, too; and a cost cap of one request stops no other from asking",
          "[spill][watermark]") {
    account engine{name{"engine"}, limit{64_KiB}, watermark{16_KiB}}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home home{disk};
    allot::store inputs{engine, home, name{"inputs"}};
    std::vector<allot::stored<allot::buffer>> held;
    for (int i = 0; i != 8; ++i) held.push_back(inputs.put(memory.allocate(engine, 4_KiB)));
    for (const auto& h : held) {
        static_cast<void>(h.pin());
        CHECK(engine.used() <= 20_KiB); // the pinned one is free to leave only when its pin has ended
        CHECK((h.try_pin() && engine.used() <= 20_KiB));
    }
    for (const std::uint32_t cap : {0u, 1u}) {
        const allot::cost_cap most{cap};
        REQUIRE(engine.try_charge(32_KiB));
        CHECK(engine.used() >= 48_KiB); // the store costs more
        engine.refund(32_KiB);
    }
    REQUIRE(engine.try_charge(1));
    CHECK(engine.used() <= 16_KiB);
    {
        const allot::cost_cap most{1};
        REQUIRE(engine.try_charge(32_KiB));
    }
    REQUIRE(engine.try_charge(1));
    CHECK(engine.used() == 32_KiB + 2); // all that could leave has left
    engine.refund(32_KiB + 2);
}

TEST_CASE("threads: puts and pins below a watermark", "[spill][watermark][threads]") {
    const support::rescue ends{"threads below a watermark"};
    account engine{name{"engine"}, limit{1_MiB}, watermark{256_KiB}}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_memory home{memory, disk};
    {
        allot::store inputs{engine, home, name{"inputs"}};
        std::vector<std::thread> threads;
        std::atomic<int> wrong{0};
        for (int t = 0; t != 4; ++t)
            threads.emplace_back([&, t] {
                std::vector<allot::stored<allot::buffer>> held;
                for (int i = 0; i != 100; ++i) {
                    allot::buffer b = memory.allocate(engine, 8_KiB);
                    b.data()[0] = static_cast<std::byte>(i + t);
                    held.push_back(inputs.put(std::move(b)));
                    const int old = i / 2;
                    const auto data = held[static_cast<std::size_t>(old)].pin();
                    wrong += data->data()[0] != static_cast<std::byte>(old + t);
                }
            });
        for (auto& t : threads) t.join();
        CHECK(wrong == 0);
    }
    CHECK(engine.peak() <= 1_MiB);
    CHECK((engine.used() == 0 && disk.used() == 0));
}
