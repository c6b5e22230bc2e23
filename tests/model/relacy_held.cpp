// heap/locked_free_count.hpp with slots/state.hpp and the heap's place among its family's noted heaps: one page of
// three slots, two given back under the lock, one without it, a collector, and one who looks for slots.
//
// Held: only the lock's holder counts as held; no page that became empty is forgotten: when all is done it was
// collected, or its heap is noted and the next collection gives it back; nobody is inside a page that was given back.
#include "relacy_common.hpp"

namespace {

constexpr unsigned slot_count = 3;
constexpr std::uint64_t bias = std::uint64_t{1} << 31, noted_page = std::uint64_t{1} << 33,
                        owed = std::uint64_t{1} << 34;
std::int64_t count_of(std::uint64_t word) {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(word)) - static_cast<std::int64_t>(bias);
}

// A collector that comes once, or twice.
template <bool Twice> struct held : rl::test_suite<held<Twice>, 4> {
    rl::atomic<std::uint64_t> word; // slots/state.hpp
    rl::mutex lock;
    rl::var<unsigned> slots, look_at; // locked_free_count
    rl::var<bool> owing;
    rl::atomic<unsigned> empties; // page_queues::empties_, of one page
    rl::atomic<bool> may_be_due;  // page_queues
    rl::atomic<bool> noted;       // heap_base::noted
    bool gone;                    // ghost

    void before() {
        word($).store(bias, mo_relaxed);
        slots($) = 0;
        look_at($) = 1;
        owing($) = false;
        empties($).store(0, mo_relaxed);
        may_be_due($).store(false, mo_relaxed);
        noted($).store(false, mo_relaxed);
        gone = false;
    }
    void inside() { RL_ASSERT(!gone); }
    void note() { noted($).exchange(true, mo_acq_rel); } // heap_group::note

    struct change {
        bool note, owes;
    };
    change give_back(unsigned n) { // slot_state::add_freed
        inside();
        std::uint64_t was = word($).load(mo_acquire), now;
        bool empty;
        do {
            inside();
            now = was + n;
            empty = (was & noted_page) == 0 && count_of(now) >= slot_count;
            if (empty) now |= noted_page;
        } while (!word($).compare_exchange_weak(was, now, mo_acq_rel, mo_acquire));
        return {empty, (was & owed) != 0};
    }
    void put() { // slot_store::count and page_queues::count
        const change c = give_back(1);
        if (c.note) {
            inside();
            empties($).fetch_add(1, mo_release);
        }
        if (c.owes) may_be_due($).exchange(true, mo_acq_rel);
        if (c.note || (c.owes && !noted($).load(mo_relaxed))) note();
    }
    bool settle() { // page_queues::flush
        owing($) = false;
        look_at($) = 1;
        const unsigned n = slots($);
        slots($) = 0;
        inside(); // slot_state::flush_locked
        const std::uint64_t now = word($).fetch_sub(owed - n, mo_acq_rel) - (owed - n);
        const bool due = (now & noted_page) == 0 && count_of(now) >= slot_count;
        const change c = due ? give_back(0) : change{};
        if (c.note) empties($).fetch_add(1, mo_release);
        return c.note;
    }
    void put_locked() { // slot_store::count_locked
        inside();
        slots($) = slots($) + 1;
        if (slots($) < look_at($)) return;
        if (!owing($)) {
            owing($) = true;
            word($).fetch_or(owed, mo_acq_rel);
        }
        if (is_due() && settle()) note();
    }
    bool is_due() { // locked_free_count::defer
        const std::uint64_t now = word($).load(mo_acquire);
        const std::int64_t due = (now & noted_page) != 0 ? 1000 : slot_count - count_of(now);
        look_at($) = due > 0 ? static_cast<unsigned>(due) : 1;
        return due <= static_cast<std::int64_t>(slots($));
    }
    bool find_due() { // page_queues
        if (!may_be_due($).exchange(false, mo_acq_rel) || !owing($) || !is_due()) return false;
        may_be_due($).store(true, mo_relaxed);
        settle();
        return true;
    }
    void collect() { // page_queues::collect
        while (find_due()) continue;
        if (empties($).load(mo_relaxed) == 0) return;
        empties($).exchange(0, mo_acquire);
        if (owing($)) settle();
        std::uint64_t was = word($).load(mo_acquire); // slot_state::empty_or_unnote
        do
            if (count_of(was) >= slot_count) {
                RL_ASSERT(!gone);
                gone = true;
                return;
            }
        while (!word($).compare_exchange_weak(was, was & ~noted_page, mo_acq_rel, mo_acquire));
    }
    void collect_noted() { // heap_group::collect
        if (!noted($).exchange(false, mo_acq_rel)) return;
        lock.lock($);
        if (!gone) collect();
        lock.unlock($);
    }

    void thread(unsigned index) {
        if (index == 0) {
            for (unsigned i = 0; i < 2; ++i) {
                lock.lock($);
                put_locked();
                lock.unlock($);
            }
        } else if (index == 1) {
            put();
        } else if (index == 2) { // page_queues::claim finds none
            lock.lock($);
            if (may_be_due($).load(mo_relaxed)) find_due(); // page_queues::flush_due
            else if (owing($)) settle();                    // another page takes its place: flush_or_defer
            lock.unlock($);
        } else {
            collect_noted();
            if (Twice) collect_noted();
        }
    }
    void after() {
        RL_ASSERT(gone || noted($).load(mo_relaxed));
        collect_noted();
        RL_ASSERT(gone);
    }
};

} // namespace

int main() { return holds<held<false>>(100000, 2) && holds<held<true>>(100000, 2) ? 0 : 1; }
