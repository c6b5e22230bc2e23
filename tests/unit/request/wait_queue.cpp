// The waiters of one level alone: which of them try, in which order. No threads, one account.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/request/wait_queue.hpp>

#include <cstddef>
#include <string>

using allot::detail::wait_queue;
using allot::detail::waiter;
using allot::detail::waits_of_tree;

namespace {

struct waiters {
    allot::account level{allot::name{"level"}};
    waits_of_tree tree;
    wait_queue queue;
    std::size_t free = 0;
    unsigned asked = 0; // whether one fits
    waiter w[3];

    // Sleep, the first for many bytes.
    waiters() {
        for (waiter& one : w) {
            add(one);
            sleep_for(one, &one == w ? 100 : 10);
        }
    }
    void add(waiter& one) {
        one.by = one.at = one.in = &level.node();
        tree.all.add(one);
        tree.begin_try(one);
        queue.add(one);
    }
    void sleep_for(waiter& one, std::size_t bytes) {
        one.bytes = one.least = bytes;
        queue.sleep(one, tree);
    }
    std::size_t promised() const {
        std::size_t sum = 0;
        for (const waiter* t = tree.triers.first(); t != nullptr; t = tree.triers.after(*t)) sum += t->needs();
        return sum;
    }
    waiter* choose() {
        const std::size_t room = free > promised() ? free - promised() : 0;
        return queue.choose(
            room, tree, [this](waiter& one) { return ++asked, one.bytes + promised() <= free; }, nullptr);
    }
    // Those that are woken, by number, the last one first; they begin to try.
    std::string wake() {
        std::string numbers;
        for (const waiter* n = choose(); n != nullptr; n = n->next_woken) numbers += static_cast<char>('0' + (n - w));
        return numbers;
    }
    void announce(const waiter* from = nullptr) {
        if (from == nullptr) return static_cast<void>(queue.announce());
        queue.each([&](waiter& o) {
            if (&o != from && (o.trying || o.slept >= from->began)) queue.note_missed(o);
        });
    }
    std::string sleep(int n) { return queue.sleep(w[n], tree), wake(); }
};

} // namespace

TEST_CASE("what is announced is tried for by one waiter after the other, once", "[reclaim][waiting]") {
    waiters all;
    CHECK(all.wake().empty());
    all.announce();
    CHECK(all.wake() == "0");
    CHECK(all.wake().empty());
    CHECK(all.sleep(0) == "1"); // though the first got nothing
    CHECK(all.sleep(1) == "2");
    CHECK(all.sleep(2).empty());
}

TEST_CASE("what is announced during a try is tried for behind it", "[reclaim][waiting]") {
    waiters all;
    all.announce();
    CHECK(all.wake() == "0");
    all.announce();
    CHECK(all.sleep(0) == "0");
    CHECK(all.sleep(0) == "1");
    CHECK(all.sleep(1) == "2");
    CHECK(all.sleep(2).empty());
}

TEST_CASE("one that begins to wait tries for what was announced since", "[reclaim][waiting]") {
    waiters all;
    waiter late;
    all.add(late);
    all.announce();
    CHECK(all.wake().empty()); // one tries
    all.sleep_for(late, 10);
    CHECK(all.wake() == "0");
    all.tree.triers.remove(all.w[0]);
    all.queue.remove(all.w[0]);
    CHECK(all.wake() == "1"); // its end
}

TEST_CASE("one that fits does not wait for a try that was announced", "[reclaim][waiting]") {
    waiters all;
    all.announce();
    CHECK(all.wake() == "0");
    all.free = 120; // 100 of them are promised
    CHECK(all.wake() == "21");
}

TEST_CASE("what a try gives back wakes neither itself nor those that slept meanwhile", "[reclaim][waiting]") {
    waiters all;
    all.announce();
    CHECK(all.wake() == "0");
    all.announce(all.w);
    CHECK(all.sleep(0) == "1"); // by the first announcement
    all.announce(&all.w[1]);
    CHECK(all.sleep(1) == "2");
    CHECK(all.sleep(2).empty());
}

TEST_CASE("what a try gives back is tried for by one that tried meanwhile", "[reclaim][waiting]") {
    waiters all;
    all.free = 10;
    CHECK(all.wake() == "1");
    waiter late;
    all.add(late);
    all.sleep_for(late, 50);
    CHECK(all.wake().empty());
    all.announce(&all.w[1]);
    CHECK(all.choose() == nullptr); // one tries
    all.free = 0;
    all.queue.sleep(all.w[1], all.tree);
    CHECK(all.choose() == &late);
    all.queue.sleep(late, all.tree);
    CHECK(all.wake().empty());
}

TEST_CASE("a look where nobody fits asks no waiter", "[reclaim][waiting]") {
    waiters all;
    CHECK(all.wake().empty());
    all.asked = 0;
    all.free = 9;
    CHECK(all.wake().empty());
    CHECK(all.asked == 0);
    all.free = 10;
    CHECK(all.wake() == "1");
}

TEST_CASE("those behind one that is due wait, as long as it is first", "[reclaim][waiting]") {
    waiters all;
    all.free = 20;
    all.w[0].bypasses = waiter::most_bypasses;
    CHECK(all.wake().empty());
    all.asked = 0;
    CHECK(all.wake().empty()); // 100 bytes are needed, whatever the others need
    CHECK(all.asked == 0);
    waiter late;
    all.add(late);
    all.sleep_for(late, 10);
    late.passes = true;
    CHECK(all.choose() == &late);
    all.queue.remove(all.w[0]);
    CHECK(all.wake() == "1"); // beside the one that passed
}

TEST_CASE("patient ones are behind all others, and hold none of them back", "[reclaim][waiting]") {
    waiters all;
    waiter patient[2];
    for (waiter& one : patient) {
        one.patient = true;
        all.add(one);
        all.sleep_for(one, &one == patient ? 30 : 5);
    }
    waiter late;
    all.add(late);
    all.sleep_for(late, 10);
    patient[0].bypasses = waiter::most_bypasses;
    CHECK(all.queue.first(true) == &patient[0]);
    CHECK(all.queue.first(false) == all.w);
    CHECK(all.queue.shuts());
    all.free = 10;
    CHECK(all.wake() == "1");
    all.free = 20;
    CHECK(all.wake() == "2");
    all.free = 30;
    CHECK(all.choose() == &late);
    all.free = 59; // 29 are left, and the first patient one is due
    CHECK(all.choose() == nullptr);
    all.free = 60;
    CHECK(all.choose() == &patient[0]);
    all.queue.remove(patient[0]);
    CHECK(all.queue.first(true) == &patient[1]);
    for (waiter* const w : {&all.w[0], &all.w[1], &all.w[2], &late}) all.queue.remove(*w);
    CHECK(all.queue.first() == &patient[1]);
    CHECK(!all.queue.shuts());
    all.queue.remove(patient[1]);
    CHECK(all.queue.empty());
}
