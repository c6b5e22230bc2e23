// Misuse of tasks and scopes is harmless where it is not reported: no list leads to what has ended, and no thread works
// for a task of another arbiter.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/oom/retry_scope.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/oom/task.hpp>

#include <memory>
#include <optional>
#include <thread>

#if !ALLOT_CHECKED // which tells, see tests/death

using allot::account;
using allot::limit;
using allot::name;
using allot::oom::arbiter;
using allot::oom::retry_scope;
using allot::oom::task;
using allot::oom::task_thread;
using allot::oom::thread_kind;

TEST_CASE("tokens that end out of order leave the others in place", "[oom]") {
    arbiter tasks;
    task query{tasks}, next{tasks};
    std::optional<task_thread> outer{query}, inner{next};
    outer.reset();
    CHECK(task_thread::now() == &*inner);
    inner.reset();
    CHECK(task_thread::now() == nullptr);
    const allot::oom::machine now = tasks.now();
    for (const auto& t : now.threads()) CHECK_FALSE(t.used);
}

TEST_CASE("a token that ends on another thread changes nothing there", "[oom]") {
    arbiter tasks;
    task query{tasks}, next{tasks};
    std::thread([&] {
        std::optional<task_thread> here{query};
        std::thread([&] {
            const task_thread there{next};
            here.reset();
            CHECK_ON_THREAD(task_thread::now() == &there);
        }).join();
    }).join();
}

TEST_CASE("scopes that end out of order, or after their token, leave the others in place", "[oom]") {
    arbiter tasks;
    task query{tasks};
    std::optional<task_thread> here{query};
    std::optional<retry_scope> outer{std::in_place}, inner{std::in_place};
    outer.reset();
    CHECK(retry_scope::now() == &*inner);
    CHECK(here->is_in_scope());
    here.reset();
    CHECK(inner->wait({.outcome = allot::charge_outcome::rolled_back}) == allot::verdict::refused);
    inner.reset();
    CHECK(retry_scope::now() == nullptr);
}

TEST_CASE("a latch that is counted down more often than its count stays open", "[oom]") {
    arbiter tasks;
    allot::oom::latch two{tasks, 2}, none{tasks, 0};
    for (int n = 0; n != 4; ++n) two.count_down();
    none.count_down();
    two.wait();
    none.wait();
}

TEST_CASE("a thread does not work for a task of another arbiter", "[oom]") {
    arbiter tasks, others;
    task first{others}, second{others}, its{others, "another's"};
    task query{tasks};
    task_thread here{query, thread_kind::pool};
    here.begin(its);
    here.end(its);
    const allot::oom::machine now = tasks.now();
    CHECK((now[0].task == query.id() && now[0].others.empty()));
    task_thread also{query, thread_kind::pool};
    also.end(first); // its id is that of `query`
    CHECK((first.id() == query.id() && also.task_now() == query.id()));
}

TEST_CASE("a thread whose task has ended does not look at its account", "[oom]") {
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    auto mine = std::make_unique<account>(memory, name{"query"});
    std::optional<task> query{std::in_place, tasks, "query", 0, &*mine};
    const task_thread here{*query};
    query.reset();
    mine.reset();
    const support::charged all{memory, 100};
    CHECK_FALSE(memory.charge_for(1, allot::forever).charged());
}

#endif
