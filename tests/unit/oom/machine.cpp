// The decisions of the OOM state machine, one event after the other: no threads, no accounts, no clock. B1 to B12 are
// what was found in Spark-RAPIDS' code: each case that names one would show it here.
#include <support/catch.hpp>
#include <support/machine.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace allot::oom;
using allot::memory_kind;
using support::tasks_of;
using enum thread_state;

TEST_CASE("the last one is rolled back first; the first one tries alone, and is split", "[oom]") {
    tasks_of all{3};
    CHECK(all.fails(1) == "");
    CHECK(all.fails(2) == "");
    CHECK(all.fails(0) == "2 rolled_back"); // by the event that completes the deadlock, not later: B11
    CHECK(all.sleeps(2) == "1 rolled_back");
    CHECK(all.sleeps(1) == "0 tries_alone"); // its request, beside what it has taken
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 tries_alone"); // its whole attempt
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 split");
    CHECK(all.step(0, event::thrown) == "");
    CHECK(all.finishes(0) == "1 woken"); // one at a scope's end
    CHECK(all.ends(0) == "2 woken");     // others at a task's
    CHECK(all.all[1].attempts == 1);
}

TEST_CASE("an attempt alone that is granted is progress for the others", "[oom]") {
    tasks_of all{2};
    all.fails(0), all.fails(1);
    CHECK(all.sleeps(1) == "0 tries_alone");
    CHECK(all.all.announce(0, memory_kind::host, 1, all.sink()));
    CHECK(all.step(0, event::granted) == "");
    CHECK(all.fails(0) == "0 tries_alone"); // its next request: a new attempt
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 tries_alone");
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 split");
    CHECK(all.step(0, event::thrown) == "");
    CHECK(all.finishes(0) == "1 woken");
    CHECK(all.fails(1) == "");
    CHECK(all.fails(0) == "1 rolled_back");
    CHECK(all.sleeps(1) == "0 tries_alone"); // that it failed alone before the progress says nothing
}

TEST_CASE("an attempt is alone only while all others are rolled back", "[oom]") {
    tasks_of all{2};
    all.fails(0), all.fails(1);
    CHECK(all.sleeps(1) == "0 tries_alone");
    all.add_thread(all.add_task()); // another task comes
    CHECK(all.fails(0) == "");
    CHECK(all[0] == blocked);
    CHECK(all.fails(2) == "2 rolled_back");
    CHECK(all.sleeps(2) == "0 tries_alone");
}

TEST_CASE("an attempt that began beside others is made again alone before a split; one that began alone is not",
          "[oom]") {
    tasks_of one{1};
    CHECK(one.fails(0) == "0 tries_alone");
    CHECK(one.fails(0) == "0 rolled_back");
    CHECK(one.sleeps(0) == "0 split");
    CHECK(one.step(0, event::thrown) == ""); // its first part begins alone
    CHECK(one.fails(0) == "0 tries_alone");
    CHECK(one.fails(0) == "0 rolled_back");
    one.add_thread(one.add_task()); // beside this one it did not
    CHECK(one.fails(1) == "");
    CHECK(one.sleeps(0) == "1 tries_alone");
    CHECK(one.fails(1) == "1 rolled_back");
    CHECK(one.sleeps(1) == "0 split"); // there was no progress since it tried
}

TEST_CASE("a request that a limit of its task alone refuses waits for no other task", "[oom]") {
    tasks_of all{2, rules{}};
    const auto fails_at_own_limit = [&](thread_id t) {
        CHECK(all.all.announce(t, memory_kind::host, 1, all.sink()));
        CHECK(all.all.fail(t, allot::oom::detail::failed_by_own_limit, all.sink()));
        return all.decided();
    };
    const thread_id helper = all.add_thread(all.tasks[1]);
    CHECK(fails_at_own_limit(1) == "");                   // the other thread of its task runs
    CHECK(fails_at_own_limit(helper) == "2 rolled_back"); // thread 0 runs, and is not asked
    CHECK(all.sleeps(helper) == "1 tries_alone");
    CHECK(fails_at_own_limit(1) == "1 rolled_back");
    CHECK(all.sleeps(1) == "1 tries_alone");
    CHECK(all.finishes(0) == ""); // progress of others says nothing
    CHECK(fails_at_own_limit(1) == "1 rolled_back");
    CHECK(all.finishes(0) == "");
    CHECK(all.sleeps(1) == "1 split");
    CHECK(all.step(1, event::thrown) == "");
    CHECK(all.step(helper, event::woken) == "2 woken");
    CHECK(all.waits(helper, waits_for::task, all.tasks[0]) == "");
    CHECK(fails_at_own_limit(1) == ""); // others may end the helper's wait
    CHECK(all.waits(helper, waits_for::pool) == "1 tries_alone");
}

TEST_CASE("a thread that waits for its own task holds up no other thread of it", "[oom]") {
    for (const waits_for what : {waits_for::task, waits_for::pool, waits_for::resource}) {
        CAPTURE(static_cast<int>(what));
        tasks_of all{3};
        const resource_id r = all.all.add_resource();
        all.all.hold(r, all.tasks[1], true, all.sink());
        const thread_id helper = all.add_thread(all.tasks[1]);
        CHECK(all.waits(helper, what, what == waits_for::task ? all.tasks[1] : r) == "");
        CHECK(all.fails(0) == "");
        CHECK(all.fails(2) == ""); // thread 1 runs, and may free memory
        CHECK(all.fails(1) == "2 rolled_back");
    }
}

TEST_CASE("a thread that works for another task by an inner token is no thread of the outer one meanwhile", "[oom]") {
    tasks_of all{3};
    all.all.cover(0, true, all.sink());
    CHECK(all.fails(1) == "");
    CHECK(all.fails(2) == "2 rolled_back");
    all.all.cover(0, false, all.sink());
    CHECK(all.sleeps(2) == "");
}

TEST_CASE("the end of a task wakes those that fit beside others, in order, by what each had and requested", "[oom]") {
    constexpr std::int64_t all_bytes = allot::oom::detail::whole_share, half = all_bytes / 2;
    struct {
        std::int64_t each, of_one_that_runs;
        const char* woken;
    } const cases[] = {
        {half, 0, "1 woken, 2 woken"},
        {half + 1, 0, "1 woken"},
        {all_bytes / 3, 0, "1 woken, 2 woken, 3 woken"},
        {0, 0, "1 woken"},         // not known
        {all_bytes, 0, "1 woken"}, // nobody is known to be in its way
        {half, half, "1 woken"},
        {half, half + 1, ""},
        {0, 1, ""},
    };
    for (const auto& c : cases)
        for (const bool is_all : {false, true}) {
            CAPTURE(c.each, c.of_one_that_runs, is_all);
            tasks_of all{5, rules{.all_are_woken = is_all}};
            all.fails(4, 1, memory_kind::host, c.of_one_that_runs), all.step(4, event::may_fit);
            for (const thread_id t : {3U, 1U, 2U})
                all.fails(t, 1, memory_kind::host, c.each), all.step(t, event::rolled_back), all.sleeps(t);
            CHECK(all.ends(0) == (is_all ? "1 woken, 2 woken, 3 woken" : c.woken));
        }
}

TEST_CASE("a scope costs the same beside ten and two thousand threads that run", "[oom]") {
    const auto time_of = [](tasks_of& all) {
        const auto begin = std::chrono::steady_clock::now();
        for (int n = 0; n != 200; ++n) {
            all.all.leave_scope(0, true, SIZE_MAX, all.sink(), 0);
            all.all.enter_scope(0);
        }
        return std::chrono::steady_clock::now() - begin;
    };
    tasks_of few{10, rules{}}, many{2'000, rules{}};
    auto of_few = std::chrono::steady_clock::duration::max(), of_many = of_few;
    for (int round = 0; round != 20; ++round) // in turn, the quickest of each: the machine has other work
        of_few = std::min(of_few, time_of(few)), of_many = std::min(of_many, time_of(many));
    CHECK(of_many < 10 * of_few); // two hundred times, if it looked at all threads
}

TEST_CASE("half of what a task had is forgotten with each part that it finishes", "[oom]") {
    tasks_of all{4, rules{}};
    all.fails(3, 1, memory_kind::host, allot::oom::detail::whole_share), all.step(3, event::may_fit);
    all.fails(2, 1, memory_kind::host, allot::oom::detail::whole_share / 2), all.step(2, event::rolled_back),
        all.sleeps(2);
    CHECK(all.ends(0) == "");
    all.finishes(3);
    CHECK(all.ends(1) == "2 woken");
}

TEST_CASE("rules: who splits, and whether one tries alone", "[oom]") {
    {
        tasks_of all{2, rules{.first_to_split = splits::lowest}};
        all.fails(0), all.fails(1);
        CHECK(all.sleeps(1) == "0 tries_alone");
        CHECK(all.fails(0) == "0 rolled_back");
        CHECK(all.sleeps(0) == "1 tries_alone"); // before it splits, too
        CHECK(all.fails(1) == "1 rolled_back");
        CHECK(all.sleeps(1) == "1 split");
    }
    for (const splits s : {splits::highest, splits::lowest}) {
        tasks_of all{2, rules{.first_to_split = s, .tries_alone = false}};
        all.fails(0), all.fails(1);
        CHECK(all.sleeps(1) == "0 rolled_back");
        CHECK(all.sleeps(0) == (s == splits::highest ? "0 split" : "1 split"));
    }
}

TEST_CASE("one comparator of priorities: number, arrival, then the thread's id", "[oom]") {
    static_assert(is_before({1, 9}, {0, 1}) && is_before({0, 1}, {0, 2}));
    static_assert(!is_before({0, 1}, {0, 1}) && is_before({0, 1}, {-1, 0}));
    tasks_of all;
    const task_id late = all.add_task(), early = all.add_task(7);
    const thread_id a = all.add_thread(late), b = all.add_thread(late), c = all.add_thread(early);
    const thread_id p = all.add_thread(late, thread_kind::pool), s = all.add_thread(late, thread_kind::shuffle);
    const auto before = [&](thread_id l, thread_id r) { return all.all.goes_before(l, r); };
    CHECK((before(c, a) && before(a, b) && before(b, p) && before(s, c)));
    CHECK_FALSE((before(a, c) || before(b, a) || before(c, s) || before(a, a)));
    all.all.work_on(p, early,
                    all.sink()); // B8: a pool thread has the place of the first of its tasks, not of the smallest id
    CHECK((before(p, a) && before(c, p)));
    all.all.finish(p, early, all.sink());
    CHECK(before(a, p));
    const machine same = all.all; // and a question changes nothing
    before(p, s);
    CHECK(same == all.all);
    CHECK(all.fails(c) == "");
    CHECK(all.fails(a) == "");
    CHECK(all.fails(p) == "");
    CHECK(all.fails(s) == std::to_string(p) + " rolled_back");
}

TEST_CASE("a task is blocked if any of its dedicated threads is, or all", "[oom]") {
    for (const blocks rule : {blocks::any, blocks::all}) {
        tasks_of all{2, rules{.task_is_blocked = rule}};
        const thread_id third = all.add_thread(all.tasks[0]);
        all.fails(1);
        CHECK(all.fails(0) == (rule == blocks::any ? "1 rolled_back" : ""));
        if (rule == blocks::any) CHECK(all.sleeps(1) == "0 delayed"); // no attempt alone beside a thread that runs
        CHECK(all.fails(third) == (rule == blocks::any ? "2 rolled_back" : "1 rolled_back"));
    }
}

TEST_CASE("pool and shuffle threads hold back every decision until they are stuck", "[oom]") {
    for (const thread_kind kind : {thread_kind::pool, thread_kind::shuffle}) {
        tasks_of all{2};
        const thread_id p = all.add_thread(all.tasks[1], kind, false);
        all.fails(0);
        CHECK(all.fails(1) == "");
        CHECK(all.waits(p, waits_for::outside) == "");
        CHECK(all.waits(p, waits_for::nothing) == "");
        CHECK(all.fails(p) == "1 rolled_back"); // the last one in a retry scope
    }
    tasks_of all{1};
    const thread_id p = all.add_thread(all.tasks[0], thread_kind::pool, false);
    CHECK(all.fails(0) == "");
    all.all.finish(p, all.tasks[0], all.sink()); // it works for no task now, and holds none back
    CHECK(all.decided() == "0 tries_alone");
}

TEST_CASE("B3: a task of pool threads alone counts, and only while they work for it", "[oom]") {
    tasks_of all{1};
    const task_id pool_only = all.add_task();
    const thread_id p = all.add_thread(pool_only, thread_kind::pool);
    all.fails(0);
    CHECK(all.fails(p) == "1 rolled_back");
    CHECK(all.sleeps(p) == "0 tries_alone");
    CHECK(all.fails(0) == "0 rolled_back");
    const thread_id q = all.add_thread(pool_only, thread_kind::pool);
    CHECK(all.sleeps(0) == ""); // all dedicated threads are rolled back, but one of a pool runs: no split
    CHECK(all.waits(q, waits_for::task, all.tasks[0]) == "0 tries_alone");
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 split");
}

TEST_CASE("waits for a task, a pool or a resource are edges; for the world outside are none", "[oom]") {
    for (const waits_for what : {waits_for::task, waits_for::pool, waits_for::resource, waits_for::outside}) {
        CAPTURE(static_cast<int>(what));
        tasks_of all{2};
        const resource_id r = all.all.add_resource();
        all.all.hold(r, all.tasks[1], true, all.sink());
        CHECK(all.fails(1) == "");
        CHECK(all.waits(0, what, what == waits_for::task ? all.tasks[1] : r) ==
              (what == waits_for::outside ? "" : "1 tries_alone")); // B11: at the wait's begin, no tick is waited for
        if (what == waits_for::outside) continue;
        CHECK(all.fails(1) == "1 rolled_back");
        if (what == waits_for::pool) { // no thread of a pool is seen: is it over, or not begun?
            CHECK(all.sleeps(1) == "1 delayed");
            CHECK(all.all.waited_long(1, all.sink()));
            CHECK(all.decided() == "1 tries_alone");
            CHECK(all.fails(1) == "1 rolled_back");
            CHECK(all.sleeps(1) == "1 split");
        } else {
            CHECK(all.sleeps(1) == "1 tries_alone");
            CHECK(all.fails(1) == "1 rolled_back");
            CHECK(all.sleeps(1) == "1 split"); // 0 cannot go on, so more memory comes from no one
        }
        CHECK(all.step(1, event::thrown) == "");
        CHECK(all.waits(0, waits_for::nothing) == "");
        CHECK(all.fails(1) == "");
    }
}

TEST_CASE("a resource holds back those that wait for it while a task has it", "[oom]") {
    tasks_of all{2};
    const resource_id r = all.all.add_resource();
    CHECK(all.waits(0, waits_for::resource, r) == "");
    CHECK(all.fails(1) == ""); // nothing is held: thread 0 goes on by itself
    const thread_id other = all.add_thread(all.tasks[1]);
    all.all.hold(r, all.tasks[1], true, all.sink()); // by the thread of task 1 that runs: this completes the deadlock
    CHECK(all.all.is_deadlocked());
    CHECK(all.decided() == "1 delayed"); // it may wait unseen
    CHECK(all.waits(other, waits_for::pool) == "1 tries_alone");
    CHECK(all.fails(1) == "1 rolled_back");
    all.all.hold(r, all.tasks[1], false, all.sink());
    CHECK_FALSE(all.all.is_deadlocked());
    CHECK(all.sleeps(1) == "");
}

TEST_CASE("a hold that completes a deadlock is decided on at once", "[oom]") {
    tasks_of all{2};
    all.add_thread(all.tasks[1]);
    const thread_id more = all.add_thread(all.add_task());
    const resource_id r = all.all.add_resource();
    all.waits(0, waits_for::resource, r);
    all.fails(1), all.fails(more);
    CHECK_FALSE(all.all.is_deadlocked());
    all.all.hold(r, all.tasks[1], true, all.sink()); // thread 2 of task 1 runs on, but the task is blocked by thread 1
    CHECK(all.decided() == "3 rolled_back");
}

TEST_CASE("a wait for a task ends with it, though the next task has its id", "[oom]") {
    tasks_of all{2};
    CHECK(all.waits(0, waits_for::task, all.tasks[1]) == "");
    all.ends(1);
    CHECK_FALSE(all.all.is_stuck(all.all[0]));
    const task_id next = all.add_task();
    REQUIRE(next == all.tasks[1]);
    all.add_thread(next);
    CHECK_FALSE(all.all.is_stuck(all.all[0]));
    CHECK(all.fails(1) == "");
}

TEST_CASE("a task that has ended holds no resource", "[oom]") {
    tasks_of all{2};
    const resource_id r = all.all.add_resource();
    all.all.hold(r, all.tasks[1], true, all.sink());
    all.waits(0, waits_for::resource, r);
    CHECK(all.all.is_stuck(all.all[0]));
    all.ends(1);
    CHECK(all.all.holders(r).empty());
    CHECK_FALSE(all.all.is_stuck(all.all[0]));
}

TEST_CASE("a cycle of waits alone is left as it is: no memory helps it", "[oom]") {
    tasks_of all{2};
    all.waits(0, waits_for::task, all.tasks[1]);
    CHECK(all.waits(1, waits_for::task, all.tasks[0]) == "");
    CHECK(all.all.is_deadlocked());
}

TEST_CASE("B12: a victim is in a retry scope, where one is; else the last request is refused", "[oom]") {
    tasks_of all{1};
    const thread_id outside = all.add_thread(all.add_task(), thread_kind::dedicated, false);
    all.fails(0);
    CHECK(all.fails(outside) == "0 rolled_back"); // though it goes first
    CHECK(all.sleeps(0) == "1 tries_alone");
    CHECK(all.fails(outside) == "1 refused");
    CHECK(all[outside] == running);
    CHECK(all.all.verdict_for(outside) == allot::verdict::refused);
    CHECK(all.all.step(outside, event::thrown, all.sink()));
    CHECK_FALSE(all.all.step(outside, event::thrown, all.sink())); // once

    tasks_of none;
    for (int i = 0; i != 2; ++i) none.add_thread(none.add_task(), thread_kind::dedicated, false);
    none.fails(0);
    CHECK(none.fails(1) == "1 refused");
}

TEST_CASE("a thread that is barred is no victim, and is refused where it is the last", "[oom]") {
    tasks_of all{2};
    all.all.bar(1, true);
    all.fails(0);
    CHECK(all.fails(1) == "0 rolled_back"); // though it goes first
    CHECK(all.sleeps(0) == "1 tries_alone");
    CHECK(all.fails(1) == "1 refused");
    CHECK(all.all.step(1, event::thrown, all.sink()));
    all.all.bar(1, false);
    CHECK(all.fails(1) == "1 tries_alone");
    CHECK(all.fails(1) == "1 rolled_back");
}

TEST_CASE("the budget of attempts ends a request, and is counted anew after a part that is finished", "[oom]") {
    tasks_of all{1, rules{.most_attempts = 2}};
    CHECK(all.fails(0) == "0 tries_alone");
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 split");
    all.step(0, event::thrown);
    CHECK(all.fails(0) == "0 tries_alone");
    CHECK(all.fails(0) == "0 refused");
    CHECK(all.all.step(0, event::thrown, all.sink()));
    // B4: of the thread's life, they are many.
    for (int i = 0; i != 10; ++i) {
        all.finishes(0);
        CHECK(all.all[0].attempts == 0);
        CHECK(all.fails(0) == "0 tries_alone");
        CHECK(all.fails(0) == "0 rolled_back");
        CHECK(all.sleeps(0) == "0 split");
        all.step(0, event::thrown);
    }
    // A part inside another is begun again with it.
    all.all.enter_scope(0);
    CHECK(all.leaves(0) == "");
    CHECK(all.all[0].attempts == 2);
    // A budget that is spent while the thread is rolled back.
    tasks_of spent{1, rules{.most_attempts = 1}};
    spent.fails(0), spent.fails(0);
    CHECK(spent.sleeps(0) == "0 refused");
}

TEST_CASE("a wait that is overdue splits, then is refused", "[oom]") {
    tasks_of all{2};
    all.fails(0);
    CHECK(all.overdue(0) == "0 split");
    all.step(0, event::thrown);
    all.fails(0);
    CHECK(all.overdue(0) == "0 refused");
    CHECK(all.all.step(0, event::thrown, all.sink()));
    all.finishes(0);
    all.fails(0);
    CHECK(all.overdue(0) == "0 split"); // after progress it may split again
    all.step(0, event::thrown);
    CHECK(all.overdue(0) == ""); // it is awake

    const thread_id outside = all.add_thread(all.tasks[0], thread_kind::dedicated, false);
    all.fails(outside);
    CHECK(all.overdue(outside) == "2 refused");

    tasks_of back{2, rules{.most_attempts = 1}};
    back.fails(0), back.fails(1);
    back.step(0, event::may_fit);
    CHECK(back.sleeps(1) == "");
    CHECK(back.overdue(1) == "1 refused"); // rolled back, and its budget is spent
}

TEST_CASE("a request that can never fit is split, also while it tries alone", "[oom]") {
    tasks_of all{1};
    all.all.announce(0, memory_kind::host, 9, all.sink());
    all.all.never_fits(0, memory_kind::host, 9, all.sink());
    CHECK(all.decided() == "0 split");
    all.step(0, event::thrown);
    CHECK(all.fails(0) == "0 tries_alone");
    all.all.announce(0, memory_kind::host, 9, all.sink());
    all.all.never_fits(0, memory_kind::host, 9, all.sink());
    CHECK(all.decided() == "0 split");
    CHECK_FALSE(all.all[0].alone);
    all.step(0, event::thrown);
    const thread_id outside = all.add_thread(all.tasks[0], thread_kind::dedicated, false);
    all.all.announce(outside, memory_kind::host, 9, all.sink());
    CHECK_FALSE(all.all.never_fits(outside, memory_kind::host, 9, all.sink())); // its limit refuses it
    CHECK(all.decided() == "");
}

TEST_CASE("the end of a task wakes all that are rolled back, if none waits", "[oom]") {
    for (const bool one_waits : {false, true}) {
        tasks_of all{5, rules{.all_are_woken = true}};
        for (const thread_id t : {1U, 2U, 3U}) all.fails(t);
        all.step(1, event::rolled_back);
        all.step(2, event::rolled_back), all.step(2, event::thrown);
        all.step(3, event::rolled_back), all.sleeps(3);
        if (one_waits) all.fails(4);
        CHECK(all.ends(0) == (one_waits ? "" : "1 woken, 2 woken, 3 woken"));
        if (one_waits) continue;
        // One that was woken while it freed its memory goes on at once.
        CHECK(all.step(2, event::ready) == "");
        CHECK(all[2] == running);
    }
}

TEST_CASE("rules: which event wakes those that are rolled back", "[oom]") {
    for (const wakes rule : {wakes::at_task_end, wakes::at_scope_end, wakes::at_free}) {
        CAPTURE(static_cast<int>(rule));
        tasks_of all{3, rules{.rolled_back_wakes = rule}};
        for (const thread_id t : {1U, 2U}) all.fails(t, 10), all.step(t, event::rolled_back), all.sleeps(t);
        CHECK(all.finishes(0, 10) == (rule == wakes::at_scope_end ? "1 woken" : ""));
        all.all.freed(memory_kind::device, 10, all.sink());
        CHECK(all.decided() == ""); // of another kind
        all.all.freed(memory_kind::host, 10, all.sink());
        CHECK(all.decided() == (rule == wakes::at_free ? "1 woken" : ""));
    }
}

TEST_CASE("freed memory is seen by requests of its kind that are being made again", "[oom]") {
    tasks_of all{3};
    all.all.announce(0, memory_kind::host, 1, all.sink());
    all.all.announce(1, memory_kind::device, 1, all.sink());
    all.all.freed(memory_kind::device, 1, all.sink());
    CHECK((all[0] == alloc && all[1] == alloc_free));
    CHECK(all.step(1, event::failed) == "");
    CHECK(all[1] == running); // it is made again at once
}

TEST_CASE("B10: of those that are rolled back the first that fits is woken, with bounded bypass", "[oom]") {
    tasks_of all{3};
    for (const thread_id t : {1U, 2U}) all.fails(t, t == 1 ? 100 : 10), all.step(t, event::rolled_back), all.sleeps(t);
    CHECK(all.finishes(0, 9) == "");
    for (int i = 0; i != machine::most_bypasses; ++i) {
        CHECK(all.finishes(0, 50) == "2 woken");
        all.fails(2, 10), all.step(2, event::rolled_back), all.sleeps(2);
    }
    CHECK(all.finishes(0, 50) == ""); // it waits for the first one now
    CHECK(all.finishes(0, 100) == "1 woken");
    CHECK(all.finishes(0, 50) == "2 woken");
}

TEST_CASE("B7: a task that is removed in any state makes way for the others", "[oom]") {
    const std::vector<event> paths[] = {
        {},
        {event::announced},
        {event::announced, event::freed},
        {event::announced, event::failed},
        {event::announced, event::failed, event::rolled_back},
        {event::announced, event::failed, event::rolled_back, event::thrown},
        {event::announced, event::failed, event::rolled_back, event::thrown, event::ready},
        {event::announced, event::failed, event::split}};
    for (const auto& path : paths) {
        tasks_of all{3};
        for (const event e : path) all.step(0, e);
        CAPTURE(text_of(all[0]));
        all.fails(1), all.step(1, event::rolled_back), all.sleeps(1);
        all.step(0, event::removed);
        CHECK(all[0] == remove_throw);
        CHECK_FALSE(all.all.is_stuck(all.all[0]));
        CHECK(all.fails(2) == "");               // it is not stuck, so nothing is decided until it has gone
        CHECK(all.step(0, event::thrown) == ""); // it frees what it had
        CHECK(all.leaves(0, false) == "2 tries_alone");
        CHECK(all.fails(2) == "2 rolled_back");
        CHECK(all.step(2, event::thrown) == "");
        CHECK(all.ends(0) == "1 woken");
    }
}

TEST_CASE("B1: a thread that is removed after it was woken, before it runs, ends", "[oom]") {
    tasks_of all{2};
    all.fails(0), all.step(0, event::rolled_back), all.sleeps(0);
    CHECK(all.ends(1) == "0 tries_alone");
    CHECK(all[0] == running);
    all.step(0, event::removed);
    CHECK_FALSE(all.all.step(0, event::ready, all.sink()));
    CHECK(all.step(0, event::thrown) == "");
    CHECK(all[0] == unknown);
    for (std::size_t e = 1; e != events; ++e) CHECK_FALSE(all.all.step(0, static_cast<event>(e), all.sink()));
    all.ends(0);
    CHECK(all.add_thread(all.add_task()) == 0); // the id is free, and nothing of it is left
    CHECK((all[0] == running && all.all[0].attempts == 0 && all.all[0].scopes == 1));
}

TEST_CASE("one that is removed while it waits for others waits on, and holds up no decision", "[oom]") {
    tasks_of all{2};
    all.waits(0, waits_for::task, all.tasks[1]);
    all.step(0, event::removed);
    CHECK(all.fails(1) == "1 tries_alone");
    all.waits(0, waits_for::nothing);
    CHECK((all[0] == thread_state::remove_throw && !all.all.is_deadlocked()));
}

TEST_CASE("a scope that is left wakes its thread, finished or not", "[oom]") {
    for (const bool done : {false, true}) {
        tasks_of all{2};
        all.fails(0), all.fails(1);
        CHECK(all.step(1, event::thrown) == ""); // its body catches the error, and goes on
        all.leaves(1, done);
        CHECK(all[1] == running); // outside any scope it must not sleep as one that is rolled back
    }
    tasks_of all{2};
    all.all.enter_scope(1); // a nested one
    all.fails(0), all.fails(1);
    CHECK(all.step(1, event::thrown) == "");
    CHECK(all.leaves(1, false) == "");
    CHECK(all[1] == bufn_wait); // the outer one begins again
    CHECK(all.leaves(1, false) == "1 woken");
}

TEST_CASE("a scope inside another wakes no others at its end", "[oom]") {
    tasks_of all{2};
    all.fails(0), all.fails(1);
    CHECK(all.sleeps(1) == "0 tries_alone");
    all.all.enter_scope(0);
    CHECK(all.leaves(0) == "");
    CHECK(all.leaves(0) == "1 woken");
}

TEST_CASE("a first attempt in cut memory is made once more before it splits", "[oom]") {
    for (const bool gathered : {true, false}) {
        tasks_of t;
        const thread_id it = t.add_thread(t.add_task(), thread_kind::dedicated, false);
        t.all.enter_scope(it, gathered);
        CHECK(t.fails(it) == "0 tries_alone");
        CHECK(t.fails(it) == "0 rolled_back");
        CHECK(t.sleeps(it) == (gathered ? "0 split" : "0 tries_alone"));
    }
}

namespace {

// Machines where refused requests report bytes that no task holds.
struct with_outside : tasks_of {
    using tasks_of::tasks_of;
    std::string fails(thread_id t, std::size_t bytes, std::size_t unknown, std::size_t free = 0, bool own = false) {
        CHECK(all.announce(t, memory_kind::host, bytes, sink()));
        CHECK(all.fail(t, own, sink(), unknown, free));
        return decided();
    }
    std::string post(event e, std::size_t bytes, memory_kind kind = memory_kind::host) {
        all.apply({.what = e, .detail = static_cast<std::uint8_t>(kind), .bytes = bytes}, sink());
        return decided();
    }
    std::string waited_long(thread_id t) { return all.waited_long(t, sink()), decided(); }
};

} // namespace

TEST_CASE("a decision is put off once where bytes that no task holds would serve the first that waits", "[oom]") {
    with_outside all{2};
    CHECK(all.fails(1, 30, 40) == "");
    CHECK(all.fails(0, 50, 40, 10) == "0 delayed"); // 40 and what is free are enough
    CHECK(all[0] == blocked);
    CHECK(all.all.verdict_for(0) == allot::verdict::sleep);
    CHECK(all.waited_long(1) == ""); // it does not keep the time
    CHECK(all.waited_long(0) == "1 rolled_back");
    CHECK(all.waited_long(0) == "");
    CHECK(all.sleeps(1) == "0 tries_alone");
    CHECK(all.fails(0, 50, 80, 10) == "0 rolled_back"); // once, though there are more now
    CHECK(all.sleeps(0) == "0 tries_alone");
    CHECK(all.fails(0, 50, 40, 10) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 split");
    all.step(0, event::thrown);
    CHECK(all.finishes(0) == "1 woken"); // a part is finished: decisions may be put off again
    CHECK(all.fails(1, 30, 40) == "");
    CHECK(all.fails(0, 50, 40, 10) == "1 rolled_back"); // but not for bytes that did not come back then
    CHECK(all.sleeps(1) == "0 tries_alone");
    CHECK(all.fails(0, 50, 90, 10) == "0 delayed");
}

TEST_CASE("a decision is not put off where bytes that no task holds are not enough, or would help nobody", "[oom]") {
    {
        with_outside all{2};
        CHECK(all.fails(1, 1, 40) == "");
        CHECK(all.fails(0, 50, 39, 10) == "1 rolled_back"); // they serve the second one alone
    }
    {
        with_outside all{1, {.unknown_holders_wait = allot::time_span{0}}};
        CHECK(all.fails(0, 50, 100) == "0 tries_alone");
    }
    {
        with_outside all{2};
        CHECK(all.fails(1, 50, 0) == "");
        CHECK(all.fails(0, 50, 100, 0, true) == "0 tries_alone"); // at its own limit
    }
    {
        with_outside all{1};
        CHECK(all.fails(0, 50, 0, 80) == "0 tries_alone"); // free bytes that it does not get are of no holder
    }
}

TEST_CASE("bytes that come back while a decision is put off are granted, and the next deadlock has its own time",
          "[oom]") {
    with_outside all{1};
    CHECK(all.fails(0, 50, 60) == "0 delayed");
    CHECK(all.step(0, event::may_fit) == "");
    CHECK(all.waited_long(0) == ""); // it tries
    CHECK(all.all.announce(0, memory_kind::host, 50, all.sink()));
    CHECK(all.step(0, event::granted) == "");
    CHECK(all.all.delay_now() == machine::delay::runs);
    CHECK(all.fails(0, 20, 30) == "0 delayed"); // until the same point in time
    CHECK(all.all.delays() == 1);
    all.step(0, event::may_fit);
    CHECK(all.finishes(0) == "");
    CHECK(all.fails(0, 20, 30) == "0 delayed");
    CHECK(all.all.delays() == 2);
}

TEST_CASE("a time that ends while a task runs again does not count as waited", "[oom]") {
    with_outside all{2};
    CHECK(all.fails(0, 50, 60) == "");
    CHECK(all.fails(1, 50, 60) == "0 delayed");
    CHECK(all.step(1, event::may_fit) == "");
    CHECK(all.waited_long(0) == "");
    CHECK(all.all.delay_now() == machine::delay::none);
    CHECK(all.fails(1, 50, 60) == "0 delayed");
    CHECK(all.waited_long(0) == "1 rolled_back");
}

TEST_CASE("an attempt alone waits for bytes that no task holds before it is rolled back", "[oom]") {
    with_outside all{2};
    CHECK(all.fails(1, 30, 0) == "");
    CHECK(all.fails(0, 50, 10) == "1 rolled_back"); // not enough
    CHECK(all.sleeps(1) == "0 tries_alone");
    CHECK(all.fails(0, 50, 10, 40) == "0 delayed"); // with what the other has freed they are
    CHECK(all.waited_long(0) == "0 tries_alone");
    CHECK(all.fails(0, 50, 10, 40) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 tries_alone");
}

TEST_CASE("bytes that a token announces are waited for until it ends, and no longer", "[oom]") {
    with_outside all{2};
    CHECK(all.post(event::held_outside, 30) == "");
    CHECK(all.post(event::held_outside, 20) == "");
    CHECK(all.post(event::held_outside, 1000, memory_kind::device) == "");
    CHECK(all.fails(1, 30, 0) == "");
    CHECK(all.fails(0, 60, 0, 10) == ""); // 50 and 10 that are free
    CHECK(all.waited_long(0) == "");
    CHECK(all.post(event::returned, 1000, memory_kind::device) == "");
    CHECK(all.post(event::returned, 20) == "1 rolled_back"); // 30 and 10 are not enough
    CHECK(all.sleeps(1) == "0 tries_alone");
    CHECK(all.fails(0, 60, 0, 30) == ""); // an attempt alone waits, too
    CHECK(all.post(event::returned, 30) == "0 tries_alone");
    CHECK(all.all.outside_of(memory_kind::host).held == 0);
}
