// sync/shared_caches.hpp: a place is with one borrower at a time, who sees what the last one left there; nobody waits.
#include "relacy_common.hpp"

namespace {

struct place {
    rl::atomic<int> taken;
    rl::var<int> slots; // of the cache in it
    int users = 0;      // ghost
};

struct borrow_and_give : rl::test_suite<borrow_and_give, 3> {
    place places[2];
    rl::atomic<int> direct; // slots that went past the caches
    int given;

    void before() {
        direct($).store(0, mo_relaxed);
        given = 0;
        for (place& p : places) {
            p.taken($).store(0, mo_relaxed);
            p.slots($) = 0;
            p.users = 0;
        }
    }
    // shared_caches::borrow
    place* borrow(unsigned first) {
        for (const unsigned at : {first, first ^ 1})
            if (places[at].taken($).exchange(1, mo_acquire) == 0) return &places[at];
        return nullptr;
    }
    // slot_caches::push; ~borrowed
    void push(unsigned first) {
        ++given;
        place* const p = borrow(first);
        if (p == nullptr) {
            direct($).fetch_add(1, mo_relaxed);
            return;
        }
        RL_ASSERT(p->users++ == 0);
        p->slots($) = p->slots($) + 1;
        RL_ASSERT(--p->users == 0);
        p->taken($).store(0, mo_release);
    }
    // fixed_heap::reclaim: each place in turn, those in use left out
    void spill() {
        for (place& p : places) {
            if (p.taken($).exchange(1, mo_acquire) != 0) continue;
            RL_ASSERT(p.users++ == 0);
            direct($).fetch_add(p.slots($), mo_relaxed);
            p.slots($) = 0;
            RL_ASSERT(--p.users == 0);
            p.taken($).store(0, mo_release);
        }
    }
    void thread(unsigned index) {
        push(index & 1);
        if (index == 2) spill();
        push(index & 1);
    }
    void after() { RL_ASSERT(places[0].slots($) + places[1].slots($) + direct($).load(mo_relaxed) == given); }
};

} // namespace

int main() { return holds<borrow_and_give>(200000, 3) ? 0 : 1; }
