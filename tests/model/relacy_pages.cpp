// page/page_bitmap.hpp with page/page_limit.hpp's count of taken pages: two words of one page each and their hints, a
// taker under the lock, givers without it. A page is taken once, with what its giver wrote; and a page that was given
// is found by the next taker, whatever the hints say.
#include "relacy_common.hpp"

namespace {

constexpr unsigned pages = 2;

struct bitmap : rl::test_suite<bitmap, 3> {
    rl::atomic<unsigned> words[pages], full, taken;
    rl::mutex lock;
    rl::var<int> memory[pages];
    bool owned[pages]; // ghost

    void before() {
        for (auto& w : words) w($).store(1, mo_relaxed);
        full($).store(0, mo_relaxed); // a hint that lacks its bits
        taken($).store(pages, mo_relaxed);
        for (unsigned i = 0; i < pages; ++i) {
            memory[i]($) = 1;
            owned[i] = true;
        }
    }
    void mark_if_full(unsigned w) { // page_bitmap::mark_if_full
        if (words[w]($).load(mo_seq_cst) == 0) return;
        full($).fetch_or(1u << w, mo_seq_cst);
        if (words[w]($).load(mo_seq_cst) == 0) full($).fetch_and(~(1u << w), mo_seq_cst);
    }
    int take_one() { // page_bitmap::find_one, take
        for (unsigned open; (open = ~full($).load(mo_seq_cst) & ((1u << pages) - 1)) != 0;) {
            const unsigned w = static_cast<unsigned>(__builtin_ctz(open));
            if (words[w]($).load(mo_seq_cst) != 0) {
                mark_if_full(w);
                continue;
            }
            words[w]($).fetch_or(1, mo_seq_cst);
            mark_if_full(w);
            return static_cast<int>(w);
        }
        return -1;
    }
    int take() { // arena_pages::take_found, page_limit::admits
        lock.lock($);
        int got = -1;
        if (taken($).load(mo_acquire) < pages) {
            got = take_one();
            RL_ASSERT(got >= 0); // there is one: only this lock's holder takes
            taken($).fetch_add(1, mo_relaxed);
        }
        lock.unlock($);
        if (got >= 0) {
            RL_ASSERT(!owned[got]);
            owned[got] = true;
            memory[got]($) = 2;
        }
        return got;
    }
    void give(unsigned page) { // arena_pages::give, put_back; page_bitmap::give
        memory[page]($) = 3;
        RL_ASSERT(owned[page]);
        owned[page] = false;
        words[page]($).fetch_and(0, mo_seq_cst);
        full($).fetch_and(~(1u << page), mo_seq_cst);
        taken($).fetch_sub(1, mo_release);
    }
    void thread(unsigned index) {
        if (index < 2) give(index);
        else
            for (int i = 0; i < 2; ++i)
                if (const int got = take(); got >= 0 && i == 0) give(static_cast<unsigned>(got));
    }
    void after() {
        for (unsigned i = 0; i < pages; ++i)
            if (!owned[i]) RL_ASSERT(take() >= 0);
        RL_ASSERT(take() < 0);
    }
};

} // namespace

int main() { return holds<bitmap>(300000, 3) ? 0 : 1; }
