// account/level_waits.hpp, the code itself: two requests of two trees that wait for a level, as account_waiting.hpp
// does, and a giver, whose memory serves both. Held: both are served, so no wake-up is lost.
#include "relacy_code.hpp"

#include <allot/account/level_waits.hpp>
#include <allot/sync/full_fence.hpp>

namespace {

using allot::detail::level_waits;
namespace level_kind = allot::detail::level_kind;

constexpr const char* arena = "arena";

struct level : rl::test_suite<level, 3> {
    struct shared {
        level_waits waits;
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
        allot::sys::parking spot;
        level_waits::place mine{&all->trees[tree], nullptr, spot};
        RL_ASSERT(all->waits.add(
            mine, {.outcome = allot::charge_outcome::over_limit, .by = allot::refuser::arena, .name = arena}));
        allot::full_fence();
        while (!take()) { // waiting_request::sleep
            spot.wait_until(allot::sys::parking::never);
            static_cast<void>(all->waits.take(mine));
        }
        static_cast<void>(all->waits.remove(mine));
    }
    void give() { // page_limit::put_back
        all->free.fetch_add(1, std::memory_order_seq_cst);
        all->waits.gave(level_kind::arena, arena);
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
