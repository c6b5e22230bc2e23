// The slot policies that keep a list and bits, in a heaplet: relacy_heaplet.hpp tells what is held.
#include "relacy_heaplet.hpp"

namespace {

// slots/linked.hpp: 0 ends the list, slot i is i + 1.
struct linked_model {
    rl::atomic<unsigned> head;
    rl::var<unsigned> link[slot_count];
    unsigned chain = 0;

    void reset() {
        head($).store(0, mo_relaxed);
        chain = 0;
    }
    void put(const unsigned* slots, unsigned n) { // in_page::put
        for (unsigned i = 0; i + 1 < n; ++i) link[slots[i]]($) = slots[i + 1] + 1;
        unsigned was = head($).load(mo_relaxed);
        do link[slots[n - 1]]($) = was;
        while (!head($).compare_exchange_weak(was, slots[0] + 1, mo_release, mo_relaxed));
    }
    unsigned claim(unsigned* out, unsigned n) { // in_page::claim
        unsigned got = 0;
        while (got < n) {
            if (chain == 0) chain = head($).exchange(0, mo_acquire);
            if (chain == 0) break;
            out[got] = chain - 1;
            chain = link[out[got]]($);
            ++got;
        }
        return got;
    }
};

// slots/bitmap.hpp, with words of two slots.
struct bitmap_model {
    rl::atomic<unsigned> summary;
    rl::atomic<unsigned> words[(slot_count + 1) / 2];

    void reset() {
        summary($).store(0, mo_relaxed);
        for (auto& w : words) w($).store(0, mo_relaxed);
    }
    void set(unsigned at, unsigned bits) { // in_page::set
        words[at]($).fetch_or(bits, mo_seq_cst);
        if ((summary($).load(mo_seq_cst) & (1u << at)) == 0) summary($).fetch_or(1u << at, mo_seq_cst);
    }
    void put(const unsigned* slots, unsigned n) {
        for (unsigned i = 0; i < n; ++i) set(slots[i] / 2, 1u << slots[i] % 2);
    }
    unsigned claim(unsigned* out, unsigned n) { // in_page::claim, take_word
        unsigned got = 0;
        while (got < n) {
            const unsigned some = summary($).load(mo_relaxed);
            if (some == 0) break;
            const unsigned at = static_cast<unsigned>(__builtin_ctz(some));
            summary($).fetch_and(~(1u << at), mo_seq_cst);
            unsigned bits = words[at]($).exchange(0, mo_seq_cst);
            for (; bits != 0 && got < n; bits &= bits - 1)
                out[got++] = at * 2 + static_cast<unsigned>(__builtin_ctz(bits));
            if (bits != 0) set(at, bits);
        }
        return got;
    }
};

} // namespace

// An argument: three times as many.
int main(int argc, char**) {
    const unsigned runs = argc > 1 ? 300000 : 100000;
    return holds<heaplet<linked_model, false>>(runs, 1) && holds<heaplet<linked_model, true>>(runs, 1) &&
                   holds<heaplet<bitmap_model, false>>(runs, 1) && holds<heaplet<bitmap_model, true>>(runs, 1)
               ? 0
               : 1;
}
