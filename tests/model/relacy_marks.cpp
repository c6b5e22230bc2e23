// slots/scanning.hpp in a heaplet, and slots/delay_release.hpp, where one releaser tallies two slots before it tells:
// relacy_heaplet.hpp has what is held. What was counted is always found, also when slots that were not were claimed.

#include "relacy_heaplet.hpp"

namespace {

// slots/scanning.hpp, with groups of two slots.
struct scanning_model {
    static constexpr unsigned group = 2;
    rl::atomic<unsigned> hints, marks[slot_count];
    unsigned at = 0;

    void reset() {
        hints($).store(0, mo_relaxed);
        for (auto& m : marks) m($).store(0, mo_relaxed);
        at = 0;
    }
    void hint(unsigned g) { // in_page::hint
        if ((hints($).load(mo_relaxed) & (1u << g)) == 0) hints($).fetch_or(1u << g, mo_relaxed);
    }
    void put(const unsigned* slots, unsigned n) { // in_page::put
        for (unsigned i = 0; i < n; ++i) marks[slots[i]]($).store(1, mo_release);
        rl::atomic_thread_fence(mo_seq_cst, $); // full_fence
        for (unsigned i = 0; i < n; ++i) hint(slots[i] / group);
    }
    unsigned look(unsigned end, unsigned* out, unsigned n) { // in_page::look
        unsigned got = 0;
        for (; at < end && at < slot_count && got < n; ++at)
            if (marks[at]($).load(mo_seq_cst) != 0) {
                marks[at]($).store(0, mo_relaxed);
                out[got++] = at;
            }
        return got;
    }
    unsigned claim(unsigned* out, unsigned n) { // in_page::claim
        unsigned got = look((at + group - 1) / group * group, out, n);
        while (got < n) {
            const unsigned some = hints($).load(mo_relaxed);
            if (some == 0) break;
            at = static_cast<unsigned>(__builtin_ctz(some)) * group;
            hints($).fetch_and(~(some & (0 - some)), mo_seq_cst);
            // The read-modify-write orders the seq_cst loads of marks behind fences that come before it, as C++20 has
            // it
            // ([atomics.order] 4); relacy asks for a fence. (RL_IMPROVED_SEQ_CST_RMW makes one of every
            // read-modify-write, relaxed ones too, which hid that the loads must acquire.)
            rl::atomic_thread_fence(mo_seq_cst, $);
            got += look(at + group, out + got, n - got);
        }
        return got;
    }
};

} // namespace

// An argument: three times as many.
int main(int argc, char**) {
    const unsigned runs = argc > 1 ? 300000 : 100000;
    return holds<heaplet<scanning_model, false>>(runs, 1) && holds<heaplet<scanning_model, true>>(runs, 1) &&
                   holds<heaplet<scanning_model, false, true>>(runs, 1) &&
                   holds<heaplet<scanning_model, true, true>>(runs, 1)
               ? 0
               : 1;
}
