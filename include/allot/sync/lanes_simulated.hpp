// A warp played by threads of the host, so that code over `lanes` runs, and is watched, where there is no device.
//
//     simulated_warp warp{32, seed};
//     warp.run([&](simulated_warp::lane_of& lane) { ... aggregated_bump<thread_scope::device>(lane, counter) ... });
//     CHECK(warp.broken() == nullptr);
//
// active() tells those that happened to wait in it together: all that are left, or fewer, by chance, as after a branch.
// As on a device only `together` orders memory: all else goes through relaxed operations and fences that
// ThreadSanitizer does not know, so it tells of code that takes a shuffle for a barrier.
// Invariant: two lanes go through the calls that both belong to in one order, so each pair counts them, and a lane goes
// on when its counts with all of its group are reached. Broken: lanes of a group that call different functions or name
// different groups, a group without its caller or with a lane that has ended, or a wait of 20 s. Then no call waits any
// more, and each says what a lane alone would.
// Cost: some 100 us a call of 32 threads on two cores. Threads: run() starts one a lane. For host compilers, in tests.
// Source: warps played by threads with barriers, as in emulators of devices since Ocelot, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lanes.hpp>
#include <allot/sync/pause.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace allot::inline ALLOT_ABI {

class simulated_warp {
    enum class call : std::uint64_t { match = 1, ballot, from, together };

  public:
    static constexpr unsigned most = 32;

    explicit simulated_warp(unsigned lanes = most, std::uint64_t seed = 1) noexcept
        : all_(lanes < most ? bit(lanes) - 1 : ~lane_mask{0}), seed_(seed) {}
    simulated_warp(const simulated_warp&) = delete;
    simulated_warp& operator=(const simulated_warp&) = delete;

    /// A lane, for its thread. Models `lanes`.
    class lane_of {
      public:
        static constexpr unsigned most = simulated_warp::most;

        unsigned lane() const noexcept { return lane_; }
        lane_mask active() noexcept { return warp_.gather(lane_, chance()); }
        lane_mask match(lane_mask group, std::uint64_t key) noexcept {
            return those(call::match, group, key, [=](std::uint64_t its) { return its == key; });
        }
        lane_mask ballot(lane_mask group, bool said) noexcept {
            return those(call::ballot, group, said, [](std::uint64_t its) { return its != 0; });
        }
        template <class T> T from(lane_mask group, T value, unsigned lane) noexcept {
            std::uint64_t got = static_cast<std::uint64_t>(value);
            warp_.meet(*this, call::from, group, got, [&](unsigned other, std::uint64_t its) {
                if (other == lane) got = its;
            });
            return static_cast<T>(got);
        }
        void together(lane_mask group) noexcept {
            warp_.meet(*this, call::together, group, 0, [](unsigned, std::uint64_t) {});
        }

      private:
        friend simulated_warp;
        lane_of(simulated_warp& warp, unsigned lane) noexcept
            : warp_(warp), lane_(lane), random_(warp.seed_ * most + lane) {}

        template <class Is> lane_mask those(call what, lane_mask group, std::uint64_t value, Is is) noexcept {
            lane_mask some = 0;
            warp_.meet(*this, what, group, value, [&](unsigned other, std::uint64_t its) {
                if (is(its)) some |= bit(other);
            });
            return some;
        }
        bool chance() noexcept { // 1 in 16
            random_ = random_ * 6364136223846793005U + 1442695040888963407U;
            return random_ >> 60 == 0;
        }

        simulated_warp& warp_;
        const unsigned lane_;
        std::uint64_t random_;
        std::uint32_t met_[simulated_warp::most]{}; // calls made with each lane
    };

    /// Calls f(lane_of&) in a thread a lane, and returns when all have ended.
    template <class F> void run(F f) {
        for (state& s : lanes_) {
            s.group.store(0, std::memory_order_relaxed);
            for (auto& n : s.met) n.store(0, std::memory_order_relaxed);
        }
        waiting_.store(0, std::memory_order_relaxed);
        ended_.store(0, std::memory_order_relaxed);
        std::vector<std::thread> threads;
        for (unsigned i = 0; i != count_of(all_); ++i)
            threads.emplace_back([this, i, &f] {
                lane_of lane{*this, i};
                f(lane);
                ended_.fetch_or(bit(i), std::memory_order_relaxed);
            });
        for (std::thread& t : threads) t.join();
    }
    /// What a lane did wrong, if any did.
    const char* broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

  private:
    struct alignas(64) state {
        std::atomic<std::uint64_t> asks{0}; // the call 32, its group 32
        std::atomic<std::uint64_t> value{0};
        std::atomic<lane_mask> group{0};        // what active() is to tell
        std::atomic<std::uint32_t> met[most]{}; // calls that it came to with each lane
    };

    static constexpr lane_mask bit(unsigned lane) noexcept { return lane_mask{1} << lane; }
    // Orders what a call exchanges, unseen by ThreadSanitizer.
    static void fence() noexcept { __sync_synchronize(); }
    void fail(const char* why) noexcept {
        const char* none = nullptr;
        broken_.compare_exchange_strong(none, why, std::memory_order_relaxed);
    }

    // Tells visit(lane, its value) for each of the group, when all of it have come.
    template <class Visit>
    void meet(lane_of& lane, call what, lane_mask group, std::uint64_t value, Visit visit) noexcept {
        state& mine = lanes_[lane.lane_];
        const std::uint64_t asks = static_cast<std::uint64_t>(what) << 32 | group;
        if ((group & bit(lane.lane_)) == 0) fail("a lane names a group that it does not belong to");
        mine.value.store(value, std::memory_order_relaxed);
        mine.asks.store(asks, std::memory_order_relaxed);
        if (!arrive(lane, group, what == call::together)) return visit(lane.lane_, value);
        for (lane_mask left = group; left != 0; left &= left - 1)
            if (lanes_[leader_of(left)].asks.load(std::memory_order_relaxed) != asks)
                fail("lanes of a group call different functions or name different groups");
        if (broken() != nullptr) return visit(lane.lane_, value);
        for (lane_mask left = group; left != 0; left &= left - 1)
            visit(leader_of(left), lanes_[leader_of(left)].value.load(std::memory_order_relaxed));
        arrive(lane, group, false); // all have read
    }
    bool arrive(lane_of& lane, lane_mask group, bool ordering) noexcept {
        fence();
        for (lane_mask left = group; left != 0; left &= left - 1) {
            const unsigned other = leader_of(left);
            lanes_[lane.lane_].met[other].store(++lane.met_[other],
                                                ordering ? std::memory_order_release : std::memory_order_relaxed);
        }
        for (lane_mask left = group; left != 0; left &= left - 1) {
            const unsigned other = leader_of(left);
            const auto& its = lanes_[other].met[lane.lane_];
            for (waiting wait; !reached(its.load(ordering ? std::memory_order_acquire : std::memory_order_relaxed),
                                        lane.met_[other]);) {
                if ((ended_.load(std::memory_order_relaxed) & bit(other)) != 0) fail("a lane of the group has ended");
                else if (wait.too_long()) fail("a lane of the group did not come");
                if (broken() != nullptr) return false;
            }
        }
        fence();
        return true;
    }
    static bool reached(std::uint32_t its, std::uint32_t mine) noexcept { return its - mine < 1U << 31; }

    lane_mask gather(unsigned lane, bool close_now) noexcept {
        std::atomic<lane_mask>& group = lanes_[lane].group;
        group.store(0, std::memory_order_relaxed);
        fence();
        waiting_.fetch_or(bit(lane), std::memory_order_relaxed);
        if (close_now) close();
        for (waiting wait; group.load(std::memory_order_relaxed) == 0; wait.too_long()) {
            const lane_mask here = waiting_.load(std::memory_order_relaxed) | ended_.load(std::memory_order_relaxed);
            if (here == all_ || wait.yields > 200) close();
        }
        fence();
        return group.load(std::memory_order_relaxed);
    }
    // Those that wait are a group.
    void close() noexcept {
        const lane_mask group = waiting_.exchange(0, std::memory_order_relaxed);
        for (lane_mask left = group; left != 0; left &= left - 1)
            lanes_[leader_of(left)].group.store(group, std::memory_order_relaxed);
    }

    struct waiting {
        unsigned yields = 0;
        std::chrono::steady_clock::time_point since{};
        bool too_long() noexcept {
            yield();
            if (++yields % 4096 != 0) return false;
            const auto now = std::chrono::steady_clock::now();
            if (yields == 4096) since = now;
            return now - since > std::chrono::seconds{20};
        }
    };

    const lane_mask all_;
    const std::uint64_t seed_;
    state lanes_[most];
    std::atomic<lane_mask> waiting_{0}; // in active()
    std::atomic<lane_mask> ended_{0};
    std::atomic<const char*> broken_{nullptr};
};
static_assert(lanes<simulated_warp::lane_of>);

} // namespace allot::inline ALLOT_ABI
