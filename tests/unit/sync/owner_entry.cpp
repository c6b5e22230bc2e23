// owner_entry: one thread works inside by plain stores, others once they have blocked it and fenced all threads.
#include <support/catch.hpp>

#include <allot/sync/owner_entry.hpp>

#include <atomic>
#include <chrono>
#include <thread>

TEST_CASE("an owner stays out while somebody asks, who waits while the owner is in", "[sync]") {
    for (const bool fenced : {false, true}) {
        allot::detail::owner_entry entry;
        entry.set_up(fenced);
        CHECK(entry.fences() == fenced);
        REQUIRE(entry.enter());
        entry.block_owner();
        std::atomic<bool> alone{false};
        std::thread other{[&] {
            entry.wait_for_owner();
            alone = true;
        }};
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        CHECK_FALSE(alone);
        entry.leave();
        other.join();
        CHECK(alone);
        CHECK_FALSE(entry.enter());
        entry.unblock_owner();
        CHECK(entry.enter());
        entry.leave();
    }
}
