// row/link_count.hpp: of the holders of a row exactly one ends it, after all others are through with it.
#include "relacy_common.hpp"

namespace {

struct drops : rl::test_suite<drops, 3> {
    rl::atomic<std::uint32_t> word;
    rl::var<int> row;
    int ended;

    void before() {
        word($).store(2, mo_relaxed); // two holders; the third links before it is theirs
        row($) = 1;
        ended = 0;
    }
    // link_word::release_if_sole, then link_word::drop
    void release() {
        if (word($).load(mo_acquire) == 1) {
            word($).store(0, mo_relaxed);
            return end();
        }
        std::uint32_t was = word($).load(mo_acquire);
        if (was > 1) was = word($).fetch_sub(1, mo_acq_rel);
        RL_ASSERT(was != 0);
        if (was > 1) return;
        word($).store(0, mo_relaxed);
        end();
    }
    // A release that reads the count first: link_word::release_shared, then as above.
    void release_by_count() {
        if (word($).load(mo_acquire) > 1) {
            if (word($).fetch_sub(1, mo_acq_rel) != 1) return;
            word($).store(1, mo_relaxed);
        }
        release();
    }
    void end() {
        ++ended;
        row($) = -1; // the slot's next user
    }
    void thread(unsigned index) {
        if (index == 2) return;
        RL_ASSERT(row($) == 1);
        if (index == 0) {
            word($).fetch_add(1, mo_relaxed); // link_word::link
            RL_ASSERT(row($) == 1);
            release();
            RL_ASSERT(row($) == 1); // the other one is still held
            return release_by_count();
        }
        release();
    }
    void after() { RL_ASSERT(ended == 1); }
};

} // namespace

int main() { return holds<drops>(200000, 3) ? 0 : 1; }
