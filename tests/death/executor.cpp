// Executors and groups that end in the wrong order, or wait for themselves, end a checked build.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>
#include <support/tasks.hpp>

#include <allot/core/units.hpp>
#include <allot/task/task_cache.hpp>

#include <memory>

using namespace allot::literals;
using allot::account;
using allot::name;

namespace {

struct fixture {
    allot::oom::arbiter tasks;
    account engine{name{"engine"}, allot::limit{1_MiB}, tasks};
    std::unique_ptr<allot::executor> run = std::make_unique<allot::executor>(tasks, engine);
    std::unique_ptr<allot::task_group> query = std::make_unique<allot::task_group>(*run, name{"query 7"});
};

} // namespace

TEST_CASE("an executor that ends before its group", "[death][task]") {
    dies_telling<fixture>([](fixture& f) { f.run.reset(); },
                          {"an executor ends before a group of its tasks: destroy the group first", "engine"});
}

TEST_CASE("a task that waits for tasks of its executor, in its kernel or its sink", "[death][task]") {
    const auto waits = {"a task waits for tasks of its own executor, which may wait for it", "engine"};
    dies_telling<fixture>(
        [](fixture& f) {
            f.query->add({}, [&] { f.query->wait(); });
            f.query->wait();
        },
        {"a task waits for tasks of its own executor, which may wait for it", "engine", "query 7"});
    dies_telling<fixture>(
        [](fixture& f) {
            allot::task_group other{*f.run, name{"other"}};
            other.add({}, [] { return 1; }, [&](int) { f.query->wait(); });
            other.wait();
        },
        waits);
    dies_telling<fixture>(
        [](fixture& f) {
            f.query->add({}, [&] { f.run->drain(); });
            f.query->wait();
        },
        waits);
    dies_telling<fixture>(
        [](fixture& f) {
            allot::task_group other{*f.run, name{"other"}};
            allot::task_cache<support::part> results{other};
            f.query->add({}, [&] { static_cast<void>(results.pull()); });
            f.query->wait();
        },
        waits);
}
