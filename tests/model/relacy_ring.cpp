// watch/event_ring.hpp: a reader gets whole events only, while writers go round a ring of one entry.
#include "relacy_common.hpp"

namespace {

constexpr unsigned events = 1, writers = 3;

struct ring : rl::test_suite<ring, writers + 1> {
    struct entry {
        rl::atomic<unsigned> turn, first, second;
    };
    entry entries[events];
    rl::atomic<unsigned> next;
    int written, dropped; // ghosts

    void before() {
        next($).store(0, mo_relaxed);
        for (entry& e : entries) {
            e.turn($).store(0, mo_relaxed);
            e.first($).store(0, mo_relaxed);
            e.second($).store(0, mo_relaxed);
        }
        written = dropped = 0;
    }
    void write() { // event_ring::write; an event's two values are its number and one more
        const unsigned number = next($).fetch_add(1, mo_relaxed);
        entry& e = entries[number % events];
        unsigned turn = e.turn($).load(mo_relaxed);
        if (turn % 2 != 0 || turn > 2 * number ||
            !e.turn($).compare_exchange_strong(turn, 2 * number + 1, mo_acquire, mo_relaxed)) {
            ++dropped;
            return;
        }
        e.first($).store(number + 1, mo_release);
        e.second($).store(number + 1, mo_release);
        e.turn($).store(2 * number + 2, mo_release);
        ++written;
    }
    void read() { // event_ring::visit
        const unsigned end = next($).load(mo_relaxed);
        for (unsigned number = end > events ? end - events : 0; number < end; ++number) {
            entry& e = entries[number % events];
            if (e.turn($).load(mo_acquire) != 2 * number + 2) continue;
            const unsigned first = e.first($).load(mo_acquire), second = e.second($).load(mo_acquire);
            if (e.turn($).load(mo_relaxed) == 2 * number + 2) RL_ASSERT(first == number + 1 && second == number + 1);
        }
    }
    void thread(unsigned index) {
        if (index < writers) return write();
        read();
        read();
    }
    void after() {
        RL_ASSERT(written + dropped == static_cast<int>(writers));
        read();
    }
};

} // namespace

int main() { return holds<ring>(300000, 2) ? 0 : 1; }
