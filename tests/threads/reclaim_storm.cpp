// 32 threads at one limit, with caches that give up entries, requests that wait, and reclaimers that come and leave:
// the limit is kept, no slot is lost, and all threads finish. ALLOT_STORM_SECONDS: how long, 1 by default.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct asks : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null> {};
struct asks_shared : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null, allot::heap::shared> {
};

// Keeps rows, and releases the oldest when memory is short. A thread that waits for memory may hold its lock, so a call
// only tries it; the same thread may have it already.
template <class Rows> class row_cache final : public allot::reclaimer {
  public:
    row_cache(account& at, Rows& rows, std::uint32_t cost) : reclaimer("rows", cost), at_{at}, rows_{rows} {
        at_.add(*this);
    }
    ~row_cache() {
        at_.remove(*this);
        while (release_one()) continue;
    }
    // Allocates with its lock held.
    bool add(std::size_t bytes, bool waits) {
        const std::lock_guard hold(lock_);
        void* const row = waits ? rows_.allocate_for(bytes, 1_ms) : rows_.try_allocate(bytes);
        if (row == nullptr) return false;
        kept_.push_back(row);
        return true;
    }
    void drop() {
        const std::lock_guard hold(lock_);
        release_one();
    }
    bool reclaim(const allot::shortage& s) noexcept override {
        const std::unique_lock hold(lock_, std::try_to_lock);
        if (!hold || kept_.empty()) return false;
        for (std::size_t n = s.critical ? kept_.size() : 1 + kept_.size() / 4; n != 0; --n) release_one();
        return true;
    }

  private:
    bool release_one() {
        if (kept_.empty()) return false;
        rows_.release(kept_.front());
        kept_.pop_front();
        return true;
    }
    account& at_;
    Rows& rows_;
    std::recursive_mutex lock_;
    std::deque<void*> kept_;
};

std::chrono::milliseconds storm_time() {
    const char* const asked = std::getenv("ALLOT_STORM_SECONDS");
    return std::chrono::milliseconds(asked != nullptr ? 1000L * std::atol(asked) : 1000L);
}

} // namespace

TEST_CASE("32 threads at one limit, with reclaimers and waits, finish, and nothing is lost", "[reclaim][threads]") {
    const support::rescue ends{"a storm of threads", std::chrono::minutes(2) + 2 * storm_time()};
    account engine{name{"engine"}, limit{8_MiB}};
    account queries[] = {account{engine, name{"a"}, limit{5_MiB}}, account{engine, name{"b"}}};
    {
        allot::row_manager<asks> plain{queries[0], name{"plain"}, allot::page_bytes{64_KiB}};
        allot::row_manager<asks_shared> shared{queries[1], name{"shared"}, allot::page_bytes{64_KiB}};
        row_cache<allot::row_manager<asks>> cheap{queries[0], plain, 1};
        row_cache<allot::row_manager<asks_shared>> dear{engine, shared, 3};
        std::atomic<std::size_t> granted{0};
        const auto end = std::chrono::steady_clock::now() + storm_time();
        std::vector<std::thread> threads;
        for (unsigned t = 0; t != 32; ++t)
            threads.emplace_back([&, t] {
                std::mt19937 random(t);
                account leaf{queries[t % 2], name{"leaf"}, allot::credit_step{16_KiB}};
                auto mine = plain.local();
                while (std::chrono::steady_clock::now() < end || granted <= 1000) { // however slow the threads are
                    const std::size_t bytes = random() % 20 == 0 ? random() % 1_MiB : random() % 3000;
                    switch (random() % 8) {
                    case 0: granted += cheap.add(bytes, false); break;
                    case 1: granted += dear.add(bytes, random() % 4 == 0); break;
                    case 2: cheap.drop(), dear.drop(); break;
                    case 3: {
                        const allot::cost_cap cap{static_cast<std::uint32_t>(random() % 4)};
                        if (void* const row = mine.try_allocate(bytes)) mine.release(row), ++granted;
                        break;
                    }
                    case 4:
                        if (void* const row = shared.allocate_for(bytes, 2_ms)) shared.release(row), ++granted;
                        break;
                    case 5:
                        if (leaf.charge_for(bytes, 2_ms)) leaf.refund(bytes), ++granted;
                        break;
                    case 6:
                        if (leaf.try_charge(bytes)) leaf.refund(bytes), ++granted;
                        break;
                    case 7: {
                        row_cache<allot::row_manager<asks>> passing{leaf, plain, 2};
                        granted += passing.add(bytes, false);
                        break;
                    }
                    }
                }
            });
        for (auto& t : threads) t.join();
        CHECK(granted > 1000);
    }
    CHECK(engine.peak() <= 8_MiB);
    CHECK(queries[0].peak() <= 5_MiB);
    CHECK(engine.used() == 0);
    CHECK(engine.verify());
}
