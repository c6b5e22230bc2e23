// ledger/account.hpp and account_climb.hpp: a root, a query that may have a reservation, two leaves below it, one with
// steps, and one beside it; under every interleaving of few preemptions requests that fail, small charges that fit,
// refunds that find the lock taken, transfers, and bytes that are held and then had or not.
//
// Held: used <= limit at each level, whenever anybody looks; a charge that fits but for requests that fail, or for what
// is held and then cancelled, is not refused; what is reserved is there; no level's peak counts what was refused or not
// had; when all is done and settled, sums are right.
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
    std::size_t own, total, pending, reserved, peak, limit;

    std::size_t claim() const { return std::max(total, reserved); }
    std::size_t met() const { return total - pending; }
    std::size_t met_claim() const { return std::max(met(), reserved); }
};
struct change {
    std::ptrdiff_t all, met;
};

struct accounts {
    level root, query, exact, stepping, beside;
    rl::atomic<bool> lock;
    rl::atomic<level*>
        noted[3]; // a place each for exact, stepping and beside stands for the stack, which has its own model
    std::size_t waiting;

    void start(level& l, level* parent, std::size_t limit, bool steps) {
        l.word($).store(room_word{}.bits, mo_relaxed);
        l.noted($).store(false, mo_relaxed);
        l.inside($).store(0, mo_relaxed);
        l.parent = parent;
        l.steps = steps;
        l.own = l.total = l.pending = l.reserved = l.peak = 0;
        l.limit = limit;
    }
    void start_all(std::size_t reserved) {
        start(root, nullptr, 20, false);
        start(query, &root, 100, false);
        start(exact, &query, 100, false);
        start(stepping, &query, 100, true);
        start(beside, &root, 100, false);
        lock($).store(false, mo_relaxed);
        for (auto& place : noted) place($).store(nullptr, mo_relaxed);
        waiting = 0;
        query.reserved = reserved;
        climb(&root, {static_cast<std::ptrdiff_t>(reserved), static_cast<std::ptrdiff_t>(reserved)});
    }
    rl::atomic<level*>& place_of(level& l) { return noted[&l == &exact ? 0 : &l == &stepping ? 1 : 2]; }
    bool try_lock() { return !lock($).exchange(true, mo_acquire); }
    void unlock() {
        for (level* l : {&root, &query, &exact, &stepping, &beside})
            RL_ASSERT(l->total <= l->limit && l->peak <= l->limit && l->pending <= l->total);
        lock($).store(false, mo_release);
    }
    void wait_lock() {
        while (!try_lock()) rl::yield(1, $);
    }

    void breathe() { // hold::breathe
        unlock();
        rl::yield(1, $);
        wait_lock();
        settle_noted();
    }

    void note_peak(level& l, std::size_t least) { l.peak = std::max(l.peak, l.met() > least ? l.met() - least : 0); }
    change shift(level& l, change by) { // account::shift
        const std::size_t was = l.claim(), was_met = l.met_claim();
        l.total += static_cast<std::size_t>(by.all);
        l.pending += static_cast<std::size_t>(by.all - by.met);
        return {static_cast<std::ptrdiff_t>(l.claim() - was), static_cast<std::ptrdiff_t>(l.met_claim() - was_met)};
    }
    void climb(level* l, change by) { // account::climb; these have no room of their own
        for (; l != nullptr && (by.all != 0 || by.met != 0); l = l->parent) {
            note_peak(*l, 0);
            by = shift(*l, by);
            note_peak(*l, 0);
        }
    }
    void end_grant(level& l) { // account::end_grant
        room_word w{l.word($).load(mo_relaxed)};
        if (w.room() != w.least())
            while (!l.word($).compare_exchange_weak(w.bits, w.anew().bits, mo_relaxed)) {
            }
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
        const auto by = -static_cast<std::ptrdiff_t>(back);
        climb(l.parent, shift(l, {by, by}));
        return back;
    }
    void settle(level& l) {
        const room_word w{l.word($).load(mo_relaxed)};
        take_back(l, !w.open(), w.open());
    }
    void settle_noted() { // account::settle_noted
        for (auto& place : noted)
            if (level* const l = place($).exchange(nullptr, mo_acquire)) {
                l->noted($).exchange(false, mo_acq_rel);
                settle(*l);
            }
    }
    struct found {
        level* at;
        std::size_t more;
    };
    found look(level* l, std::size_t more) { // account::look
        for (; l != nullptr && more != 0; l = l->parent) {
            if (l->total + more > l->limit) return {l, more};
            more = std::max(l->total + more, l->reserved) - l->claim();
        }
        return {nullptr, 0};
    }
    bool fits(level* l, std::size_t more) { return look(l, more).at == nullptr; }
    bool stepping_is_below(level* at) { return at == &stepping || at == &query || at == &root; }
    bool grant(level& l, room_word w, std::size_t want, std::size_t n, bool held) { // account::grant
        l.own += want;
        if (!l.word($).compare_exchange_strong(w.bits, room_word::of(w.room() + want - n, l.steps && !held).bits,
                                               mo_relaxed)) {
            l.own -= want;
            return false;
        }
        note_peak(l, w.least());
        const auto by = static_cast<std::ptrdiff_t>(want);
        climb(l.parent, shift(l, {by, held ? by - static_cast<std::ptrdiff_t>(n) : by}));
        return true;
    }
    bool take(level& l, std::size_t n, bool held = false) { // account::charge_locked
        wait_lock();
        settle_noted();
        bool waits = false, good = true;
        while (held && waiting != 0) breathe();
        for (int called_in = 0;;) {
            const room_word w{l.word($).load(mo_relaxed)};
            if (w.room() != 0 && !w.open()) {
                take_back(l, true, false);
                continue;
            }
            const std::size_t need = n > w.room() ? n - w.room() : 0;
            if (l.steps && !held) {
                const std::size_t used = l.own - w.room() + n, whole = (used + step - 1) / step * step;
                if (whole > l.own && whole - l.own > need && fits(&l, whole - l.own)) {
                    if (grant(l, w, whole - l.own, n, false)) break;
                    continue;
                }
            }
            const found f = look(&l, need);
            if (f.at != nullptr) {
                if (called_in++ < 3 && stepping_is_below(f.at) &&
                    take_back(stepping, true, room_word{stepping.word($).load(mo_relaxed)}.open()) != 0)
                    continue;
                if (f.at->pending != 0 && f.at->met() + f.more <= f.at->limit) { // looked::only_pending
                    if (!waits) waits = true, ++waiting;
                    breathe();
                    called_in = 0;
                    continue;
                }
                good = false;
                break;
            }
            if (grant(l, w, need, n, held)) break;
        }
        waiting -= waits;
        unlock();
        return good;
    }
    void confirm(level& l, std::size_t n) { // account::confirm
        wait_lock();
        settle_noted();
        end_grant(l);
        climb(l.parent, shift(l, {0, static_cast<std::ptrdiff_t>(n)}));
        note_peak(l, 0);
        unlock();
    }
    void cancel(level& l, std::size_t n) { // account::cancel
        wait_lock();
        settle_noted();
        end_grant(l);
        l.own -= n;
        climb(l.parent, shift(l, {-static_cast<std::ptrdiff_t>(n), 0}));
        unlock();
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
            const auto by = -static_cast<std::ptrdiff_t>(n);
            climb(l.parent, shift(l, {by, by}));
            settle(l);
            return unlock();
        }
        l.inside($).fetch_add(1, mo_seq_cst);
        w.bits = l.word($).load(mo_relaxed);
        while (!l.word($).compare_exchange_weak(w.bits, w.put(n).bits, mo_relaxed)) {
        }
        if (!l.noted($).exchange(true, mo_acq_rel)) place_of(l)($).store(&l, mo_release);
        l.inside($).fetch_sub(1, mo_release);
    }
    void move(level& from, level& to, std::size_t n) { // account::move_locked; `top` is above both
        wait_lock();
        settle_noted();
        RL_ASSERT(n <= from.own - room_word{from.word($).load(mo_relaxed)}.room());
        level* const top = &to == &beside ? &root : &query;
        const std::size_t above = top->total;
        change net{0, 0};
        for (level* leaf : {&from, &to}) {
            end_grant(*leaf);
            const auto by = leaf == &to ? static_cast<std::ptrdiff_t>(n) : -static_cast<std::ptrdiff_t>(n);
            leaf->own += static_cast<std::size_t>(by);
            change c{by, by};
            for (level* l = leaf; l != top; l = l->parent) c = shift(*l, c), note_peak(*l, 0);
            net.all += c.all, net.met += c.met;
        }
        climb(top, net);
        RL_ASSERT(top != &query || top->total == above);
        unlock();
    }
    void at_the_end(std::size_t of_exact, std::size_t of_stepping, std::size_t of_beside) {
        wait_lock();
        settle_noted();
        for (level* l : {&exact, &beside})
            RL_ASSERT(room_word{l->word($).load(mo_relaxed)}.room() == 0); // what was refunded is back at the root
        for (level* l : {&exact, &stepping, &beside}) take_back(*l, true, false);
        RL_ASSERT(exact.own == of_exact && stepping.own == of_stepping && beside.own == of_beside);
        RL_ASSERT(query.total == exact.total + stepping.total && root.total == query.claim() + beside.total);
        for (level* l : {&root, &query, &exact, &stepping, &beside}) RL_ASSERT(l->pending == 0);
        RL_ASSERT(waiting == 0);
        unlock();
    }
};

// Four threads: Fails asks for too much; Charges charges and refunds at the leaf with steps; Moves transfers from it;
// Refunds. Left out: one of them does nothing; 4: all do.
template <unsigned Left> struct tree : rl::test_suite<tree<Left>, 4>, accounts {
    std::size_t truth_exact, truth_stepping; // what was charged and not refunded, as the callers know

    void before() {
        start_all(0);
        truth_stepping = 0;
        take(exact, 6); // part of what is there from the start
        truth_exact = 6;
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
        at_the_end(truth_exact, truth_stepping, 0);
        RL_ASSERT(exact.peak <= 6 + 5 + 4 && stepping.peak <= 3 + 2 + 5);
    }
};

// Of the root's 20 the query has 8 for sure. Fails never fits beside them; Holds holds 9 beside, and has them or not;
// Charges has room within the reservation; Waits fits but for what is held, and moves out of the query what it did not
// need to ask for there.
template <unsigned Left, bool Had> struct promised : rl::test_suite<promised<Left, Had>, 4>, accounts {
    void before() { start_all(8); }
    void thread(unsigned index) {
        if (index == Left) return;
        if (index == 0) {
            RL_ASSERT(!take(beside, 13, true));
            RL_ASSERT(!charge(beside, 13));
        } else if (index == 1) {
            if (take(beside, 9, true)) {
                if (!Had) return cancel(beside, 9);
                confirm(beside, 9);
                refund(beside, 9);
            } else RL_ASSERT(Left != 3); // the other has 4
        } else if (index == 2) {
            RL_ASSERT(charge(exact, 5)); // within the reservation, whoever fails or holds beside
            refund(exact, 5);
        } else {
            if (charge(beside, 4)) refund(beside, 4);
            else RL_ASSERT(Had && Left != 1); // who holds must have had it
            RL_ASSERT(charge(stepping, 2));
            move(stepping, exact, 2);
            refund(exact, 2);
        }
    }
    void after() {
        at_the_end(0, 0, 0);
        RL_ASSERT(root.peak <= 20 && beside.peak <= 13 && exact.peak <= 5 + 2 &&
                  query.peak <= 5 + step);                                  // of which a leaf has some ahead
        if (!Had) RL_ASSERT(beside.peak <= 4 && root.peak <= 5 + step + 4); // what was held is in no peak
    }
};

} // namespace

// All four at random; three of them in every interleaving of one or two preemptions. An argument: more of both.
int main(int argc, char**) {
    const unsigned more = argc > 1 ? 1 : 0, runs = more != 0 ? 10 : 1;
    return holds<tree<4>>(20000 * runs, 0) && holds<tree<0>>(1000, 1 + more) && holds<tree<1>>(1000, 2 + more) &&
                   holds<tree<2>>(1000, 2 + more) && holds<tree<3>>(1000, 1 + more) &&
                   holds<promised<4, false>>(10000 * runs, 0) && holds<promised<4, true>>(10000 * runs, 0) &&
                   holds<promised<0, false>>(1000, 2 + more) && holds<promised<0, true>>(1000, 1 + more) &&
                   holds<promised<2, false>>(1000, 1 + more) && holds<promised<2, true>>(1000, 1 + more)
               ? 0
               : 1;
}
