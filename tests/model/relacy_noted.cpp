// heap/heap_group.hpp, the list of heaps that told about an empty page: no empty page is forgotten, by the releasers
// who find the heap noted already or by a collector who finds it busy.
#include "relacy_common.hpp"

namespace {

struct page {
    rl::atomic<page*> empty_link;
};
struct heap {
    rl::atomic<int> noted;
    rl::atomic<heap*> empty_link;
    rl::atomic<int> lock; // sync/spin_lock.hpp, tried only
    stack_model<page, &page::empty_link> empties;
};

struct notes_and_collects : rl::test_suite<notes_and_collects, 4> {
    heap h;
    page pages[2];
    stack_model<heap, &heap::empty_link> noted;
    int reclaimed; // ghost

    void before() {
        h.noted($).store(0, mo_relaxed);
        h.lock($).store(0, mo_relaxed);
        h.empties.reset();
        noted.reset();
        reclaimed = 0;
    }
    void note() { // heap_group::note
        if (h.noted($).exchange(1, mo_acq_rel) == 0) noted.push(&h);
    }
    void release(page& p) { // page_queues::count, slot_store::count
        h.empties.push(&p);
        note();
    }
    bool try_lock() { return h.lock($).load(mo_relaxed) == 0 && h.lock($).exchange(1, mo_acquire) == 0; }
    void reclaim() { // fixed_heap::reclaim(false)
        if (!try_lock()) return note();
        if (!h.empties.empty())
            for (page* p = h.empties.take_all(); p != nullptr; p = p->empty_link($).load(mo_relaxed)) ++reclaimed;
        h.lock($).store(0, mo_release);
    }
    void collect() { // heap_group::collect
        if (noted.empty()) return;
        for (heap* one = noted.take_all(); one != nullptr;) {
            heap* const following = one->empty_link($).load(mo_relaxed);
            one->noted($).exchange(0, mo_acq_rel);
            reclaim();
            one = following;
        }
    }
    void thread(unsigned index) {
        if (index < 2) release(pages[index]);
        else if (index == 2) collect();
        else reclaim(); // one that asks every heap
    }
    void after() {
        collect();
        RL_ASSERT(reclaimed == 2);
    }
};

} // namespace

int main() { return holds<notes_and_collects>(300000, 1) ? 0 : 1; }
