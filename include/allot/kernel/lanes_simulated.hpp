// A warp simulated by threads of the host, so that code over `lanes` runs and is checked without a device.
//
//     simulated_warp warp{32, seed};
//     warp.run([&](simulated_warp::lane_of& lane) { ... aggregated_fetch_add<thread_scope::device>(lane, counter) ...
//     }); CHECK(warp.broken() == nullptr);
//
// active() returns the lanes that wait in it at the same time: all that have not ended, or fewer, by chance, as after a
// branch. As on a device only `sync` orders memory: the other functions use relaxed operations and fences that
// ThreadSanitizer does not see, so it reports code that uses a shuffle as a barrier.
// Invariant: two lanes make the calls that include both in the same order. Each pair of lanes counts these calls, and a
// lane continues when every lane of its group has reached the same count.
// Misuse (broken() is not null): lanes of a group that call different functions or name different groups, a caller
// outside its group, a group with a lane that has ended, a wait of 20 s. From then on no call waits, and each returns
// what lone_lane would.
// Cost: about 100 us per call of 32 threads on two cores. Threads: run() starts one per lane. For tests, on the host.
// Source: warps simulated by threads with barriers, as in GPU emulators since Ocelot, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/kernel/lanes.hpp>
#include <allot/sync/pause.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace allot::inline ALLOT_ABI {

class simulated_warp {
    enum class call : std::uint64_t { match = 1, ballot, shuffle, sync };

  public:
    static constexpr unsigned most = 32;

    explicit simulated_warp(unsigned lanes = most, std::uint64_t seed = 1) noexcept
        : all_(lanes < most ? bit(lanes) - 1 : ~lane_mask{0}), seed_(seed) {}
    simulated_warp(const simulated_warp&) = delete;
    simulated_warp& operator=(const simulated_warp&) = delete;

    /// One lane, used by its thread. Models `lanes`.
    class lane_of {
      public:
        static constexpr unsigned most = simulated_warp::most;

        unsigned lane() const noexcept { return lane_; }
        lane_mask active() noexcept { return warp_.converge(lane_, chance()); }
        lane_mask match(lane_mask group, std::uint64_t key) noexcept {
            return lanes_where(call::match, group, key, [=](std::uint64_t theirs) { return theirs == key; });
        }
        lane_mask ballot(lane_mask group, bool predicate) noexcept {
            return lanes_where(call::ballot, group, predicate, [](std::uint64_t theirs) { return theirs != 0; });
        }
        template <class T> T shuffle(lane_mask group, T value, unsigned lane) noexcept {
            std::uint64_t result = static_cast<std::uint64_t>(value);
            warp_.exchange(*this, call::shuffle, group, result, [&](unsigned other, std::uint64_t theirs) {
                if (other == lane) result = theirs;
            });
            return static_cast<T>(result);
        }
        void sync(lane_mask group) noexcept {
            warp_.exchange(*this, call::sync, group, 0, [](unsigned, std::uint64_t) {});
        }

      private:
        friend simulated_warp;
        lane_of(simulated_warp& warp, unsigned lane) noexcept
            : warp_(warp), lane_(lane), random_(warp.seed_ * most + lane) {}

        template <class Is> lane_mask lanes_where(call what, lane_mask group, std::uint64_t value, Is is) noexcept {
            lane_mask some = 0;
            warp_.exchange(*this, what, group, value, [&](unsigned other, std::uint64_t theirs) {
                if (is(theirs)) some |= bit(other);
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
        std::uint32_t calls_[simulated_warp::most]{}; // the calls made with each lane
    };

    /// Calls f(lane_of&) in one thread per lane, and returns when all have ended.
    template <class F> void run(F f) {
        for (state& s : lanes_) {
            s.group.store(0, std::memory_order_relaxed);
            for (auto& n : s.calls) n.store(0, std::memory_order_relaxed);
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
    /// Returns: the first misuse by a lane, as a text; null if there was none.
    const char* broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

  private:
    struct alignas(64) state {
        std::atomic<std::uint64_t> call_and_group{0}; // 32 bits each
        std::atomic<std::uint64_t> value{0};
        std::atomic<lane_mask> group{0};          // the result of active()
        std::atomic<std::uint32_t> calls[most]{}; // the calls that it has reached with each lane
    };

    static constexpr lane_mask bit(unsigned lane) noexcept { return lane_mask{1} << lane; }
    // Orders the exchanged values; ThreadSanitizer does not see it.
    static void fence() noexcept { __sync_synchronize(); }
    void fail(const char* why) noexcept {
        const char* none = nullptr;
        broken_.compare_exchange_strong(none, why, std::memory_order_relaxed);
    }

    // Waits for all lanes of the group, then calls visit(lane, its value) for each of them.
    template <class Visit>
    void exchange(lane_of& lane, call what, lane_mask group, std::uint64_t value, Visit visit) noexcept {
        state& mine = lanes_[lane.lane_];
        const std::uint64_t call_and_group = static_cast<std::uint64_t>(what) << 32 | group;
        if ((group & bit(lane.lane_)) == 0) fail("a lane names a group that it does not belong to");
        mine.value.store(value, std::memory_order_relaxed);
        mine.call_and_group.store(call_and_group, std::memory_order_relaxed);
        if (!arrive(lane, group, what == call::sync)) return visit(lane.lane_, value);
        for (lane_mask left = group; left != 0; left &= left - 1)
            if (lanes_[leader_of(left)].call_and_group.load(std::memory_order_relaxed) != call_and_group)
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
            lanes_[lane.lane_].calls[other].store(++lane.calls_[other],
                                                  ordering ? std::memory_order_release : std::memory_order_relaxed);
        }
        for (lane_mask left = group; left != 0; left &= left - 1) {
            const unsigned other = leader_of(left);
            const auto& theirs = lanes_[other].calls[lane.lane_];
            for (waiting wait; !reached(theirs.load(ordering ? std::memory_order_acquire : std::memory_order_relaxed),
                                        lane.calls_[other]);) {
                if ((ended_.load(std::memory_order_relaxed) & bit(other)) != 0) fail("a lane of the group has ended");
                else if (wait.too_long()) fail("a lane of the group did not come");
                if (broken() != nullptr) return false;
            }
        }
        fence();
        return true;
    }
    static bool reached(std::uint32_t theirs, std::uint32_t mine) noexcept { return theirs - mine < 1U << 31; }

    lane_mask converge(unsigned lane, bool close_now) noexcept {
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
    // Makes the lanes that wait in active() a group.
    void close() noexcept {
        const lane_mask group = waiting_.exchange(0, std::memory_order_relaxed);
        for (lane_mask left = group; left != 0; left &= left - 1)
            lanes_[leader_of(left)].group.store(group, std::memory_order_relaxed);
    }

    struct waiting {
        unsigned yields = 0;
        std::chrono::steady_clock::time_point since{};
        bool too_long() noexcept {
            detail::yield();
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
