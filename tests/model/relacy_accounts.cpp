// ledger/account.hpp and account_climb.hpp: a root, a query, and two leaves, one with steps; under every interleaving of few
// preemptions a large request that fails, small charges that fit, refunds that find the lock taken, a transfer.
//
// Held: used <= limit at each level, whenever anybody looks; a charge that fits but for requests that fail is not refused; no level's
// peak counts what was refused; when all is done and settled, sums are right.
#include "relacy_common.hpp"

#include <allot/ledger/room_word.hpp>

#include <algorithm>

namespace {

using room_word = allot::detail::room_word;
constexpr std::size_t step = 4;

struct level {
    rl::atomic<std::uint64_t> word;
    rl::atomic<bool> noted;
    rl::atomic<std::uint32_t> inside;
    level* parent;
    bool steps;
    // by the lock; ghosts, since relacy runs its threads one at a time
    std::size_t own, total, peak, limit;
};

// Four threads: Fails asks for too much; Charges charges and refunds at the leaf with steps; Moves transfers from it; Refunds.
// Left out: one of them does nothing; 4: all do.
template <unsigned Left> struct tree : rl::test_suite<tree<Left>, 4> {
    level root, query, exact, stepping;
    rl::atomic<bool> lock;
    rl::atomic<level*> stack; // of one place: noted leaves are exact and stepping
    rl::atomic<level*> stack2;
    std::size_t truth_exact, truth_stepping; // what was charged and not refunded, as the callers know

    void start(level& l, level* parent, std::size_t limit, bool steps) {
        l.word($).store(room_word{}.bits, mo_relaxed);
        l.noted($).store(false, mo_relaxed);
        l.inside($).store(0, mo_relaxed);
        l.parent = parent;
        l.steps = steps;
        l.own = l.total = l.peak = 0;
        l.limit = limit;
    }
    void before() {
        start(root, nullptr, 20, false);
        start(query, &root, 100, false);
        start(exact, &query, 100, false);
        start(stepping, &query, 100, true);
        lock($).store(false, mo_relaxed);
        stack($).store(nullptr, mo_relaxed);
        stack2($).store(nullptr, mo_relaxed);
        truth_exact = truth_stepping = 0;
        take(exact, 6); // part of what is there from the start
        truth_exact = 6;
    }
    bool try_lock() { return !lock($).exchange(true, mo_acquire); }
    void unlock() {
        for (level* l : {&root, &query, &exact, &stepping}) RL_ASSERT(l->total <= l->limit && l->peak <= l->limit);
        lock($).store(false, mo_release);
    }
    void wait_lock() {
        while (!try_lock()) rl::yield(1, $);
    }

    void note_peak(level& l, std::size_t least) { l.peak = std::max(l.peak, l.total > least ? l.total - least : 0); }
    void climb(level* l, std::ptrdiff_t by) { // account::climb, without reservations
        for (; l != nullptr; l = l->parent) {
            note_peak(*l, 0);
            l->total += static_cast<std::size_t>(by);
            note_peak(*l, 0);
        }
    }
    void end_grant(level& l) { // account::end_grant
        room_word w{l.word($).load(mo_relaxed)};
        if (w.room() != w.least())
            while (!l.word($).compare_exchange_weak(w.bits, w.anew().bits, mo_relaxed)) {}
        note_peak(l, w.least());
    }
    std::size_t take_back(level& l, bool all, bool open) { // account::take_back
        room_word w{l.word($).load(mo_relaxed)};
        std::size_t back;
        do {
            const std::size_t used = l.own - w.room(), whole = all ? used : (used + step - 1) / step * step;
            back = l.own > whole ? l.own - whole : 0;
            if (back == 0 && open == w.open()) return 0;
        } while (!l.word($).compare_exchange_weak(w.bits, room_word::of(w.room() - back, open).bits, mo_relaxed));
        note_peak(l, w.least());
        l.own -= back;
        l.total -= back;
        climb(l.parent, -static_cast<std::ptrdiff_t>(back));
        return back;
    }
    void settle(level& l) {
        const room_word w{l.word($).load(mo_relaxed)};
        take_back(l, !w.open(), w.open());
    }
    void settle_noted() { // account::settle_noted; a place a leaf stands for the stack, which has its own model
        for (rl::atomic<level*>* place : {&stack, &stack2})
            if (level* const l = (*place)($).exchange(nullptr, mo_acquire)) {
                l->noted($).exchange(false, mo_acq_rel);
                settle(*l);
            }
    }
    bool fits(level* l, std::size_t more) {
        for (; l != nullptr; l = l->parent)
            if (l->total + more > l->limit) return false;
        return true;
    }
    bool grant(level& l, room_word w, std::size_t want, std::size_t n) { // account::grant
        l.own += want;
        if (!l.word($).compare_exchange_strong(w.bits, room_word::of(w.room() + want - n, l.steps).bits, mo_relaxed)) {
            l.own -= want;
            return false;
        }
        note_peak(l, w.least());
        l.total += want;
        climb(l.parent, static_cast<std::ptrdiff_t>(want));
        return true;
    }
    bool take(level& l, std::size_t n) { // account::charge_locked
        wait_lock();
        settle_noted();
        for (int called_in = 0;;) {
            const room_word w{l.word($).load(mo_relaxed)};
            if (w.room() != 0 && !w.open()) {
                take_back(l, true, false);
                continue;
            }
            const std::size_t need = n > w.room() ? n - w.room() : 0;
            if (l.steps) {
                const std::size_t used = l.own - w.room() + n, whole = (used + step - 1) / step * step;
                if (whole > l.own && whole - l.own > need && fits(&l, whole - l.own)) {
                    if (grant(l, w, whole - l.own, n)) break;
                    continue;
                }
            }
            if (!fits(&l, need)) {
                if (called_in++ < 3 && take_back(stepping, true, room_word{stepping.word($).load(mo_relaxed)}.open()) != 0) continue;
                unlock();
                return false;
            }
            if (grant(l, w, need, n)) break;
        }
        unlock();
        return true;
    }
    bool charge(level& l, std::size_t n) { // account::take_room, then charge_slowly
        room_word w{l.word($).load(mo_relaxed)};
        do
            if (!w.serves(n)) return take(l, n);
        while (!l.word($).compare_exchange_weak(w.bits, w.taken(n).bits, mo_relaxed));
        return true;
    }
    void refund(level& l, std::size_t n) { // account::give_room, then refund_now
        room_word w{l.word($).load(mo_relaxed)};
        while (w.keeps(n, step))
            if (l.word($).compare_exchange_weak(w.bits, w.given(n).bits, mo_relaxed)) return;
        if (try_lock()) {
            settle_noted();
            RL_ASSERT(n <= l.own - room_word{l.word($).load(mo_relaxed)}.room());
            end_grant(l);
            l.own -= n;
            l.total -= n;
            climb(l.parent, -static_cast<std::ptrdiff_t>(n));
            settle(l);
            return unlock();
        }
        l.inside($).fetch_add(1, mo_seq_cst);
        w.bits = l.word($).load(mo_relaxed);
        while (!l.word($).compare_exchange_weak(w.bits, w.put(n).bits, mo_relaxed)) {}
        if (!l.noted($).exchange(true, mo_acq_rel)) (&l == &exact ? stack : stack2)($).store(&l, mo_release);
        l.inside($).fetch_sub(1, mo_release);
    }
    void move(level& from, level& to, std::size_t n) { // account::move_locked between siblings
        wait_lock();
        settle_noted();
        RL_ASSERT(n <= from.own - room_word{from.word($).load(mo_relaxed)}.room());
        const std::size_t above = query.total;
        for (level* l : {&from, &to}) {
            end_grant(*l);
            l->own += l == &to ? n : 0 - n;
            l->total += l == &to ? n : 0 - n;
        }
        RL_ASSERT(query.total == above);
        unlock();
    }

    void thread(unsigned index) {
        if (index == Left) return;
        if (index == 0) { // 6 are charged as long as this runs
            RL_ASSERT(!charge(exact, 15));
        } else if (index == 1) {
            RL_ASSERT(charge(stepping, 3)); // 6 + 3 + 5 + 2 <= 20, whatever leaves have ahead
            truth_stepping += 3;
            RL_ASSERT(charge(stepping, 2));
            truth_stepping += 2;
            truth_stepping -= 3;
            refund(stepping, 3);
        } else if (index == 2) {
            RL_ASSERT(charge(stepping, 5));
            move(stepping, exact, 5);
            refund(exact, 5);
        } else {
            RL_ASSERT(charge(exact, 4));
            refund(exact, 4);
        }
    }
    void after() {
        wait_lock();
        settle_noted();
        RL_ASSERT(room_word{exact.word($).load(mo_relaxed)}.room() == 0); // what was refunded is back at the root
        for (level* l : {&exact, &stepping}) take_back(*l, true, false);
        RL_ASSERT(exact.own == truth_exact && stepping.own == truth_stepping);
        RL_ASSERT(query.total == exact.total + stepping.total && root.total == query.total);
        RL_ASSERT(exact.peak <= 6 + 5 + 4 && stepping.peak <= 3 + 2 + 5);
        unlock();
    }
};

} // namespace

// All four at random; three of them in every interleaving of one or two preemptions.
int main() {
    return holds<tree<4>>(20000, 0) && holds<tree<0>>(1000, 1) && holds<tree<1>>(1000, 2) && holds<tree<2>>(1000, 2) && holds<tree<3>>(1000, 1) ? 0 : 1;
}
