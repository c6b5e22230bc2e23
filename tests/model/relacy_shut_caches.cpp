// sync/shared_caches.hpp, the code itself: a heap whose caches are shut while one of them is filled. The one that comes
// last finds the slots: the filler sees that they are shut, or the flush waits. slot_caches' part is written out here.
#include "relacy_code.hpp"

#include <allot/sync/shared_caches.hpp>

namespace {

struct cache {};
using caches = allot::detail::shared_caches<cache>;

struct shut_and_fill : rl::test_suite<shut_and_fill, 2> {
    struct shared {
        caches all;
        std::atomic<std::uint8_t> past_caches{0};
    };
    std::optional<shared> heap;
    rl::var<int> slots; // of the first cache

    void before() {
        heap.emplace();
        slots($) = 0;
    }
    void flush() { slots($) = 0; }
    // slot_caches::refill_shared
    void refill(caches::place& place) {
        if (heap->past_caches.load(std::memory_order_relaxed) != 0) return;
        place.begin_fill();
        slots($) = 8;
        place.end_fill();
        if (heap->past_caches.load(std::memory_order_relaxed) != 0) flush();
    }
    // slot_caches::pop
    void pop(caches::place& place) {
        if (const auto borrowed = heap->all.borrow(place)) refill(place);
    }
    // set_past_caches, flush_shared
    void shut(caches::place& place) {
        heap->past_caches.fetch_or(1, std::memory_order_seq_cst);
        allot::detail::full_fence();
        if (const auto borrowed = heap->all.wait_for(place)) flush();
    }
    void thread(unsigned index) {
        caches::place& place = heap->all.all()[0];
        if (index == 0) pop(place);
        else shut(place);
    }
    void after() {
        RL_ASSERT(slots($) == 0);
        heap.reset();
    }
};

} // namespace

int main() { return holds<shut_and_fill>(20000, 3) ? 0 : 1; }
