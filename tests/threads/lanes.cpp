// A warp of threads, and what is written for lanes, on it and on threads alone.
#include <support/catch.hpp>

#include <allot/kernel/aggregated_fetch_add.hpp>
#include <allot/kernel/lanes_simulated.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace allot;
using lane_of = simulated_warp::lane_of;

namespace {

constexpr int rounds = ALLOT_TSAN ? 20 : 100;

// All numbers below n, each once.
bool are_numbers(std::vector<std::uint32_t> all, std::size_t n) {
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] != i) return false;
    return all.size() == n;
}

} // namespace

TEST_CASE("a simulated warp answers as a warp does", "[threads]") {
    simulated_warp warp{32, 3};
    std::atomic<int> wrong{0};
    warp.run([&](lane_of& lane) {
        for (unsigned round = 0; round < rounds; ++round) {
            const unsigned mine = lane.lane();
            const lane_mask all = ~lane_mask{0};
            wrong +=
                lane.match(all, (mine + round) % 3) != lane.match(all, (mine + round) % 3 + (std::uint64_t{1} << 40));
            lane_mask thirds = 0;
            for (unsigned i = 0; i < 32; ++i) thirds |= i % 3 == mine % 3 ? lane_mask{1} << i : 0;
            wrong += lane.match(all, mine % 3) != thirds;
            wrong +=
                lane.ballot(all, mine < round % 33) != static_cast<lane_mask>((std::uint64_t{1} << round % 33) - 1);
            wrong += lane.shuffle(all, mine * 7, round % 32) != round % 32 * 7;
            wrong += lane.shuffle(all, ~std::uint64_t{mine}, 31) != ~std::uint64_t{31};
            wrong += lane.shuffle(thirds, mine, leader_of(thirds)) != mine % 3; // three groups at once
            wrong += lane.ballot(thirds, mine < 16) != (thirds & 0xFFFF);
        }
    });
    CHECK(wrong == 0);
    CHECK(warp.broken() == nullptr);
}

TEST_CASE("groups of active lanes are disjoint, differ, and end with their lanes", "[threads]") {
    std::atomic<int> wrong{0}, together{0}, smaller{0};
    for (unsigned seed = 5; seed != 25 && (together == 0 || smaller == 0); ++seed) { // it depends on the scheduler
        simulated_warp warp{16, seed};
        warp.run([&](lane_of& lane) {
            for (unsigned round = 0; round < rounds + lane.lane(); ++round) {
                const lane_mask group = lane.active();
                wrong += (group >> lane.lane() & 1) == 0 || group >> 16 != 0;
                wrong += lane.ballot(group, true) != group; // all of them know it as theirs
                ++(group == 0xFFFF ? together : smaller);
            }
        });
        CHECK(warp.broken() == nullptr);
    }
    CHECK(wrong == 0);
    CHECK(together > 0);
    CHECK(smaller > 0);
}

TEST_CASE("what lanes wrote before they came together is seen", "[threads]") { // the thread sanitizer watches
    simulated_warp warp{32, 7};
    std::vector<std::uint32_t> written(32);
    std::atomic<int> wrong{0};
    warp.run([&](lane_of& lane) {
        for (unsigned round = 1; round < rounds; ++round) {
            written[lane.lane()] = round * 100 + lane.lane();
            lane.sync(~0U);
            const unsigned other = (lane.lane() + round) % 32;
            wrong += written[other] != round * 100 + other;
            lane.sync(~0U);
        }
    });
    CHECK(wrong == 0);
    CHECK(warp.broken() == nullptr);
}

TEST_CASE("misuse of lanes is reported, and ends", "[threads]") {
    const auto run = [](auto f) {
        simulated_warp warp{4, 1};
        warp.run(f);
        return std::string{warp.broken() != nullptr ? warp.broken() : "fine"};
    };
    CHECK(run([](lane_of& lane) { lane.ballot(15, true); }) == "fine");
    CHECK_THAT(run([](lane_of& lane) { lane.lane() == 2 ? lane.ballot(15, true) : lane.match(15, 1); }),
               ContainsSubstring("different functions"));
    CHECK_THAT(run([](lane_of& lane) { lane.ballot(lane.lane() == 2 ? 15 : 7, true); }), ContainsSubstring("a group"));
    CHECK_THAT(run([](lane_of& lane) { lane.ballot(7, true); }), ContainsSubstring("does not belong"));
    CHECK_THAT(run([](lane_of& lane) {
                   if (lane.lane() != 2) lane.sync(15);
               }),
               ContainsSubstring("has ended"));
}

TEST_CASE("lanes that count together have a number each, without gaps", "[threads]") {
    std::uint32_t counter = 0;
    std::vector<std::uint32_t> numbers[2][32];
    std::vector<std::thread> warps;
    std::atomic<int> broken{0};
    for (unsigned w = 0; w < 2; ++w) // two warps, one counter
        warps.emplace_back([&, w] {
            simulated_warp warp{32, 11 + w};
            warp.run([&](lane_of& lane) {
                for (unsigned round = 0; round < rounds; ++round) {
                    if ((lane.lane() + round) % 5 == w) continue; // not all lanes, every time
                    numbers[w][lane.lane()].push_back(aggregated_fetch_add<thread_scope::device>(lane, counter));
                }
            });
            broken += warp.broken() != nullptr;
        });
    for (auto& t : warps) t.join();
    std::vector<std::uint32_t> all;
    for (auto& warp : numbers)
        for (auto& lane : warp) {
            CHECK(std::is_sorted(lane.begin(), lane.end()));
            all.insert(all.end(), lane.begin(), lane.end());
        }
    CHECK(are_numbers(all, counter));
    CHECK(broken == 0);
}

TEST_CASE("lanes of different counters do not meet", "[threads]") {
    std::uint32_t counters[3] = {};
    std::vector<std::uint32_t> numbers[32][3];
    simulated_warp warp{32, 17};
    warp.run([&](lane_of& lane) {
        for (unsigned round = 0; round < rounds; ++round) {
            const unsigned which = (lane.lane() * 7 + round) % 3;
            numbers[lane.lane()][which].push_back(aggregated_fetch_add<thread_scope::block>(lane, counters[which]));
        }
    });
    for (unsigned which = 0; which < 3; ++which) {
        std::vector<std::uint32_t> all;
        for (auto& lane : numbers) all.insert(all.end(), lane[which].begin(), lane[which].end());
        CHECK(are_numbers(all, counters[which]));
    }
    CHECK(warp.broken() == nullptr);
}

TEST_CASE("threads alone count by the same code", "[threads]") {
    std::uint32_t counter = 0;
    constexpr int each = ALLOT_TSAN ? 3000 : 30000;
    std::vector<std::uint32_t> numbers[4];
    std::vector<std::thread> threads;
    for (auto& mine : numbers)
        threads.emplace_back([&] {
            lone_lane lane;
            for (int i = 0; i < each; ++i) mine.push_back(aggregated_fetch_add<thread_scope::device>(lane, counter));
        });
    for (auto& t : threads) t.join();
    std::vector<std::uint32_t> all;
    for (auto& mine : numbers) all.insert(all.end(), mine.begin(), mine.end());
    CHECK(are_numbers(all, 4 * each));
}

namespace {

// Publishes what it wrote by an operation of each kind; the thread sanitizer watches `data`.
template <class Publish, class See> void pass_on(Publish publish, See see) {
    std::uint32_t word = 0;
    int data = 0, got = 0;
    std::thread writer{[&] {
        data = 42;
        publish(scoped<thread_scope::device>(word));
    }};
    while (!see(scoped<thread_scope::device>(word))) std::this_thread::yield();
    got = data;
    writer.join();
    CHECK(got == 42);
}

} // namespace

TEST_CASE("scoped operations order what was written before them", "[threads]") {
    const auto acquires = [](auto w) { return w.load(ordered::acquire) != 0; };
    pass_on([](auto w) { w.store(1, ordered::release); }, acquires);
    pass_on([](auto w) { w.exchange(1, ordered::release); }, acquires);
    pass_on([](auto w) { w.fetch_add(1, ordered::release); }, acquires);
    pass_on([](auto w) { w.fetch_sub(1, ordered::acq_rel); }, acquires);
    pass_on([](auto w) { w.fetch_or(1, ordered::seq_cst); }, acquires);
    pass_on([](auto w) { w.fetch_xor(1, ordered::release); }, acquires);
    pass_on([](auto w) { w.fetch_max(1, ordered::release); }, acquires);
    pass_on(
        [](auto w) {
            std::uint32_t none = 0;
            w.compare_exchange(none, 1, ordered::release);
        },
        [](auto w) {
            std::uint32_t one = 1;
            return w.compare_exchange(one, 2, ordered::acquire);
        });
    pass_on([](auto w) { w.store(1, ordered::release); }, [](auto w) { return w.fetch_add(0, ordered::acquire) != 0; });
    pass_on([](auto w) { w.store(1, ordered::release); }, [](auto w) { return w.fetch_and(1, ordered::acquire) != 0; });
    pass_on([](auto w) { w.store(1, ordered::release); }, [](auto w) { return w.fetch_min(1, ordered::acquire) != 0; });
}
