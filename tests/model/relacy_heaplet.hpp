// heap/slot_store.hpp and page_queues.hpp with slots/state.hpp and a slot policy: one page of three slots, releasers
// without a lock, a claimer and a collector under the heap's lock. The programs beside this file bring the policies.
//
// Held: a slot is claimed once and its last user's writes are seen; the page is given back only when every slot was
// given back and no releaser is inside it any more (any step on it afterwards fails); no slot and no page that became
// empty is forgotten: at the end every slot can be claimed, and the last collection gives the page back.
#pragma once

#include "relacy_common.hpp"

namespace {

constexpr unsigned slot_count = 3;
constexpr std::uint64_t bias = std::uint64_t{1} << 31, listed = std::uint64_t{1} << 32, noted = std::uint64_t{1} << 33;
std::int64_t count_of(std::uint64_t word) {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(word)) - static_cast<std::int64_t>(bias);
}

template <class Slots> struct page_model {
    rl::atomic<std::uint64_t> word; // slots/state.hpp
    Slots slots;
    rl::var<int> row[slot_count];
    rl::atomic<page_model*> space_link, empty_link;
    bool ready = false;
    bool gone = false; // ghost
    bool owned[slot_count];
};

// The claimer gives what it got back at once, or keeps one slot to the end.
template <class Slots, bool Keeps, bool Delays = false>
struct heaplet : rl::test_suite<heaplet<Slots, Keeps, Delays>, 4> {
    using page_type = page_model<Slots>;
    static constexpr unsigned threshold = 2;

    page_type page;
    rl::mutex lock;
    page_type* current;
    unsigned kept, kept_count;
    page_type* ready;
    stack_model<page_type, &page_type::space_link> space;
    stack_model<page_type, &page_type::empty_link> empties;

    void before() {
        page.word($).store(bias | listed, mo_relaxed);
        page.slots.reset();
        page.ready = page.gone = false;
        for (unsigned i = 0; i < slot_count; ++i) {
            page.row[i]($) = 1;
            page.owned[i] = true; // all slots are out
        }
        current = &page;
        kept_count = 0;
        ready = nullptr;
        space.reset();
        empties.reset();
    }
    void inside() { RL_ASSERT(!page.gone); }

    // slot_store::put
    void put(const unsigned* slots, unsigned n) {
        mark(slots, n);
        count(n);
    }
    void mark(const unsigned* slots, unsigned n) {
        for (unsigned i = 0; i < n; ++i) {
            page.row[slots[i]]($) = 2; // its user's last words
            RL_ASSERT(page.owned[slots[i]]);
            page.owned[slots[i]] = false;
        }
        inside();
        page.slots.put(slots, n);
    }
    // slot_store::count and slot_state::add_freed
    void count(unsigned n) {
        inside();
        std::uint64_t was = page.word($).load(mo_acquire), now;
        bool list, note;
        do {
            inside();
            now = was + n;
            list = (was & listed) == 0 && count_of(now) >= threshold;
            note = (was & noted) == 0 && count_of(now) >= slot_count;
            now |= (list ? listed : 0) | (note ? noted : 0);
        } while (!page.word($).compare_exchange_weak(was, now, mo_acq_rel, mo_acquire));
        if (list) {
            inside();
            space.push(&page);
        }
        if (note) {
            inside();
            empties.push(&page);
        }
    }
    // slot_state::unlist_below
    bool unlist_below() {
        std::uint64_t was = page.word($).load(mo_acquire);
        do
            if (count_of(was) >= threshold) return false;
        while (!page.word($).compare_exchange_weak(was, was & ~listed, mo_acq_rel, mo_acquire));
        return true;
    }
    // slot_state::empty_or_unnote
    bool empty_or_unnote() {
        std::uint64_t was = page.word($).load(mo_acquire);
        do
            if (count_of(was) >= slot_count) return true;
        while (!page.word($).compare_exchange_weak(was, was & ~noted, mo_acq_rel, mo_acquire));
        return false;
    }
    void make_ready(page_type* p) {
        RL_ASSERT(!p->ready && !p->gone);
        p->ready = true;
        ready = p;
    }
    void drain_space() { // page_queues::drain_space
        for (page_type* p = space.take_all(); p != nullptr;) {
            page_type* const following = p->space_link($).load(mo_relaxed);
            make_ready(p);
            p = following;
        }
    }
    bool next_current() { // page_queues::next_current
        if (ready == nullptr) drain_space();
        if (ready == nullptr) return false;
        current = ready;
        ready = nullptr;
        current->ready = false;
        return true;
    }
    // slot_store::claim, claim_from, claim_freed
    unsigned claim(unsigned* out, unsigned n) {
        for (;;) {
            if (current == nullptr && !next_current()) return 0;
            if (count_of(current->word($).load(mo_acquire)) > 0)
                if (const unsigned got = current->slots.claim(out, n)) {
                    current->word($).fetch_sub(got, mo_acq_rel);
                    return got;
                }
            page_type* const p = current;
            current = nullptr;
            if (!unlist_below()) make_ready(p);
        }
    }
    // page_queues::collect(true)
    void collect() {
        if (empties.empty()) return;
        drain_space();
        for (page_type* p = empties.take_all(); p != nullptr;) {
            page_type* const following = p->empty_link($).load(mo_relaxed);
            if (empty_or_unnote()) {
                if (p != current && !p->ready) empties.push(p); // its releaser has yet to push it on space
                else {
                    if (p->ready) ready = nullptr;
                    p->ready = false;
                    current = nullptr;
                    retire();
                }
            }
            p = following;
        }
    }
    // leaving_pages::give, and the page's next owner
    void retire() {
        RL_ASSERT(!page.gone);
        page.gone = true;
        for (unsigned i = 0; i < slot_count; ++i) {
            RL_ASSERT(!page.owned[i]);
            page.row[i]($) = -1;
        }
        RL_ASSERT(space.empty() && empties.empty());
    }

    void thread(unsigned index) {
        if (index == 0) {
            const unsigned both[] = {2, 0};
            if (Delays) { // deferred_frees: marked one by one, told together
                mark(both, 1);
                mark(both + 1, 1);
                count(2);
            } else put(both, 2);
        } else if (index == 1) {
            const unsigned one = 1;
            put(&one, 1);
        } else if (index == 2) {
            unsigned got[2], n;
            lock.lock($);
            n = page.gone ? 0 : claim(got, Keeps ? 1 : 2);
            lock.unlock($);
            for (unsigned i = 0; i < n; ++i) {
                RL_ASSERT(!page.owned[got[i]] && !page.gone);
                page.owned[got[i]] = true;
                page.row[got[i]]($) = 3;
            }
            if (Keeps && n != 0) {
                kept = got[0];
                kept_count = 1;
            } else if (n != 0) put(got, n);
        } else {
            lock.lock($);
            collect();
            lock.unlock($);
        }
    }
    void after() {
        if (!page.gone) { // whatever was counted as given back can be claimed
            unsigned got[slot_count];
            const auto given = count_of(page.word($).load(mo_acquire));
            RL_ASSERT(page.slots.claim(got, slot_count) == given);
            if (given > 0) page.slots.put(got, static_cast<unsigned>(given));
        }
        if (kept_count != 0) put(&kept, 1);
        collect();
        RL_ASSERT(page.gone);
    }
};

} // namespace
