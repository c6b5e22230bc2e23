// sync/owner_entry.hpp: the owner enters by a plain store and a look, another by asking and waiting; one at a time is
// inside, and sees what the last one left. For row_bins the look is at the table, and `asked` says that it is hidden. A
// fence in all threads (membarrier) is here one of the owner's own, as where there is none.
#include "relacy_common.hpp"

namespace {

struct enter_and_ask : rl::test_suite<enter_and_ask, 2> {
    rl::atomic<int> inside, asked;
    rl::var<int> blocks;
    int users; // ghost
    int past, taken, given;

    void before() {
        inside($).store(0, mo_relaxed);
        asked($).store(0, mo_relaxed);
        blocks($) = 0;
        users = past = taken = given = 0;
    }
    void use(int more) {
        RL_ASSERT(users++ == 0);
        blocks($) = more == 0 ? 0 : blocks($) + more;
        RL_ASSERT(--users == 0);
    }
    // owner_entry::enter, push, leave
    void push() {
        ++given;
        inside($).store(1, mo_relaxed);
        rl::atomic_thread_fence(mo_seq_cst, $); // full_fence, or the other's in this thread
        if (asked($).load(mo_acquire) == 0) {
            use(1);
            inside($).store(0, mo_release); // leave
        } else {
            ++past;
            inside($).store(0, mo_release);
        }
    }
    // thread_cache_registry::empty_all; it waits by looking again, here it goes
    void flush() {
        asked($).store(1, mo_relaxed);
        rl::atomic_thread_fence(mo_seq_cst, $); // process_fence
        if (inside($).load(mo_acquire) == 0) {
            taken += blocks($);
            use(0);
        }
        asked($).store(0, mo_release); // dismiss
    }
    void thread(unsigned index) {
        for (int i = 0; i != 2; ++i) {
            if (index == 0) push();
            else flush();
        }
    }
    void after() { RL_ASSERT(blocks($) + taken + past == given); }
};

} // namespace

int main() { return holds<enter_and_ask>(200000, 3) ? 0 : 1; }
