// Memory that no task holds: decisions that are put off for it, with real threads, and tokens that announce it.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/oom/event_log.hpp>
#include <allot/oom/held_outside.hpp>
#include <allot/oom/retry.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::charge_outcome;
using allot::limit;
using allot::name;
using allot::time_span;
using support::charged;
using support::until;

namespace {

using clock = std::chrono::steady_clock;
constexpr auto never = std::chrono::hours{24}; // a decision that is put off so long ends by a rescue

struct engine_of_tasks {
    support::rescue ends{"tasks that wait for ever"};
    event_log events{10'000};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};

    explicit engine_of_tasks(time_span wait) : tasks{{.unknown_holders_wait = wait}, events.sink()} {}
    ~engine_of_tasks() {
        CHECK(events.check(tasks.rules()) == event_log::consistent);
        CHECK(memory.used() == 0);
    }
    bool is_put_off() const {
        const machine now = tasks.now();
        for (const auto& t : now.threads())
            if (t.used && t.delayed) return true;
        return false;
    }
    // How often a thread began to sleep because a decision was put off.
    std::size_t delays() const {
        std::size_t n = 0;
        for (const auto& e : events.entries()) n += e.is_change && e.became.by == event::delayed;
        return n;
    }
};
// A task with an account of its own, and the calling thread works for it.
struct work {
    account mine;
    task query;
    task_thread here;
    explicit work(engine_of_tasks& of, const char* text = "query")
        : mine{of.memory, name{text}}, query{of.tasks, text, 0, &mine}, here{query} {}
};

} // namespace

TEST_CASE("a request waits for what a thread without a task holds, in a scope and outside", "[oom]") {
    for (const bool in_scope : {false, true}) {
        engine_of_tasks all{never};                                      // so the refund ends it
        std::optional<charged> prefetch{std::in_place, all.memory, 80U}; // this thread has no task
        std::jthread other{[&] {
            work w{all};
            if (in_scope) with_retry_no_split([&] { const charged c{w.mine, 50}; });
            else const charged c{w.mine, 50};
            CHECK_ON_THREAD(w.query.stats().waits == 1);
            CHECK_ON_THREAD(w.query.stats().rollbacks + w.query.stats().refused == 0);
        }};
        until([&] { return all.is_put_off(); });
        prefetch.reset();
        other.join();
    }
}

#if ALLOT_EXCEPTIONS
TEST_CASE("a decision is made when its time is over, and the thread sleeps until then", "[oom]") {
    engine_of_tasks all{100_ms};
    const charged cache{all.memory, 80};
    work w{all};
    const auto began = clock::now();
    CHECK_THROWS_AS(charged(w.mine, 50), allot::out_of_memory);
    CHECK(clock::now() - began >= std::chrono::milliseconds{100});
    CHECK(all.delays() == 1);
    // Not again, until a part is finished; and not for bytes that did not come back.
    CHECK_THROWS_AS(charged(w.mine, 50), allot::out_of_memory);
    with_retry_no_split([&] { const charged c{w.mine, 10}; });
    CHECK_THROWS_AS(charged(w.mine, 50), allot::out_of_memory);
    CHECK(all.delays() == 1);
    CHECK(w.query.stats().refused >= 1);
}

TEST_CASE("a thread sleeps while a decision is put off", "[oom]") {
    engine_of_tasks all{never};
    std::optional<charged> cache{std::in_place, all.memory, 80U};
    std::atomic<long> thread{0};
    std::jthread other{[&] {
        work w{all};
        thread = support::this_thread();
        const charged c{w.mine, 50};
    }};
    until([&] { return all.is_put_off(); });
    support::until_asleep(thread);
    cache.reset();
}

TEST_CASE("nothing is put off where it is not known what tasks hold, or not enough is unknown", "[oom]") {
    const auto refused_at_once = [](engine_of_tasks& all, const account* memory, account& by, std::size_t bytes) {
        task query{all.tasks, "query", 0, memory};
        const task_thread here{query};
        CHECK_THROWS_AS(charged(by, bytes), allot::out_of_memory);
    };
    engine_of_tasks all{never};
    account mine{all.memory, name{"query"}}, elsewhere{name{"elsewhere"}};
    {
        const charged cache{all.memory, 80};
        refused_at_once(all, nullptr, all.memory, 50);
        refused_at_once(all, &elsewhere, all.memory, 50); // its account is in another tree
        const task other{all.tasks, "other"};             // it may hold all of it
        refused_at_once(all, &mine, mine, 50);
    }
    const charged cache{all.memory, 30}, of_task{mine, 40};
    refused_at_once(all, &mine, mine, 61); // 30 and 30 that are free
}

TEST_CASE("a refused request says its task's share of what tasks may have, where that is known", "[oom]") {
    engine_of_tasks e{100_ms};
    const charged unknown{e.memory, 20};
    work other{e};
    const charged of_other{other.mine, 50};
    work here{e};
    const charged has{here.mine, 10};
    const auto share = [&] { return e.tasks.now().tasks()[here.query.id()].share; };
    CHECK_FALSE(here.mine.charge_for(30, 1_ms).charged());
    CHECK(share() == allot::oom::detail::whole_share / 2 + 1); // 40 of 80
    CHECK_FALSE(here.mine.charge_for(25, 1_ms).charged());
    CHECK(share() == allot::oom::detail::whole_share / 2 + 1); // the most
    CHECK_FALSE(here.mine.charge_for(80, 1_ms).charged());
    CHECK(share() == allot::oom::detail::whole_share);
    {
        task no_account{e.tasks};
        task_thread inner{no_account};
        CHECK_FALSE(e.memory.charge_for(30, 1_ms).charged());
        CHECK(e.tasks.now().tasks()[no_account.id()].share == 0);
    }
}

TEST_CASE("a deadline ends a request though its decision is put off", "[oom]") {
    engine_of_tasks all{never};
    const charged cache{all.memory, 80};
    work w{all};
    const auto began = clock::now();
    const allot::charge_status s = w.mine.charge_for(50, 20_ms);
    CHECK(s.outcome == charge_outcome::over_limit);
    CHECK(clock::now() - began >= std::chrono::milliseconds{20});
}

TEST_CASE("bytes that a token announces are waited for as long as it lives, without any account of a task", "[oom]") {
    engine_of_tasks all{time_span{0}};
    std::optional<charged> prefetch{std::in_place, all.memory, 80U};
    std::optional<held_outside> announced{std::in_place, all.memory, 80U};
    std::atomic<bool> granted{false};
    std::jthread other{[&] {
        task query{all.tasks, "query"};
        const task_thread here{query};
        const charged c{all.memory, 50};
        granted = true;
        CHECK_ON_THREAD(query.stats().refused == 0);
    }};
    support::until_any_in(all.tasks, thread_state::blocked);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    CHECK_FALSE(granted);
    prefetch.reset();
    announced.reset();
    other.join();
    CHECK(granted);
}

TEST_CASE("the end of a token is decided at once where its bytes did not come back, or too few", "[oom]") {
    engine_of_tasks all{time_span{0}};
    const charged cache{all.memory, 80};
    std::optional<held_outside> announced{std::in_place, all.memory, 80U};
    std::atomic<bool> refused{false};
    std::jthread other{[&] {
        task query{all.tasks, "query"};
        const task_thread here{query};
        try {
            const charged c{all.memory, 50};
        } catch (const allot::out_of_memory&) {
            refused = true;
        }
    }};
    support::until_any_in(all.tasks, thread_state::blocked);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    CHECK_FALSE(refused);
    announced->end();
    announced->end(); // nothing more
    other.join();
    CHECK(refused);
    announced.emplace(all.memory, 20U); // 20 and 20 that are free
    task query{all.tasks, "query"};
    const task_thread here{query};
    CHECK_THROWS_AS(charged(all.memory, 50), allot::out_of_memory);
}
#endif

TEST_CASE("a token counts for its kind of memory, and nothing without an arbiter", "[oom]") {
    engine_of_tasks all{time_span{0}};
    account gpu{name{"gpu"}, limit{100}, all.tasks.device()}, alone{name{"alone"}};
    const auto held = [&](allot::memory_kind kind) { return all.tasks.now().outside_of(kind).held; };
    account below{gpu, name{"below"}};
    {
        const held_outside a{below, 7}, b{all.memory, 5}, c{alone, 9};
        CHECK(held(allot::memory_kind::device) == 7);
        CHECK(held(allot::memory_kind::host) == 5);
        CHECK(c.bytes() == 9);
    }
    CHECK(held(allot::memory_kind::device) + held(allot::memory_kind::host) == 0);
}

TEST_CASE("the thread of the first request keeps the time, though another one completes the deadlock", "[oom]") {
    engine_of_tasks all{50_ms};
    const charged cache{all.memory, 40};
    std::atomic<int> done{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 2; ++t)
        threads.emplace_back([&, t] {
            if (t == 1) until([&] { return all.memory.used() == 70; });
            work w{all, t == 0 ? "first" : "second"};
            bool again = false;
            with_retry_no_split([&] {
                const charged mine{w.mine, 30};
                if (!std::exchange(again, true)) { // each has 30 before the first one asks for more, and sleeps
                    if (t == 0) until([&] { return all.memory.used() == 100; });
                    else support::until_any_in(all.tasks, thread_state::blocked);
                }
                const charged more{w.mine, 20};
            });
            ++done;
        });
    threads.clear();
    CHECK(done == 2);
    CHECK(all.tasks.stats().rollbacks >= 1);
}

TEST_CASE("two tasks that deadlock beside a holder without a task both end without a rollback", "[oom]") {
    engine_of_tasks all{never};
    std::optional<charged> prefetch{std::in_place, all.memory, 40U};
    std::atomic<int> hold{0}, done{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 2; ++t)
        threads.emplace_back([&] {
            work w{all};
            with_retry_no_split([&] {
                const charged first{w.mine, 30};
                ++hold;
                until([&] { return hold >= 2; });
                const charged second{w.mine, 20};
            });
            CHECK_ON_THREAD(w.query.stats().rollbacks == 0);
            ++done;
        });
    until([&] { return all.is_put_off(); });
    std::string page(4096, ' ');
    allot::text_writer out{page.data(), page.size()};
    all.tasks.write_tasks(out);
    CHECK_THAT(std::string(out.view()), ContainsSubstring("keeps the time of a decision that is put off"));
    prefetch.reset();
    threads.clear();
    CHECK(done == 2);
}
