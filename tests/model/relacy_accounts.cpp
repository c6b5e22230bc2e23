// account/account.hpp, the code itself: a root, a query that may have a reservation, two leaves below it, one with
// steps, and one beside it. Requests that fail, small charges that fit, refunds that find the lock taken, transfers,
// bytes that are held and then confirmed or cancelled, a query that closes, and requests that wait.
//
// Held: used <= limit at each level, after each call; a charge that fits but for requests that fail, or for bytes that
// are held and then cancelled, is not refused; a reservation is always there; no level's peak counts what was refused
// or cancelled; when all is done and settled, sums are right.
#include "relacy_code.hpp"

#include <allot/account/account.hpp>

namespace {

using allot::account;
using allot::limit;
using allot::name;
constexpr std::size_t step = 4;

struct tree {
    account root{name{"root"}, limit{20}};
    account query{root, name{"query"}, limit{100}}, exact{query, name{"exact"}, limit{100}},
        stepping{query, name{"stepping"}, limit{100}, allot::credit_step{step}},
        beside{root, name{"beside"}, limit{100}};

    allot::account_reservation floor;

    explicit tree(std::size_t reserved) : floor(query.reserve_floor_for(reserved, allot::time_span{0})) {}
};

struct accounts {
    std::optional<tree> all;

    void start(std::size_t reserved) { all.emplace(reserved); }
    void look() { RL_ASSERT(all->root.used() <= 20); }
    bool charge(account& a, std::size_t bytes) {
        const bool good = a.try_charge(bytes).charged();
        look();
        return good;
    }
    void refund(account& a, std::size_t bytes) {
        a.refund(bytes);
        look();
    }
    bool hold(account& a, std::size_t bytes) {
        const bool good = a.try_hold(bytes).charged();
        look();
        return good;
    }
    void move(account& from, account& to, std::size_t bytes) {
        RL_ASSERT(account::transfer(from, to, bytes).fitted());
        look();
    }
    // What is refunded is back at the root, but for the credit of the leaf with steps.
    void end(std::size_t of_exact, std::size_t of_stepping) {
        RL_ASSERT(all->root.verify());
        RL_ASSERT(all->exact.stats().credit == 0 && all->beside.stats().credit == 0);
        RL_ASSERT(all->exact.used() == of_exact && all->stepping.used() == of_stepping && all->beside.used() == 0);
        all->exact.refund(of_exact), all->stepping.refund(of_stepping);
        RL_ASSERT(all->stepping.close() && all->exact.close() && all->query.used() == 0);
        RL_ASSERT(all->query.close() && all->root.used() == 0);
        all.reset();
    }
};

// Four threads: Fails asks for too much; Charges charges and refunds at the leaf with steps; Moves transfers from it;
// Refunds. Left out: one of them does nothing; 4: all do.
template <unsigned Left> struct shared_tree : rl::test_suite<shared_tree<Left>, 4>, accounts {
    void before() {
        start(0);
        RL_ASSERT(charge(all->exact, 6)); // as long as the threads run
    }
    void thread(unsigned index) {
        if (index == Left) return;
        if (index == 0) {
            RL_ASSERT(!charge(all->exact, 15));
        } else if (index == 1) {
            RL_ASSERT(charge(all->stepping, 3)); // 6 + 3 + 5 + 2 <= 20, whatever leaves have ahead
            RL_ASSERT(charge(all->stepping, 2));
            refund(all->stepping, 3);
        } else if (index == 2) {
            RL_ASSERT(charge(all->stepping, 5));
            move(all->stepping, all->exact, 5);
            refund(all->exact, 5);
        } else {
            RL_ASSERT(charge(all->exact, 4));
            refund(all->exact, 4);
        }
    }
    void after() {
        RL_ASSERT(all->exact.peak() <= 6 + 5 + 4 && all->stepping.peak() <= 3 + 2 + 5);
        RL_ASSERT(all->root.peak() <= 20);
        end(6, Left == 1 ? 0 : 2);
    }
};

// Two threads charge and refund within the credit of one leaf, while a third needs that credit for another.
struct one_leaf : rl::test_suite<one_leaf, 3>, accounts {
    void before() {
        start(0);
        RL_ASSERT(charge(all->stepping, 1));
    }
    void thread(unsigned index) {
        if (index == 2) {
            RL_ASSERT(charge(all->beside, 17)); // with at most 3 in use
            return refund(all->beside, 17);
        }
        RL_ASSERT(charge(all->stepping, 1));
        refund(all->stepping, 1);
        RL_ASSERT(charge(all->stepping, 1));
    }
    void after() {
        RL_ASSERT(all->stepping.peak() == 3 && all->root.peak() <= 20);
        end(0, 3);
    }
};

// Of the root's 20 the query has 8 for sure. Fails never fits beside them; Holds holds 9 beside, and confirms or
// cancels them; Charges has room within the reservation; Waits fits but for what is held, and moves within the query
// what it did not need to ask for there.
template <unsigned Left, bool Had> struct promised : rl::test_suite<promised<Left, Had>, 4>, accounts {
    void before() { start(8); }
    void thread(unsigned index) {
        if (index == Left) return;
        if (index == 0) {
            RL_ASSERT(!hold(all->beside, 13));
            RL_ASSERT(!charge(all->beside, 13));
        } else if (index == 1) {
            if (hold(all->beside, 9)) {
                if (!Had) return all->beside.cancel(9);
                all->beside.confirm(9);
                refund(all->beside, 9);
            } else {
                RL_ASSERT(Left != 3); // the other has 4
            }
        } else if (index == 2) {
            RL_ASSERT(charge(all->exact, 5)); // within the reservation, whoever fails or holds beside
            refund(all->exact, 5);
        } else {
            if (charge(all->beside, 4)) refund(all->beside, 4);
            else RL_ASSERT(Had && Left != 1); // the held bytes were confirmed
            RL_ASSERT(charge(all->stepping, 2));
            move(all->stepping, all->exact, 2);
            refund(all->exact, 2);
        }
    }
    void after() {
        RL_ASSERT(all->root.peak() <= 20 && all->beside.peak() <= 13 && all->exact.peak() <= 5 + 2 &&
                  all->query.peak() <= 5 + step); // of which a leaf has some ahead
        if (!Had) RL_ASSERT(all->beside.peak() <= 4 && all->root.peak() <= 5 + step + 4); // cancelled: in no peak
        end(0, 0);
    }
};

// The query closes while two leaves below it charge and one refunds: from the thread's own view no charge succeeds once
// it has returned, and the charge of a heir stays below.
struct closing_query : rl::test_suite<closing_query, 4>, accounts {
    std::optional<std::atomic<bool>> closed;
    std::size_t charged[2] = {};

    void before() {
        start(0);
        closed.emplace(false);
        RL_ASSERT(charge(all->exact, 2)); // so the query is not drained
        RL_ASSERT(charge(all->stepping, 1));
        charged[0] = charged[1] = 0;
    }
    void charge_once(unsigned index, account& a, std::size_t bytes) {
        const bool before = !closed->load(std::memory_order_acquire);
        const allot::charge_status s = a.try_charge(bytes);
        RL_ASSERT(s ? before : s.outcome == allot::charge_outcome::closed && s.at == &all->query);
        if (s) charged[index] += bytes;
    }
    void thread(unsigned index) {
        if (index == 0) {
            charge_once(0, all->stepping, 1); // within the credit
            charge_once(0, all->stepping, 3);
        } else if (index == 1) {
            charge_once(1, all->exact, 1);
            RL_ASSERT(charge(all->beside, 1)); // is not below
            refund(all->beside, 1);
        } else if (index == 2) {
            refund(all->stepping, 1);
        } else {
            RL_ASSERT(!all->query.close_when_drained([](account&, void*) noexcept {}));
            closed->store(true, std::memory_order_release);
        }
    }
    void after() {
        RL_ASSERT(!all->exact.try_charge(1) && !all->stepping.try_charge(1));
        RL_ASSERT(all->exact.used() == 2 + charged[1] && all->stepping.used() == charged[0]);
        RL_ASSERT(all->root.used() == 2 + charged[0] + charged[1] && all->root.verify());
        all->exact.refund(2 + charged[1]), all->stepping.refund(charged[0]);
        RL_ASSERT(all->root.used() == 0);
        closed.reset();
        all.reset();
    }
};

// A leaf waits for bytes that another one returns, while the lock is taken or not; a third one returns some into its
// credit; the fourth waits for what the first one returns. A wake-up that is lost is a thread that runs for ever.
template <unsigned Threads> struct waits : rl::test_suite<waits<Threads>, Threads>, accounts {
    void before() {
        start(0);
        RL_ASSERT(charge(all->exact, 6));
        RL_ASSERT(charge(all->stepping, 5));
    }
    void wait_for(account& by, std::size_t bytes) {
        RL_ASSERT(by.charge_for(bytes, allot::forever));
        look();
        refund(by, bytes);
    }
    // At any step of the thread that waits, which has many.
    static void late() {
        for (unsigned n = rl::rand(100); n != 0; --n) rl::yield(1, $);
    }
    void thread(unsigned index) {
        if (index == 0) wait_for(all->beside, 13);
        else if (index == 1) late(), all->exact.refund(6); // without a look, which takes the lock
        else if (index == 2) late(), all->stepping.refund(3);
        else wait_for(all->exact, 14);
    }
    void after() { end(0, Threads == 2 ? 5 : 2); }
};

} // namespace

// Random interleavings alone: each run has several hundred steps, so those of one preemption are too many. An argument:
// twenty times as many.
int main(int argc, char**) {
    const unsigned runs = argc > 1 ? 30000 : 1500;
    return holds<one_leaf>(5 * runs, 0) && holds<closing_query>(5 * runs, 0) && holds<shared_tree<4>>(10 * runs, 0) &&
                   holds<shared_tree<0>>(runs, 0) && holds<shared_tree<1>>(runs, 0) && holds<shared_tree<2>>(runs, 0) &&
                   holds<shared_tree<3>>(runs, 0) && holds<promised<4, false>>(5 * runs, 0) &&
                   holds<promised<4, true>>(5 * runs, 0) && holds<promised<0, false>>(runs, 0) &&
                   holds<promised<0, true>>(runs, 0) && holds<promised<2, false>>(runs, 0) &&
                   holds<promised<2, true>>(runs, 0) && holds<waits<2>>(20 * runs, 0) && holds<waits<3>>(5 * runs, 0) &&
                   holds<waits<4>>(5 * runs, 0)
               ? 0
               : 1;
}
