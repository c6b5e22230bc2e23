// The log of an arbiter: it replays, and each entry that was altered, moved or lost is found.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/oom/event_log.hpp>
#include <allot/oom/scoped_wait.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::limit;
using allot::name;
using support::charged;
using support::part;

namespace {

// Three tasks that need all memory, each `parts` times, and hold a resource meanwhile.
void run_tasks(arbiter& tasks, int parts) {
    account memory{name{"engine"}, limit{12}, tasks};
    resource permits{tasks};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            task query{tasks, "query", t};
            task_thread here{query};
            const resource::holder mine{permits};
            std::vector<part> inputs(static_cast<std::size_t>(parts), part{0, 16});
            with_retry(inputs, support::halve, [&](const part& p) {
                std::vector<charged> all;
                for (int i = p.from; i != p.to; ++i) {
                    all.emplace_back(memory, 1);
                    std::this_thread::yield();
                }
            });
        });
}
std::vector<log_entry> entries_of_a_run(const rules& r, int parts) {
    event_log all{100'000};
    arbiter tasks{r, all.sink()};
    run_tasks(tasks, parts);
    CHECK(all.check(tasks.rules()) == event_log::consistent);
    CHECK(all.dropped() == 0);
    return all.entries();
}
std::string text(const log_entry& e) {
    char line[200];
    allot::text_writer out{line};
    write(out, e);
    return std::string(out.view());
}

} // namespace

TEST_CASE("the log of real threads replays, by each set of rules", "[oom]") {
    const support::rescue ends{"tasks that wait for ever"};
    std::size_t changes = 0;
    for (const rules& r :
         {rules{}, rules{.first_to_split = splits::lowest}, rules{.rolled_back_wakes = wakes::at_task_end},
          rules{.task_is_blocked = blocks::all}, rules{.tries_alone = false}})
        for (const log_entry& e : entries_of_a_run(r, 2)) changes += e.is_change;
    CHECK(changes > 100);
}

TEST_CASE("a log that is full is consistent as far as it goes", "[oom]") {
    const support::rescue ends{"tasks that wait for ever"};
    for (const std::size_t most : {0U, 1U, 9U, 10U, 11U, 12U, 13U, 14U, 15U, 16U, 40U}) {
        event_log first{most};
        arbiter tasks{{}, first.sink()};
        run_tasks(tasks, 1);
        CHECK(first.entries().size() == most);
        CHECK(first.dropped() > 0);
        CHECK(first.check(tasks.rules()) == event_log::consistent);
    }
}

TEST_CASE("each entry that was altered, moved or lost is found", "[oom]") {
    const support::rescue ends{"tasks that wait for ever"};
    std::vector<log_entry> all = entries_of_a_run({}, 1);
    REQUIRE(all.size() > 60);
    while (all.size() > 250 || all.back().is_change) all.pop_back();
    const auto check = [](const std::vector<log_entry>& entries) { return event_log::replay(entries, {}); };
    const auto altered = [&](std::size_t i, auto alter) {
        std::vector<log_entry> copy = all;
        alter(copy[i]);
        return check(copy);
    };
    for (std::size_t i = 0; i != all.size(); ++i) {
        CAPTURE(i, text(all[i]));
        CHECK(altered(i, [](log_entry& e) { ++e.sequence; }) == i);
        CHECK(altered(i, [](log_entry& e) { e.is_change = !e.is_change; }) == i);
        if (all[i].is_change) {
            CHECK(altered(i, [](log_entry& e) {
                      e.became.to = thread_state::unknown == e.became.to ? thread_state::bufn : thread_state::unknown;
                  }) == i);
            CHECK(altered(i, [](log_entry& e) { e.became.from = thread_state{9}; }) == i);
            CHECK(altered(i, [](log_entry& e) {
                      e.became.by = e.became.by == event::split ? event::woken : event::split;
                  }) == i);
            CHECK(altered(i, [](log_entry& e) { ++e.became.thread; }) == i);
        } else {
            if (all[i].what.thread != no_id) CHECK(altered(i, [](log_entry& e) { e.what.thread = 1000; }) == i);
            if (all[i].what.on != no_id) CHECK(altered(i, [](log_entry& e) { e.what.on = 1000; }) == i);
            CHECK(altered(i, [](log_entry& e) { e.what.what = event{99}; }) == i);
        }
        if (i + 1 == all.size()) break;
        std::vector<log_entry> lost = all, swapped = all;
        lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(check(lost) <= i + 1);
        std::swap(swapped[i], swapped[i + 1]);
        CHECK(check(swapped) <= i + 1);
    }
}

TEST_CASE("values that no arbiter writes are found, not used", "[oom]") {
    const auto check = [](command last) {
        std::vector<log_entry> all;
        for (const command& c : {command{.what = event::task_begun}, command{.what = event::started, .on = 0},
                                 command{.what = event::resource_begun}, last})
            all.push_back({.sequence = all.size() + 1, .is_change = false, .what = c, .became = {}});
        return event_log::replay(all, {});
    };
    CHECK(check({.what = event::scope_begun, .thread = 0}) == event_log::consistent);
    CHECK(check({.what = event{35}, .thread = 0}) == 3);
    CHECK(check({.what = event::started, .detail = 3, .on = 0}) == 3);
    CHECK(check({.what = event::announced, .detail = 2, .thread = 0}) == 3);
    CHECK(check({.what = event::refunded, .detail = 2}) == 3);
    CHECK(check({.what = event::waits, .detail = 5, .thread = 0, .on = 0}) == 3);
    CHECK(
        check({.what = event::waits, .detail = static_cast<std::uint8_t>(waits_for::resource), .thread = 0, .on = 7}) ==
        3);
    CHECK(check({.what = event::waits, .detail = static_cast<std::uint8_t>(waits_for::task), .thread = 0, .on = 7}) ==
          3);
    CHECK(check({.what = event::held, .on = 0, .number = 9}) == 3);
    CHECK(check({.what = event::scope_ended, .detail = 1, .thread = 0}) == 3); // it is in none
    CHECK(check({.what = event::task_ended, .on = 0}) == 3);                   // a thread works for it
    CHECK(check({.what = event{77}}) == 3);
    CHECK(check({.what = event::resource_ended, .on = 3}) == 3);
}

TEST_CASE("an entry as text", "[oom]") {
    log_entry e{
        .sequence = 12, .is_change = false, .what = {.what = event::failed, .detail = 1, .thread = 3}, .became = {}};
    CHECK(text(e) == "12 failed 1 thread 3 on - number 0 bytes 0 free 0");
    e.what = {.what = event::announced, .detail = 1, .thread = 3, .bytes = 4096, .free = SIZE_MAX};
    CHECK(text(e) == "12 announced 1 thread 3 on - number 0 bytes 4096 free -");
    e.what = {.what = event::task_begun, .number = INT64_MIN};
    CHECK(text(e) == "12 task_begun 0 thread - on - number -9223372036854775808 bytes 0 free 0");
    e = {.sequence = 13,
         .is_change = true,
         .what = {},
         .became = {3, thread_state::alloc, event::failed, thread_state::blocked}};
    CHECK(text(e) == "13 > thread 3 alloc failed blocked");
}
