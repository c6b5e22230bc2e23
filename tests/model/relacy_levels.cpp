// request/shared_level.hpp, the code itself: two requests of two trees that wait for a level, as account_waiting.hpp
// does, and a giver, whose memory serves both. Held: both are served, so no wake-up is lost.
#include "relacy_code.hpp"

#include <allot/request/shared_level.hpp>
#include <allot/sync/full_fence.hpp>

namespace {

using allot::detail::shared_level;

struct level : rl::test_suite<level, 3> {
    struct shared {
        shared_level arena{"arena"};
        std::atomic<unsigned> free{0}; // page_limit: what is not taken
        int trees[2];
    };
    std::optional<shared> all;

    void before() { all.emplace(); }
    bool take() { // seq_cst, since relacy orders no seq_cst operation before a fence
        unsigned now = all->free.load(std::memory_order_seq_cst);
        while (now != 0)
            if (all->free.compare_exchange_strong(now, now - 1, std::memory_order_relaxed)) return true;
        return false;
    }
    void wait(unsigned tree) {
        if (take()) return;
        allot::detail::sys::parking spot;
        allot::detail::shared_waits mine{spot, false};
        RL_ASSERT(mine.add(all->arena, &all->trees[tree]));
        allot::detail::full_fence();
        while (!take()) { // waiting_request::sleep
            spot.wait_until(allot::detail::sys::parking::never);
            mine.take_news([](const shared_level&, shared_level::news) {});
        }
        mine.remove([](const shared_level&, shared_level::news) {});
    }
    void give() { // page_limit::put_back
        all->free.fetch_add(1, std::memory_order_seq_cst);
        all->arena.gave();
    }
    void thread(unsigned index) {
        if (index != 2) return wait(index);
        give();
        give();
    }
    void after() { all.reset(); }
};

} // namespace

int main() { return holds<level>(50000, 0) ? 0 : 1; }
