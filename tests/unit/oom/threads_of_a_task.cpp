// Tasks of several threads: waits that are over before their thread has run, permits, workers that join a scope, pool
// threads of a removed task, tasks that hold nothing. The machine alone: no threads, no clock.
#include <support/catch.hpp>
#include <support/machine.hpp>

using namespace allot::oom;
using allot::memory_kind;
using support::tasks_of;
using enum thread_state;

TEST_CASE("who lets go or ends may have ended a wait: decisions are put off until its thread has run", "[oom]") {
    enum class end : int { of_a_hold, of_a_thread, of_a_pool_thread };
    for (const end how : {end::of_a_hold, end::of_a_thread, end::of_a_pool_thread})
        for (const bool lasts : {false, true}) {
            CAPTURE(static_cast<int>(how), lasts);
            tasks_of all{2};
            const resource_id r = all.all.add_resource();
            const bool of_pool = how == end::of_a_pool_thread;
            const thread_id more =
                all.add_thread(all.tasks[0], of_pool ? thread_kind::pool : thread_kind::dedicated, false);
            all.all.hold(r, all.tasks[1], true, all.sink());
            CHECK(all.waits(0,
                            how == end::of_a_hold ? waits_for::resource
                            : of_pool             ? waits_for::pool
                                                  : waits_for::task,
                            how == end::of_a_hold ? r : all.tasks[0]) == "");
            CHECK(all.fails(1) == (how == end::of_a_hold ? "1 delayed" : "")); // `more` runs
            if (how == end::of_a_hold) all.all.hold(r, all.tasks[1], false, all.sink());
            all.all.end_thread(more, all.sink());
            if (how == end::of_a_hold) {
                CHECK(all.decided() == "");
                CHECK_FALSE(all.all.is_stuck(all.all[0])); // nobody holds it
                continue;
            }
            CHECK(all.decided() == "1 delayed");
            CHECK(all.all[0].may_run);
            if (!lasts) {
                CHECK(all.waits(0, waits_for::nothing) == ""); // its thread has run
                CHECK_FALSE(all.all[0].may_run);
                CHECK_FALSE(all.all.is_deadlocked());
            } else {
                CHECK(all.all.waited_long(1, all.sink()));
                CHECK(all.decided() == "1 tries_alone");
            }
        }
}

TEST_CASE("of several that wait for a permit, any may have it: the others last", "[oom]") {
    tasks_of all{3};
    const resource_id r = all.all.add_resource();
    all.all.hold(r, all.tasks[2], true, all.sink());
    all.waits(0, waits_for::resource, r), all.waits(1, waits_for::resource, r);
    all.all.hold(r, all.tasks[2], false, all.sink());
    CHECK(all.waits(1, waits_for::nothing) == "");
    CHECK(all.all[0].may_run);
    all.all.hold(r, all.tasks[1], true, all.sink()); // 0 waits for it again
    CHECK_FALSE(all.all[0].may_run);
    CHECK(all.fails(1) == "");
    CHECK(all.fails(2) == "2 rolled_back");
}

TEST_CASE("a resource stops those that wait for it once it has as many holders as permits", "[oom]") {
    tasks_of all{3};
    const resource_id two = all.all.add_resource(2);
    all.waits(0, waits_for::resource, two);
    all.all.hold(two, all.tasks[1], true, all.sink());
    CHECK_FALSE(all.all.is_stuck(all.all[0]));
    all.all.hold(two, all.tasks[2], true, all.sink());
    CHECK(all.all.is_stuck(all.all[0]));
    CHECK(all.fails(1) == "");
    CHECK(all.fails(2) == "2 rolled_back");
}

TEST_CASE("a wait may be over though more tasks hold a resource than it has permits", "[oom]") {
    tasks_of all{3};
    const resource_id r = all.all.add_resource();
    for (const unsigned by : {0U, 1U}) all.all.hold(r, all.tasks[by], true, all.sink()); // it has two, for all it seems
    all.waits(2, waits_for::resource, r);
    all.all.hold(r, all.tasks[1], false, all.sink());
    CHECK(all.all[2].may_run);
}

TEST_CASE("a wait is not over once others have all permits again", "[oom]") {
    tasks_of all{4};
    const resource_id r = all.all.add_resource(2);
    const auto hold = [&](task_id by, bool now) { all.all.hold(r, by, now, all.sink()); };
    hold(all.tasks[1], true), hold(all.tasks[2], true);
    all.waits(0, waits_for::resource, r);
    hold(all.tasks[1], false);
    CHECK(all.all[0].may_run);
    hold(all.tasks[3], true);
    CHECK_FALSE(all.all[0].may_run);
    CHECK(all.all.is_stuck(all.all[0]));
}

TEST_CASE("a thread that waits unseen holds back no decision over its task for ever", "[oom]") {
    for (const bool in_scope : {true, false})
        for (const blocks rule : {blocks::any, blocks::all}) {
            CAPTURE(in_scope, static_cast<int>(rule));
            tasks_of all{rules{.task_is_blocked = rule}};
            const task_id query = all.add_task();
            const thread_id it = all.add_thread(query, thread_kind::dedicated, in_scope);
            const thread_id runs = all.add_thread(query);
            const auto waits_long = [&] {
                CHECK(all.all.waited_long(it, all.sink()));
                return all.decided();
            };
            if (!in_scope || rule == blocks::all) {
                CHECK(all.fails(it) == ""); // only the other one can end that
                continue;
            }
            CHECK(all.fails(it) == "0 delayed");
            CHECK(all.finishes(runs) == "0 delayed"); // it does not wait: the time begins again
            CHECK(all.all[runs].runs_on == 0);
            CHECK(waits_long() == "0 tries_alone");
            CHECK(all.fails(it) == "0 rolled_back");
            CHECK(all.sleeps(it) == "0 delayed");
            for (int n = 2; n != machine::most_delays; ++n) CHECK(waits_long() == "0 delayed");
            CHECK(waits_long() == "0 tries_alone");
            CHECK(all.fails(it) == "0 rolled_back");
            CHECK(all.sleeps(it) == "0 split");
        }
}

TEST_CASE("work that no thread is seen to do: an attempt alone, a split or a refusal is put off", "[oom]") {
    for (const bool in_scope : {true, false}) {
        CAPTURE(in_scope);
        tasks_of all;
        const task_id first = all.add_task(), second = all.add_task(), nobody = all.add_task();
        all.add_thread(first);
        const thread_id it = all.add_thread(second, thread_kind::dedicated, in_scope);
        all.waits(0, waits_for::task, nobody);
        if (in_scope) {
            CHECK(all.fails(it) == "1 tries_alone");
            CHECK(all.fails(it) == "1 rolled_back");
            CHECK(all.sleeps(it) == "1 delayed");
            const thread_id begun = all.add_thread(nobody); // now it is
            CHECK(all.all.waited_long(it, all.sink()));
            CHECK(all.decided() == "");
            all.all.end_thread(begun, all.sink());
            CHECK(all.decided() == "1 delayed");
            CHECK(all.all.waited_long(it, all.sink()));
            CHECK(all.decided() == "1 tries_alone");
            CHECK(all.fails(it) == "1 rolled_back");
            CHECK(all.sleeps(it) == "1 split");
        } else {
            CHECK(all.fails(it) == "1 delayed");
            CHECK(all.all.waited_long(it, all.sink()));
            CHECK(all.decided() == "1 tries_alone");
            CHECK(all.fails(it) == "1 refused");
        }
    }
}

TEST_CASE("another thread of the task is not taken for a worker that has not begun", "[oom]") {
    for (const bool by_latch : {true, false}) {
        CAPTURE(by_latch);
        tasks_of all{1};
        const thread_id other = all.add_thread(all.tasks[0]);
        const resource_id latch = all.all.add_resource();
        all.all.hold(latch, no_id, true, all.sink());
        all.waits(0, by_latch ? waits_for::resource : waits_for::task, by_latch ? latch : all.tasks[0]);
        CHECK(all.fails(other) == "1 tries_alone");
        CHECK(all.fails(other) == "1 rolled_back");
        CHECK(all.sleeps(other) == "1 delayed"); // with what thread 0 has
        all.all.add_thread(thread_kind::dedicated, all.tasks[0], 0);
        CHECK(all.all.waited_long(other, all.sink()));
        CHECK(all.decided() == "1 delayed"); // it runs
    }
}

TEST_CASE("workers in a scope share its attempt: all of it is rolled back, and its owner splits", "[oom]") {
    tasks_of all{2};
    const thread_id w = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1),
                    v = all.all.add_thread(thread_kind::dedicated, all.tasks[1], w); // inside the same scope
    CHECK(all.all[v].joins == 1);
    all.waits(1, waits_for::task, all.tasks[1]);
    CHECK(all.fails(w) == "");
    CHECK(all.fails(v) == "");
    CHECK(all.fails(0) == "1 rolled_back, 2 rolled_back, 3 rolled_back");
    CHECK(all.all[1].attempts == 1);
    CHECK(all.all[w].attempts == 0);
    for (const thread_id t : {w, v}) {
        CHECK(all.step(t, event::thrown) == "");
        all.all.end_thread(t, all.sink());
        CHECK(all.decided() == (t == v ? "0 delayed" : ""));
    }
    CHECK(all.waits(1, waits_for::nothing) == "");
    CHECK(all.step(1, event::ready) == "0 tries_alone"); // the error came from a worker
    CHECK(all[1] == bufn);
}

TEST_CASE("an attempt whose worker splits begins alone again: where it fails, its owner splits", "[oom]") {
    tasks_of all{1};
    const auto worker = [&] { return all.all.add_thread(thread_kind::dedicated, all.tasks[0], 0); };
    const auto goes_back = [&](thread_id w) {
        all.step(w, event::thrown), all.all.end_thread(w, all.sink());
        all.waits(0, waits_for::nothing);
        return all.step(0, event::ready);
    };
    thread_id w = worker();
    all.waits(0, waits_for::task, all.tasks[0]);
    all.all.never_fits(w, memory_kind::host, 9, all.sink());
    CHECK(all.decided() == "1 split");
    all.step(w, event::thrown);
    CHECK(all.fails(w) == "1 tries_alone");
    CHECK(all.fails(w) == "0 rolled_back, 1 rolled_back");
    CHECK(goes_back(w) == "0 split"); // its attempt was alone, though it began behind a split
}

TEST_CASE("who takes a permit ends no wait of another thread of its task", "[oom]") {
    tasks_of all{2};
    const thread_id p = all.add_thread(all.tasks[0], thread_kind::pool);
    const resource_id r = all.all.add_resource();
    all.all.hold(r, all.tasks[1], true, all.sink(), 1);
    all.waits(0, waits_for::resource, r), all.waits(p, waits_for::resource, r);
    all.all.hold(r, all.tasks[1], false, all.sink());
    CHECK((all.all[0].may_run && all.all[p].may_run));
    all.all.hold(r, all.tasks[0], true, all.sink(), p); // its wait ends behind that
    CHECK((!all.all[0].may_run && all.all[p].may_run));
}

TEST_CASE("an attempt alone counts beside one that goes back and waits for a worker that waits for others", "[oom]") {
    tasks_of all{2};
    const thread_id w = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1),
                    v = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1);
    all.waits(1, waits_for::task, all.tasks[1]), all.waits(v, waits_for::task, all.tasks[0]);
    CHECK(all.fails(w) == "");
    CHECK(all.fails(0) == "1 rolled_back, 2 rolled_back");
    CHECK(all.step(w, event::thrown) == "");
    all.all.end_thread(w, all.sink());
    CHECK(all.decided() == "0 delayed"); // 1 may run: one of its task has ended
    CHECK(all.all.waited_long(0, all.sink()));
    CHECK(all.decided() == "0 tries_alone"); // 1 keeps what it has until 0 ends
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 tries_alone");
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK(all.sleeps(0) == "0 split");
}

TEST_CASE("an attempt is not one alone once a thread that waited has gone on, and may go on again", "[oom]") {
    tasks_of all{2};
    all.waits(1, waits_for::task, all.tasks[0]);
    all.leaves(0, false), all.all.enter_scope(0); // it begins alone
    all.waits(1, waits_for::nothing);             // and takes memory
    const resource_id latch = all.all.add_resource();
    all.all.hold(latch, no_id, true, all.sink());
    all.waits(1, waits_for::resource, latch); // for workers that have not begun
    CHECK(all.fails(0) == "0 tries_alone");
    CHECK(all.fails(0) == "0 rolled_back");
    CHECK_FALSE(all.all.has_tried_alone(0));
    CHECK(all.sleeps(0) == "0 delayed");
}

TEST_CASE("a worker that tries alone goes back with its attempt", "[oom]") {
    tasks_of all{1};
    const thread_id w = all.all.add_thread(thread_kind::dedicated, all.tasks[0], 0),
                    v = all.all.add_thread(thread_kind::dedicated, all.tasks[0], 0);
    all.waits(0, waits_for::task, all.tasks[0]);
    CHECK(all.fails(w) == "1 tries_alone");
    CHECK(all.fails(v) == "2 tries_alone");
    CHECK(all.all.announce(w, memory_kind::host, 1, all.sink()));
    CHECK(all.fails(v) == "0 rolled_back, 2 rolled_back");
    CHECK(all.step(w, event::failed) == "1 rolled_back");
}

TEST_CASE("a worker of a removed task that ends completes a deadlock, too", "[oom]") {
    tasks_of all{2};
    const thread_id w = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1),
                    v = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1);
    all.waits(1, waits_for::task, all.tasks[1]), all.waits(v, waits_for::task, all.tasks[0]);
    all.all.remove_task(all.tasks[1], all.sink());
    CHECK(all.step(w, event::thrown) == "");
    CHECK(all.fails(0) == ""); // it frees what it has
    all.all.end_thread(w, all.sink());
    CHECK(all.decided() == "0 delayed"); // 1 may run
}

TEST_CASE("an attempt of workers is one alone only while all others are back, too", "[oom]") {
    for (const bool waits_on : {true, false}) {
        CAPTURE(waits_on);
        tasks_of all{2, rules{.task_is_blocked = blocks::all}};
        all.waits(0, waits_for::task, all.tasks[1]);
        all.leaves(1, false), all.all.enter_scope(1); // it begins alone
        all.waits(1, waits_for::task, all.tasks[1]);
        const thread_id w = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1),
                        v = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1);
        if (!waits_on) all.waits(0, waits_for::nothing);
        if (!waits_on) CHECK(all.fails(0) == "");
        CHECK(all.fails(w) == "");
        CHECK(all.fails(v) == "1 rolled_back, 2 rolled_back, 3 rolled_back");
        CHECK(all.all.has_tried_alone(1) == waits_on);
    }
}

TEST_CASE("a worker that runs while its attempt is rolled back goes back at its next refusal", "[oom]") {
    tasks_of all{2};
    const thread_id w = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1),
                    v = all.all.add_thread(thread_kind::pool, all.tasks[1], 1);
    CHECK(all.fails(0) == "");
    CHECK(all.fails(w) == "");
    CHECK(all.waits(1, waits_for::task, all.tasks[1]) == ""); // v runs, and is of a pool
    CHECK(all.fails(v) == "1 rolled_back, 2 rolled_back, 3 rolled_back");
    const thread_id late = all.all.add_thread(thread_kind::dedicated, all.tasks[1], 1);
    CHECK(all.fails(late) == "4 rolled_back");
    CHECK(all.all[1].attempts == 1);
}

TEST_CASE("an attempt that a verdict of another thread ended goes back, at most as often as the budget says", "[oom]") {
    tasks_of all{1, rules{.most_attempts = 3}};
    for (int n = 0; n != 3; ++n) CHECK(all.step(0, event::ready) == "0 rolled_back, 0 tries_alone");
    CHECK(all.step(0, event::ready) == "0 refused");
    CHECK(all.all.verdict_for(0) == allot::verdict::refused);
}

TEST_CASE("threads of a pool that work for a removed task alone are removed, until they work for another", "[oom]") {
    for (const thread_kind kind : {thread_kind::pool, thread_kind::shuffle}) {
        tasks_of all{1};
        const task_id gone = all.add_task(), next = all.add_task();
        const thread_id alone = all.add_thread(gone, kind), both = all.add_thread(gone, kind);
        all.all.work_on(both, next, all.sink());
        CHECK(all.fails(alone) == "");
        all.all.remove_task(gone, all.sink());
        CHECK(all[alone] == remove_throw);
        CHECK(all[both] == running);
        CHECK(all.step(alone, event::thrown) == "");
        all.all.leave_scope(alone, false, 0, all.sink());
        all.all.finish(alone, gone, all.sink());
        CHECK(all[alone] == running);
        all.all.work_on(alone, gone, all.sink());
        CHECK(all[alone] == remove_throw);
        all.all.work_on(alone, next, all.sink());
        CHECK(all[alone] == running);
        all.all.finish(both, next, all.sink());
        CHECK(all[both] == remove_throw);
        CHECK(all.all.start(kind, gone, all.sink()) == 3);
        CHECK(all[3] == remove_throw);
        CHECK(all.all.valid());
    }
}

TEST_CASE("a task that has nothing any more wakes those that are rolled back, as one that has ended", "[oom]") {
    for (const std::int64_t keeps : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}}) {
        CAPTURE(keeps);
        tasks_of all{2, rules{}};
        CHECK(all.fails(0) == "");
        CHECK(all.fails(1) == "1 rolled_back");
        CHECK(all.step(0, event::may_fit) == "");
        all.all.leave_scope(0, true, SIZE_MAX, all.sink(), keeps);
        CHECK(all.decided() == (keeps == 0 ? "1 woken" : ""));
        if (keeps == 0) continue;
        all.all.wait(0, waits_for::outside, no_id, all.sink(), 0);
        CHECK(all.decided() == "1 woken");
    }
}

TEST_CASE("one that fits beside what a task keeps is woken when that has done a part", "[oom]") {
    constexpr std::int64_t half = allot::oom::detail::whole_share / 2;
    for (const std::int64_t keeps : {half, half + 1}) {
        CAPTURE(keeps);
        tasks_of all{3, rules{}};
        all.fails(1, 1, memory_kind::host, half), all.step(1, event::rolled_back), all.sleeps(1);
        all.all.leave_scope(0, true, SIZE_MAX, all.sink(), keeps);
        CHECK(all.decided() == (keeps == half ? "1 woken" : ""));
        if (keeps == half) continue;
        CHECK(all.ends(2) == "1 woken"); // where a task ends the first is in any case
    }
}
