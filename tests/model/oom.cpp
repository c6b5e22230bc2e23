// All runs of small programs over the OOM state machine: each ends, and every decision is allowed.
//
//     oom "[exhaustive]"      three tasks of two threads: some minutes, 6 GB
#include <support/catch.hpp>

#include <model/oom_explorer.hpp>

#include <cstdio>
#include <string>
#include <vector>

using namespace support;

namespace {

program same(unsigned tasks, unsigned threads, unsigned units, const std::vector<part>& parts, const rules& r = {}) {
    program p;
    p.units = units;
    p.tasks.assign(tasks, std::vector<std::vector<part>>(threads, parts));
    p.rules = r;
    return p;
}
findings explore(const program& p) {
    findings f = explorer(p).run();
    UNSCOPED_INFO(f.states << " states, " << f.rollbacks << " rollbacks, " << f.splits << " splits");
    f.wrong = f.wrong.substr(0, f.wrong.find('\n'));
    return f;
}
// With delays whose time is over too early at most twice; with any task aborted; by other rules. `fit`: each task does,
// beside what those keep that wait for it, so that none is split unless a delay was over too early.
void check_all_end(program p, bool fit = true) {
    for (const unsigned early : {0U, 1U, 2U}) {
        p.early = early;
        const findings f = explore(p);
        CHECK(f.wrong == "");
        if (fit && early == 0) CHECK((f.splits == 0 && f.refusals == 0));
    }
    p.kills = true, p.early = 0;
    CHECK(explore(p).wrong == "");
    p.rules.task_is_blocked = blocks::all, p.rules.rolled_back_wakes = wakes::at_scope_end;
    CHECK(explore(p).wrong == "");
}
const std::vector<part> large_and_small{{3, 0}, {2, 0}}, too_large{{5, 0}}, keeps_some{{3, 1}, {2, 0}},
    in_no_scope{{3, 0}, {2, 0, false}};

} // namespace

TEST_CASE("two tasks of one thread: whatever they need and keep", "[oom]") {
    for (const auto& parts : {large_and_small, too_large, keeps_some, in_no_scope}) {
        const findings f = explore(same(2, 1, 3, parts));
        CHECK(f.wrong == "");
        CHECK(f.rollbacks != 0);
    }
    CHECK(explore(same(2, 1, 3, large_and_small)).splits == 0); // each fits alone
    CHECK(explore(same(2, 1, 3, too_large)).splits != 0);
    CHECK(explore(same(2, 1, 3, keeps_some)).splits != 0); // the other keeps a unit
}

TEST_CASE("two tasks of two threads", "[oom]") {
    for (const auto& parts : {std::vector<part>{{3, 0}}, too_large}) CHECK(explore(same(2, 2, 3, parts)).wrong == "");
}

TEST_CASE("three tasks of one thread", "[oom]") {
    for (const auto& parts : {large_and_small, too_large, in_no_scope})
        CHECK(explore(same(3, 1, 3, parts)).wrong == "");
}

TEST_CASE("tasks that wait for permits of others, too", "[oom]") {
    const std::vector<part> waits_with_memory{{1, 1}, {2, 0, true, true}}, both{{2, 0, true, true}, {3, 0}};
    for (const unsigned permits : {1U, 2U})
        for (program p : {same(2, 1, 3, waits_with_memory), same(3, 1, 4, waits_with_memory), same(3, 1, 3, both),
                          same(2, 2, 3, {{3, 0, true, true}})}) {
            p.permits = permits;
            CHECK(explore(p).wrong == "");
        }
}

TEST_CASE("a thread that waits for another one, with memory: for its task, or a latch", "[oom]") {
    for (const waits_for how : {waits_for::task, waits_for::resource}) {
        const auto keeps_and_waits = [how](unsigned thread, unsigned needs = 2) {
            return std::vector<part>{{1, 1}, {.needs = needs, .after = {thread, 1, how}}};
        };
        program p = same(2, 1, 3, {{2}, {2}});
        p.tasks[1] = {keeps_and_waits(0)};
        check_all_end(p); // it goes on before that task has ended
        p.tasks.push_back({{{2}}});
        check_all_end(p);
        p.tasks[2] = {{{.needs = 2, .after = {0, 1}}}};
        p.tasks[1] = {keeps_and_waits(2, 1)};
        check_all_end(p); // that one's thread begins later
        p.tasks = {{{{2}}, {{2}}}, {keeps_and_waits(1)}};
        check_all_end(p); // of several threads
        p.tasks = {{{{3}}, keeps_and_waits(0, 1)}, {{{2}, {2}}}};
        check_all_end(p, false); // of its own task, which needs what it keeps
    }
}

TEST_CASE("workers that join a scope are rolled back with it, and split with it", "[oom]") {
    for (const waits_for how : {waits_for::task, waits_for::resource}) {
        const auto needs = [how](unsigned own, std::vector<part> workers) {
            return std::vector<part>{{.needs = own, .workers = workers, .joins = how}};
        };
        check_all_end(same(2, 1, 3, needs(1, {{2}})));
        check_all_end(same(2, 1, 4, needs(1, {{2}})));
        check_all_end(same(1, 2, 3, needs(1, {{2}})));
        check_all_end(same(2, 1, 3, needs(2, {{3}})), false);
        check_all_end(same(2, 1, 3, needs(1, {{1}, {1}})));
        program p = same(2, 1, 4, {{3}, {2}});
        p.tasks[0][0] = needs(1, {{2, 0, false}});
        check_all_end(p);
        p = same(2, 1, 3, {{3}});
        p.tasks[1][0] = needs(1, {{2}, {.needs = 1, .after = {0, 1, how}}});
        check_all_end(p, false); // one keeps what the other task needs until that has ended
        p.units = 4;
        p.tasks[0][0] = {{1}, {.needs = 1, .workers = {{1}, {2}}, .joins = how}};
        p.tasks[1][0] = needs(1, {{.needs = 2, .after = {0, 1, how}}});
        check_all_end(p);
        p.units = 3; // it waits while the attempt of that one begins, then takes memory
        p.tasks[0][0] = {{1}, {1}};
        p.tasks[1][0] = {{.needs = 3, .after = {0, 1, waits_for::task}, .workers = {{1}}, .joins = how}};
        check_all_end(p, false);
        p = same(1, 2, 3, {{2}}); // beside a thread of the task that is no worker
        p.tasks[0][0] = needs(2, {{1}});
        check_all_end(p);
    }
}

TEST_CASE("threads of a pool that work for tasks which wait for them, one after the other", "[oom]") {
    for (const bool queued : {false, true}) {
        const auto asks = [](unsigned thread, unsigned job) { return part{.after = {thread, job, waits_for::pool}}; };
        program p = same(2, 1, 3, {{1, 1}});
        p.queued = queued;
        p.pool = {{{.needs = 2, .of = 0}, {.needs = 2, .of = 1}}};
        p.tasks[0][0].push_back(asks(2, 1)), p.tasks[1][0].push_back(asks(2, 2));
        check_all_end(p, false); // it works for one, and the other keeps what that needs
        p.units = 4;
        check_all_end(p);
        p.pool = {{{.needs = 2, .of = 0}}, {{.needs = 2, .of = 1}}};
        p.tasks[1][0].back() = asks(3, 1);
        check_all_end(p);
        p = same(3, 1, 3, {{2}});
        p.queued = queued;
        p.pool = {{{.needs = 2, .of = 0}, {.needs = 2, .of = 1}}};
        p.tasks[0][0] = {asks(3, 1), {2}}, p.tasks[1][0] = {asks(3, 2)};
        check_all_end(p);
        p.pool[0][0].after = {0, 1}; // it begins with its tasks when they have work
        p.tasks[0][0] = {{1}, asks(3, 1)};
        check_all_end(p);
    }
}

TEST_CASE("a task that is aborted at any time leaves no other waiting", "[oom]") {
    program p = same(2, 2, 3, {{3, 0}});
    p.kills = true;
    CHECK(explore(p).wrong == "");
    p = same(3, 1, 3, large_and_small);
    p.kills = true;
    CHECK(explore(p).wrong == "");
}

TEST_CASE("tasks that have limits of their own: a task at its limit decides among its threads", "[oom]") {
    for (const auto& parts : {large_and_small, too_large, keeps_some, in_no_scope})
        for (const unsigned own : {2U, 3U}) {
            for (program p : {same(1, 2, 4, parts), same(2, 1, 4, parts)}) {
                p.own_units = own;
                CHECK(explore(p).wrong == "");
            }
        }
    program p = same(2, 2, 4, too_large);
    p.own_units = 2;
    CHECK(explore(p).wrong == "");
}

TEST_CASE("units that no task holds come back at any time or never, and each run ends", "[oom]") {
    for (const auto& parts : {large_and_small, too_large, keeps_some, in_no_scope})
        for (const unsigned outside : {1U, 2U}) {
            program p = same(2, 1, 3 + outside, parts);
            p.outside = outside;
            CHECK(explore(p).wrong == ""); // for a bounded time
            p.announced = true;
            CHECK(explore(p).wrong == "");
            p.rules.unknown_holders_wait = {};
            CHECK(explore(p).wrong == ""); // as long as the token lives
            p.announced = false;
            CHECK(explore(p).wrong == ""); // not at all
        }
    program p = same(3, 1, 4, {{3, 0}});
    p.outside = 1;
    CHECK(explore(p).wrong == "");
    p.kills = true;
    CHECK(explore(p).wrong == "");
    p.announced = true;
    CHECK(explore(p).wrong == "");
    p = same(2, 1, 4, large_and_small);
    p.outside = 1, p.own_units = 2;
    CHECK(explore(p).wrong == "");
    p.rules.rolled_back_wakes = wakes::at_scope_end;
    CHECK(explore(p).wrong == "");
    p.rules.task_is_blocked = blocks::all;
    CHECK(explore(p).wrong == "");
}

// The first task keeps one of three units; all tasks need three at once then (docs/oom.md).
TEST_CASE("a request that is due is passed by no other, but where it waits for that one's task", "[oom]") {
    const std::vector<part> large{{3, 0, true, false, true}}, small{{1, 0}, {1, 0}, {1, 0}}, nested{{2, 1}, {2, 0}},
        nested_outside{{1, 1, false}, {1, 0, false}}, permits{{1, 1}, {1, 0, true, true}};
    for (const auto& others : {small, nested, nested_outside, permits})
        for (const bool knows : {true, false})
            for (const unsigned passed : {0U, 1U, 2U}) {
                program p = same(2, 1, 4, others);
                p.tasks.push_back({large});
                p.tasks[0].push_back(large); // behind its own task, too
                p.most_passed = passed;
                p.knows_memory = knows;
                CHECK(explore(p).wrong == "");
            }
    program p = same(2, 1, 4, nested); // the circle alone: one has a unit and asks for one, the other for three
    p.tasks[1] = {large};
    p.most_passed = 0;
    const findings f = explore(p);
    CHECK(f.wrong == "");
    CHECK(f.rollbacks == 0);
}

TEST_CASE("where the rules of the document and of the code differ", "[oom]") {
    program p = same(2, 1, 3, {{3, 0}});
    p.tasks[0][0] = {{1, 1}, {3, 0}};
    p.rules.rolled_back_wakes = wakes::at_scope_end;
    SECTION("the highest splits: its task ends, and the others need no split") {
        findings f = explore(p);
        CHECK(f.wrong == "");
        CHECK((f.most.splits == 1 && f.most.rollbacks == 3));
        p.rules.first_to_split = splits::lowest;
        f = explore(p);
        CHECK(f.wrong == "");
        CHECK((f.most.splits == 2 && f.most.rollbacks == 5));
    }
    SECTION("the same of three tasks") {
        p.tasks.push_back(p.tasks[1]);
        findings f = explore(p);
        CHECK((f.most.splits == 1 && f.most.rollbacks == 6));
        p.rules.first_to_split = splits::lowest;
        f = explore(p);
        CHECK(f.wrong == "");
        CHECK((f.most.splits == 3 && f.most.rollbacks == 10));
    }
    SECTION("without attempts alone, one splits before it has tried with all memory that others can give") {
        p.rules.tries_alone = false;
        CHECK(explore(p).wrong == "a split before an attempt while all others were rolled back");
    }
    SECTION("memory that is freed wakes the thread that has just freed it: they never end") {
        p.rules.rolled_back_wakes = wakes::at_free;
        CHECK(explore(p).wrong == "a run that never ends");
    }
    SECTION("the code's: only the end of a task wakes") {
        p.rules.rolled_back_wakes = wakes::at_task_end;
        CHECK(explore(p).wrong == "");
    }
    SECTION("the any rule rolls back more often than the all rule") {
        rules r;
        const std::size_t any = explore(same(2, 2, 3, {{3, 0}}, r)).rollbacks;
        r.task_is_blocked = blocks::all;
        const findings all = explore(same(2, 2, 3, {{3, 0}}, r));
        CHECK(all.wrong == "");
        CHECK(all.rollbacks < any);
    }
}

TEST_CASE("what is held in no scope is refused in the end, and does not wait for ever", "[oom]") {
    const findings f = explore(same(2, 1, 3, {{3, 0, false}}));
    CHECK(f.wrong == "");
    CHECK(f.refusals != 0);
}

TEST_CASE("three tasks of two threads and four units", "[.][exhaustive]") {
    for (const auto& parts : {std::vector<part>{{2, 0}}, std::vector<part>{{4, 0}}, std::vector<part>{{5, 0}}}) {
        const findings f = explore(same(3, 2, 4, parts));
        CHECK(f.wrong == "");
        std::printf("needs %u: %zu states, %zu rollbacks, %zu splits\n", parts[0].needs, f.states, f.rollbacks,
                    f.splits);
    }
}
TEST_CASE("three tasks with limits of their own", "[.][exhaustive]") {
    for (const auto& parts : {large_and_small, too_large, keeps_some})
        for (const unsigned own : {2U, 3U}) {
            program p = same(3, 1, 4, parts);
            p.own_units = own;
            const findings f = explore(p);
            CHECK(f.wrong == "");
            std::printf("own limit %u: %zu states, %zu rollbacks, %zu splits\n", own, f.states, f.rollbacks, f.splits);
        }
}
TEST_CASE("two tasks of two threads, beside units that no task holds", "[.][exhaustive]") {
    for (const bool announced : {false, true})
        for (const bool kills : {false, true}) {
            program p = same(2, 2, 4, {{3, 0}});
            p.outside = 1, p.announced = announced, p.kills = kills;
            const findings f = explore(p);
            CHECK(f.wrong == "");
            std::printf("%zu states, %zu rollbacks, %zu splits\n", f.states, f.rollbacks, f.splits);
        }
}
TEST_CASE("two tasks of two threads with several parts", "[.][exhaustive]") {
    for (const auto& parts : {large_and_small, std::vector<part>{{2, 0}, {3, 0}}, keeps_some}) {
        const findings f = explore(same(2, 2, 3, parts));
        CHECK(f.wrong == "");
        std::printf("%zu states, %zu rollbacks, %zu splits\n", f.states, f.rollbacks, f.splits);
    }
    program p = same(2, 2, 3, {{2, 0, true, true}, {3, 0}}); // with a permit, and tasks that are aborted
    p.kills = true;
    const findings f = explore(p);
    CHECK(f.wrong == "");
    std::printf("%zu states, %zu rollbacks, %zu splits\n", f.states, f.rollbacks, f.splits);
}
