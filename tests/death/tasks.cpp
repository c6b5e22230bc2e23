// What must not be done with tasks, their threads and retry scopes ends a checked build, with the task's name where
// there is one.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>
#include <support/tasks.hpp>

#include <allot/oom/scoped_wait.hpp>

#include <atomic>
#include <optional>
#include <thread>

using allot::account;
using allot::limit;
using allot::name;
using allot::oom::arbiter;
using allot::oom::resource;
using allot::oom::retry_scope;
using allot::oom::task;
using allot::oom::task_thread;
using allot::oom::thread_kind;

namespace {

struct fixture {
    std::optional<arbiter> tasks{std::in_place};
    std::optional<account> memory{std::in_place, name{"engine"}, limit{100}, *tasks};
    std::optional<task> query{std::in_place, *tasks, "query 7"}, next{std::in_place, *tasks, "query 8"};
};
template <class Body> void reported(const char* what, const char* who, Body body) {
    dies_telling<fixture>(body, {what, who});
}
template <class Body> void survives(Body body) {
    const death end = death_of([&] {
        fixture f;
        body(f);
    });
    INFO(end.said);
    CHECK(end.survived());
}

} // namespace

TEST_CASE("a task that ends while a thread works for it", "[death][oom]") {
    static constexpr const char* what = "a task ends while a thread works for it: end its task_thread first";
    reported(what, "query 7", [](fixture& f) { // awake
        const task_thread here{*f.query};
        f.query.reset();
    });
    reported(what, "query 7", [](fixture& f) { // asleep
        const support::rescue ends{"a thread of a task that has ended"};
        f.memory->charge(100);
        const task_thread here{*f.next}; // runs, so nothing is decided
        std::thread sleeper([&] {
            const task_thread there{*f.query};
            f.memory->charge(1);
        });
        support::until_any_in(*f.tasks, allot::oom::thread_state::blocked);
        f.query.reset();
        sleeper.join();
    });
    reported(what, "query 8", [](fixture& f) { // the second one of a pool's thread
        task_thread here{*f.query, thread_kind::pool};
        here.begin(*f.next);
        f.next.reset();
    });
}

TEST_CASE("a task that ends after its threads, in any order", "[death][oom]") {
    survives([](fixture& f) {
        {
            const task_thread here{*f.query}, inner{*f.next}, again{*f.query};
            const retry_scope outer, scope;
        }
        task_thread here{*f.query, thread_kind::pool};
        here.begin(*f.next);
        here.end(*f.query);
        f.query.reset();
        here.end(*f.next);
        f.next.reset();
    });
}

TEST_CASE("tokens of one thread that end out of order", "[death][oom]") {
    reported("a task_thread ends before one that began after it on this thread", "query 7", [](fixture& f) {
        std::optional<task_thread> outer{*f.query};
        const task_thread inner{*f.next};
        outer.reset();
    });
    reported("a task_thread ends before one that began after it on this thread", "query 7", [](fixture& f) {
        arbiter other;
        task its{other, "of another arbiter"};
        std::optional<task_thread> outer{*f.query};
        const task_thread inner{its};
        outer.reset();
    });
}

TEST_CASE("tokens and scopes that end on another thread", "[death][oom]") {
    static constexpr const char* what = "ends on a thread where it did not begin: end it where it began";
    reported(what, "query 7", [](fixture& f) {
        std::optional<task_thread> here{*f.query};
        std::thread([&] { here.reset(); }).join();
    });
    reported(what, "query 7", [](fixture& f) { // which has one of its own
        std::optional<task_thread> here{*f.query};
        std::thread([&] {
            const task_thread there{*f.next};
            here.reset();
        }).join();
    });
    reported(what, "", [](fixture& f) {
        const task_thread here{*f.query};
        std::optional<retry_scope> scope{std::in_place};
        std::thread([&] { scope.reset(); }).join();
    });
}

TEST_CASE("retry scopes that end out of order, or after their token", "[death][oom]") {
    static constexpr const char* what = "a retry_scope ends before one that began after it on this thread";
    reported(what, "", [](fixture& f) {
        const task_thread here{*f.query};
        std::optional<retry_scope> outer{std::in_place};
        const retry_scope inner;
        outer.reset();
    });
    reported(what, "", [](fixture& f) {
        const task_thread here{*f.query};
        retry_scope outer;
        const retry_scope inner;
        outer.done();
    });
    static constexpr const char* late =
        "a task_thread ends before a retry_scope, scoped_wait or no_rollback that began under it: end that first";
    reported(late, "query 7", [](fixture& f) {
        std::optional<task_thread> here{*f.query};
        const retry_scope scope;
        here.reset();
    });
    reported(late, "query 7", [](fixture& f) {
        std::optional<task_thread> here{*f.query};
        const allot::oom::no_rollback bar;
        here.reset();
    });
    reported(late, "query 7", [](fixture& f) {
        std::optional<task_thread> here{*f.query};
        const allot::oom::scoped_wait disk{allot::oom::outside};
        here.reset();
    });
}

TEST_CASE("a thread that joins a scope without a task, or one that has ended", "[death][oom]") {
    static constexpr const char* what = "a task_thread joins a retry_scope without a task, or that has ended";
    reported(what, "", [](fixture&) {
        retry_scope none;
        const task_thread joins{none};
    });
    reported(what, "", [](fixture& f) {
        const task_thread here{*f.query};
        retry_scope scope;
        scope.done();
        const task_thread joins{scope};
    });
    survives([](fixture& f) {
        const task_thread here{*f.query};
        retry_scope scope;
        std::thread([&] { const task_thread joins{scope}; }).join();
    });
}

TEST_CASE("a latch that is counted down more often than its count", "[death][oom]") {
    for (const int count : {0, 1})
        reported("a latch is counted down more often than its count", "", [count](fixture& f) {
            allot::oom::latch open{*f.tasks, count};
            for (int n = 0; n <= count; ++n) open.count_down();
        });
}

TEST_CASE("an arbiter that ends before what has it", "[death][oom]") {
    static constexpr const char* task_lives = "an arbiter ends before a task or resource of it: end them first";
    static constexpr const char* root_lives =
        "an arbiter ends before a root account that has it: end the account first";
    reported(task_lives, "query 8", [](fixture& f) {
        f.query.reset();
        f.memory.reset();
        f.tasks.reset();
    });
    reported(task_lives, "", [](fixture&) {
        std::optional<arbiter> tasks{std::in_place};
        const resource permits{*tasks};
        tasks.reset();
    });
    const auto root = [](auto make) {
        reported(root_lives, "", [&](fixture&) {
            std::optional<arbiter> tasks{std::in_place};
            account memory{name{"engine"}, limit{100}, make(*tasks)};
            account child{memory, name{"query"}};
            child.close();
            memory.close(); // it lives, though it is closed
            tasks.reset();
        });
    };
    root([](arbiter& a) -> allot::judged_by { return a; });
    root([](arbiter& a) { return a.device(); });
    survives([](fixture& f) {
        account device{name{"gpu 0"}, limit{100}, f.tasks->device()}, child{*f.memory, name{"query"}};
        account refused{name{"refused"}, *f.tasks, limit{1}};
    });
}

TEST_CASE("a thread that is to work for a task of another arbiter", "[death][oom]") {
    static constexpr const char* what = "a task of another arbiter than the task_thread's";
    reported(what, "of another", [](fixture& f) {
        arbiter other;
        task its{other, "of another"};
        task_thread here{*f.query, thread_kind::pool};
        here.begin(its);
    });
    reported(what, "of another", [](fixture& f) {
        arbiter other;
        task its{other, "of another"};
        task_thread here{*f.query, thread_kind::pool};
        here.end(its);
    });
}
