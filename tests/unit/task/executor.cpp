// Tasks of an executor: what starts beside what, both places where memory runs out, errors, cancels, and wakers.
#include <support/catch.hpp>
#include <support/task_engine.hpp>
#include <support/tasks.hpp>

#include <allot/row_manager.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/task_group.hpp>
#include <allot/use/spark.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::executor;
using allot::limit;
using allot::name;
using allot::task_group;
using allot::task_outcome;
using allot::task_step;
using batch = allot::stored<allot::buffer>;
using support::charged;
using support::message_of;
using support::until;

namespace {

using fixture = support::task_engine;

} // namespace

TEST_CASE("tasks run in order on the caller's thread, and on the executor's", "[task][executor]") {
    for (const unsigned threads : {0U, 1U, 3U}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = threads}};
        task_group one{run, name{"one"}}, two{run, name{"two"}};
        std::atomic<int> sum{0}, order{0};
        std::atomic<bool> in_order{true};
        for (int i = 1; i <= 100; ++i)
            (i % 2 == 0 ? one : two).add({}, [&, i] {
                sum += i;
                if (++order != i) in_order = false;
            });
        one.wait(), two.wait();
        CHECK((sum == 5050 && (threads > 1 || in_order)));
        one.wait(); // again
        const allot::executor_stats s = run.stats();
        CHECK((s.started == 100 && s.done == 100 && s.waiting == 0 && s.running == 0 && s.failed == 0));
        run.drain();
    }
}

TEST_CASE("a kernel gets its inputs, wherever they are, and its result goes to the sink", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 1}};
    std::vector<int> sums;
    {
        task_group query{run, name{"query"}};
        for (int i = 1; i <= 8; ++i) {
            std::vector<batch> in;
            for (int n = 0; n != 3; ++n) in.push_back(f.put(query.memory(), 100_KiB, i)); // 2.4 MiB of 1 MiB
            query.add(
                {.name = "sum", .output = 4}, std::move(in),
                [&](std::span<batch::pinned> all) {
                    int sum = 0;
                    for (const auto& b : all) sum += std::to_integer<int>(b->bytes()[99'000]);
                    return sum;
                },
                [&](int sum) { sums.push_back(sum); });
        }
        query.wait();
        std::vector<batch> one;
        one.push_back(f.put(query.memory(), 100, 9));
        query.add({}, std::move(one), [&](std::span<batch> in, task_step& step) { // takes it
            const allot::buffer mine = std::move(in[0]).take(step.memory());
            sums.push_back(std::to_integer<int>(mine.bytes()[7]));
        });
        query.wait();
    }
    CHECK(sums == std::vector<int>{3, 6, 9, 12, 15, 18, 21, 24, 9});
    CHECK((run.stats().ran_out == 0 && f.engine.peak() <= 1_MiB));
}

TEST_CASE("what runs at once fits below the share, but for one that runs alone", "[task][executor]") {
    for (const std::size_t each : {100_KiB, 300_KiB, 950_KiB}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = 4, .percent = 90}};
        task_group query{run, name{"query"}};
        std::atomic<std::size_t> now{0}, most{0};
        for (int i = 0; i != 40; ++i)
            query.add({.overhead = each}, [&, each](task_step& step) {
                const std::size_t at = now += each;
                for (std::size_t m = most; m < at && !most.compare_exchange_weak(m, at);) {
                }
                const charged mine{step.memory(), each};
                std::this_thread::yield();
                now -= each;
            });
        query.wait();
        CHECK(run.stats().ran_out == 0);
        CHECK((each == 950_KiB ? most == each : most <= 1_MiB * 9 / 10));
    }
}

TEST_CASE("what a task was promised is its own, though it has charged nothing yet", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 2}};
    task_group query{run, name{"query"}};
    std::atomic<bool> begun{false}, goes_on{false}, large{false}, small{false};
    query.add({.overhead = 600_KiB}, [&] {
        begun = true;
        until([&] { return goes_on.load(); });
    });
    until([&] { return begun.load(); });
    CHECK((f.engine.used() == 600_KiB && f.engine.headroom() == 424_KiB));
    query.add({.overhead = 500_KiB}, [&] { large = true; });
    query.add({.overhead = 300_KiB}, [&] { small = true; });
    until([&] { return small.load(); }); // it passes the one that does not fit
    CHECK(!large);
    goes_on = true;
    query.wait();
    CHECK(f.engine.used() == 0);
}

TEST_CASE("a task that runs out of memory begins again with the same inputs, behind the others", "[task][executor]") {
    for (const bool in_kernel : {true, false}) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        std::vector<batch> in;
        for (int i = 0; i != 2; ++i) in.push_back(f.put(query.memory(), 300_KiB, 5));
        for (const batch& b : in) CHECK(b.spill());
        std::optional<charged> others;
        std::string order;
        others.emplace(f.engine, 600_KiB);
        query.add({.name = "first"}, std::move(in), [&](std::span<batch::pinned> all, task_step& step) {
            order += '1';
            if (in_kernel && step.attempts() == 0) const charged more{step.memory(), 900_KiB};
            CHECK_ON_THREAD(all.size() == 2 && all[1]->bytes()[7] == std::byte{5});
        });
        if (in_kernel) others.reset();
        query.add({.name = "second"}, [&] { order += '2', others.reset(); });
        query.wait();
        CHECK(order == (in_kernel ? "121" : "21"));
        CHECK(run.stats().ran_out == 1);
    }
}

TEST_CASE("a task that never fits ends its group, with an error that names it; other groups go on",
          "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.attempts = 3}};
    task_group bad{run, name{"query 7"}}, good{run, name{"query 8"}};
    int ran = 0, tried = 0;
    bad.add({.name = "hash join"}, [&](task_step& step) { ++tried, static_cast<void>(charged{step.memory(), 2_MiB}); });
    for (int i = 0; i != 3; ++i) good.add({}, [&] { ++ran; });
    for (int i = 0; i != 3; ++i) bad.add({.name = "later"}, [&] { ++ran; });
    CHECK_THAT(message_of(bad), ContainsSubstring("allot: task hash join of query 7: "));
    good.wait();
    CHECK((tried == 3 && ran >= 3 && run.stats().failed == 1));
    CHECK(message_of(bad).empty()); // once
    int after = 0;
    bad.add({}, [&] { ++after; });
    bad.wait();
    CHECK(after == 0);
}

TEST_CASE("any other error ends the group at once, and is nested in its error", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 2}};
    task_group query{run, name{"query"}};
    query.add({.name = "parse"}, [] { throw std::invalid_argument("no number"); });
    try {
        query.wait();
        FAIL("it has failed");
    } catch (const allot::task_error& e) {
        CHECK(std::string(e.what()) == "allot: task parse of query: no number");
        CHECK_THROWS_AS(std::rethrow_if_nested(e), std::invalid_argument);
    }
    task_group changed{run, name{"changed"}};
    changed.add({.name = "sort"}, [&](task_step& step) {
        step.note_inputs_changed();
        const charged much{step.memory(), 2_MiB};
    });
    CHECK_THAT(message_of(changed), ContainsSubstring("sort of changed: it ran out of memory after it had changed"));
    task_group other{run, name{"other"}};
    other.add({}, [] { throw 7; });
    CHECK_THAT(message_of(other), ContainsSubstring("no std::exception"));
}

TEST_CASE("a group is cancelled while its tasks wait, run, and sleep for memory", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 2}};
    std::atomic<int> begun{0}, ended{0}, later{0};
    std::optional<charged> others;
    others.emplace(f.engine, 900_KiB);
    {
        task_group query{run, name{"query"}};
        query.add({}, [&](task_step& step) {
            ++begun;
            try {
                const charged more{step.memory(), 500_KiB};
            } catch (const allot::task_removed&) {
                ++ended;
                throw;
            }
        });
        query.add({}, [&] {
            ++begun;
            until([&] { return ended == 1; });
        });
        for (int i = 0; i != 10; ++i) query.add({}, [&] { ++later; });
        until([&] { return begun == 2 && f.engine.stats().waiting == 1; });
        query.cancel();
        query.wait();
        CHECK((ended == 1 && later == 0));
    }
    others.reset();
    task_group next{run, name{"next"}};
    next.add({}, [&] { ++later; });
    next.wait();
    CHECK(later == 1);
}

TEST_CASE("a task that would block is called again when it is woken", "[task][executor]") {
    for (const unsigned threads : {0U, 2U}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = threads}};
        std::optional<allot::task_waker> wakes;
        {
            task_group query{run, name{"query"}};
            int calls = 0;
            query.add({}, [&](task_step& step) {
                if (++calls == 1) step.waker()(); // before it has ended
                if (calls == 2) wakes = step.waker();
                return calls < 3 ? task_outcome::would_block : task_outcome::done;
            });
            run.drain();
            CHECK((calls == 2 && run.stats().parked == 1));
            (*wakes)();
            query.wait();
            CHECK(calls == 3);
            query.add({}, [&](task_step& step) {
                wakes = step.waker();
                return task_outcome::would_block;
            });
            run.drain();
        } // it ends, though it is not woken
        (*wakes)();
        CHECK((run.stats().parked == 0 && run.stats().waiting == 0));
    }
}

TEST_CASE("a task gets another place, or is taken back, while it waits", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    std::string order;
    std::vector<allot::task_ref> refs;
    for (const char c : {'a', 'b', 'c', 'd'}) refs.push_back(query.add_known({}, [&, c] { order += c; }));
    CHECK((refs[2].set_number(1) && refs[3].set_number(-1) && refs[1].withdraw() && !refs[1].withdraw()));
    CHECK((!refs[1].set_number(1) && !allot::task_ref{}.withdraw() && !allot::task_ref{}.set_number(1)));
    query.add({}, [&] { order += 'e'; });
    query.wait();
    CHECK(order == "caed");
    CHECK((!refs[0].withdraw() && !refs[0].set_number(7)));
    std::optional<allot::task_waker> late;
    query.add({}, [&](task_step& step) { late = step.waker(); });
    query.wait();
    (*late)(); // it has ended
    refs.push_back(query.add_known({}, [](task_step&) { return task_outcome::would_block; }));
    CHECK((run.run_one() && run.stats().parked == 1 && refs.back().withdraw() && run.stats().parked == 0));
    query.wait();
}

TEST_CASE("inputs of the tasks at the back leave first, so those in front are not read again", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    for (int i = 0; i != 20; ++i)
        query.add({}, allot::inputs(f.put(query.memory(), 100_KiB, i)),
                  [&, i](std::span<batch::pinned> in) { CHECK(in[0]->bytes()[99] == static_cast<std::byte>(i)); });
    CHECK(f.data.stats().left == 10);
    query.wait();
    const allot::store_stats s = f.data.stats();
    CHECK((s.read == 10 && s.left == 10)); // 2 MiB in 1 MiB: no more than what does not fit
}

TEST_CASE("tasks wait for memory that another process has, and look at the system by a timer", "[task][executor]") {
    struct system_file {
        system_file() : file(::mkstemp(at.data())) { REQUIRE(file >= 0); }
        system_file(const system_file&) = delete;
        ~system_file() { ::close(file), ::unlink(at.c_str()); }
        bool write(const std::string& text) const {
            return ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
        }
        std::string at = (std::filesystem::temp_directory_path() / "allot-system-XXXXXX").string();
        int file;
    };
    const system_file meminfo, psi;
    const auto has = [&](int kib) { return meminfo.write("MemAvailable: " + std::to_string(kib) + " kB   \n"); };
    const auto waits = [&](const char* percent) { return psi.write("some avg10=" + std::string(percent) + " "); };
    const allot::system_memory machine{{meminfo.at, "", "", psi.at}};
    REQUIRE(waits("10.00"));
    fixture f;
    executor run{
        f.tasks, f.engine, {.threads = 2, .system = &machine, .system_reserve = 100_KiB, .most_pressure = 1000}};
    task_group query{run, name{"query"}};
    std::atomic<int> now{0}, most{0};
    std::atomic<bool> goes_on{false};
    REQUIRE(has(600)); // for two
    for (int i = 0; i != 4; ++i)
        query.add({.overhead = 250_KiB}, [&] {
            most = std::max<int>(most, ++now);
            until([&] { return goes_on.load(); });
            --now;
        });
    until([&] { return now == 2; });
    REQUIRE(has(300)); // for none beside one that runs
    goes_on = true;
    query.wait();
    CHECK(most == 2);
    goes_on = false, most = 0;
    for (int i = 0; i != 2; ++i)
        query.add({.overhead = 250_KiB}, [&] {
            most = std::max<int>(most, ++now);
            until([&] { return goes_on.load(); });
            --now;
        });
    until([&] { return now == 1; });
    CHECK(run.stats().waiting == 1);
    REQUIRE(has(900)); // another process has ended: nobody says so
    until([&] { return now == 2; });
    goes_on = true;
    query.wait();
    goes_on = false;
    REQUIRE(waits("10.01")); // others wait for memory
    for (int i = 0; i != 2; ++i)
        query.add({.overhead = 1_KiB}, [&] {
            ++now;
            until([&] { return goes_on.load(); });
            --now;
        });
    until([&] { return now == 1; });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK((now == 1 && run.stats().waiting == 1));
    REQUIRE(waits("00.00"));
    until([&] { return now == 2; });
    goes_on = true;
    query.wait();
}

TEST_CASE("threads start one task at a time, so none waits for another that is put back", "[task][executor]") {
    struct held {
        explicit operator bool() const { return true; }
    };
    struct slow { // an input whose pin sees how many start now
        std::atomic<int>*now, *most;
        bool is_away() const { return false; }
        held try_pin() const {
            *most = std::max<int>(*most, ++*now);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            --*now;
            return {};
        }
        held pin() const { return {}; }
        std::size_t bytes() const { return 1; }
    };
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 4, .percent = 1000}};
    task_group query{run, name{"query"}};
    query.memory().set_limit(100_KiB); // no promise of these fits
    std::atomic<int> now{0}, most{0}, ran{0};
    for (int i = 0; i != 10; ++i)
        query.add({.overhead = 150_KiB}, allot::inputs(slow{&now, &most}), [&](std::span<held>) { ++ran; });
    query.wait();
    CHECK((ran == 10 && most == 1));
}

TEST_CASE("inputs that cannot leave, since their home is full, end no executor", "[task][executor]") {
    fixture f;
    f.disk.set_limit(0);
    executor run{f.tasks, f.engine, {.threads = 4}};
    task_group query{run, name{"query"}};
    std::atomic<int> ran{0};
    for (int i = 0; i != 8; ++i)
        query.add({.overhead = 300_KiB}, allot::inputs(f.put(query.memory(), 50_KiB, i)),
                  [&](std::span<batch::pinned>, task_step& step) {
                      const charged mine{step.memory(), 300_KiB};
                      ++ran;
                  });
    query.wait();
    CHECK(ran == 8);
}

TEST_CASE("a task starts when others refund its bytes, or its limit is raised, though one runs on",
          "[task][executor]") {
    for (const bool raised : {true, false}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = 2}};
        task_group query{run, name{"query"}};
        std::optional<charged> others;
        others.emplace(f.engine, 500_KiB);
        std::atomic<bool> begun{false}, second{false};
        query.add({.overhead = 100_KiB}, [&] {
            begun = true;
            until([&] { return second.load(); });
        });
        until([&] { return begun.load(); });
        query.add({.overhead = 500_KiB}, [&] { second = true; });
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the second thread has looked, in vain
        CHECK((run.stats().waiting == 1 && !second));
        if (raised) f.engine.set_limit(2_MiB);
        else others.reset();
        query.wait();
    }
}

TEST_CASE("a task that waits for the end of another has nothing leave, nor its threads look all the time",
          "[task][executor]") {
    struct counter final : allot::reclaimer {
        counter() noexcept : reclaimer("counter") {}
        bool helps(const allot::shortage&) const noexcept override { return false; }
        bool reclaim(const allot::shortage&) noexcept override { return false; }
        std::size_t reclaimable(const account&) const noexcept override { return ++looks, 0; }
        mutable std::atomic<int> looks{0};
    };
    for (const std::size_t needs : {2_MiB, 700_KiB}) { // more than the share; more than is free beside the other
        fixture f;
        counter looks;
        f.engine.add(looks);
        {
            executor run{f.tasks, f.engine, {.threads = 3}};
            task_group query{run, name{"query"}};
            std::vector<batch> kept; // could leave
            for (int i = 0; i != 4; ++i) kept.push_back(f.put(query.memory(), 50_KiB));
            std::atomic<bool> begun{false}, goes{false};
            query.add({.overhead = 500_KiB}, [&] {
                begun = true;
                until([&] { return goes.load(); });
            });
            until([&] { return begun.load(); });
            const std::size_t left = f.data.stats().bytes_left;
            query.add({.overhead = needs}, [] {});
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            CHECK((looks.looks < 50 && f.data.stats().bytes_left == left && run.stats().waiting == 1));
            goes = true;
            query.wait();
        }
        f.engine.remove(looks);
    }
}

TEST_CASE("a sink is called once, and its error is that of the group", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    int kernels = 0, sinks = 0;
    query.add({.name = "scan"}, [&] { return ++kernels; }, [&](int) { ++sinks, throw std::bad_alloc(); });
    CHECK_THAT(message_of(query), ContainsSubstring("task scan of query: "));
    CHECK((kernels == 1 && sinks == 1));
}

TEST_CASE("each task that can be split is, before its group ends", "[task][executor]") {
    // What is kept, so that the whole does not fit, which is below the limit: by the group, or for no task.
    for (const bool is_known : {true, false})
        for (const unsigned attempts : {2U, 3U, 10U})
            for (const unsigned threads : {0U, 1U, 2U})
                for (const int tasks : {1, 2, 8}) {
                    if (!is_known && (threads == 1 || tasks != 2)) continue; // the arbiter waits, too
                    fixture f;
                    account other{f.engine, name{"other"}};
                    executor run{
                        f.tasks, f.engine, {.threads = threads, .attempts = attempts, .unknown_holders_wait = 1_ms}};
                    task_group query{run, name{"query"}};
                    const charged kept{is_known ? query.memory() : other, 500_KiB};
                    std::atomic<int> sum{0};
                    for (int i = 0; i != tasks; ++i)
                        query.add({}, [&](task_step& step) {
                            std::vector<support::part> all{{0, 16}};
                            for (const int n : allot::oom::with_retry(all, support::halve, [&](const support::part& p) {
                                     const charged mine{step.memory(), p.bytes() * 40_KiB};
                                     return p.to - p.from;
                                 }))
                                sum += n;
                        });
                    INFO(attempts << " attempts, " << threads << " threads, " << tasks << " tasks");
                    CHECK(message_of(query) == "");
                    CHECK((sum == tasks * 16 && f.tasks.stats().splits >= static_cast<std::uint64_t>(tasks)));
                }
}

TEST_CASE("a promise that grew to the limit does not refuse the rows of its own task", "[task][executor]") {
    fixture f;
    allot::row_manager<allot::use::spark> rows{f.engine, name{"rows"}}; // beside the account of the group
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    int calls = 0;
    query.add({.output = 64_KiB}, [&](task_step& step) {
        if (++calls <= 4) static_cast<void>(charged{step.memory(), 2_MiB}); // the estimate is doubled each time
        CHECK(f.engine.promised() == (calls == 5 ? 1_MiB : 0));
        rows.release(rows.allocate(100'000));
    });
    CHECK(message_of(query) == "");
    CHECK(calls == 6);
}

TEST_CASE("a group does not wait for memory that objects keep and do not use", "[task][executor]") {
    fixture f;
    allot::row_manager<allot::use::spark> rows{f.engine, name{"rows"}};
    executor run{f.tasks, f.engine, {.unknown_holders_wait = allot::forever}};
    task_group query{run, name{"query"}};
    int calls = 0;
    query.add({}, [&](task_step& step) {
        ++calls;
        const charged first{step.memory(), 600_KiB}, more{step.memory(), 600_KiB};
    });
    query.add({}, [&] { rows.release(rows.allocate(100'000)); });
    CHECK(message_of(query).find("it ran out of memory in 10 attempts") != std::string::npos);
    CHECK(calls <= 20);
}

TEST_CASE("an empty handle as an input ends its group at once: that is no lack of memory", "[task][executor]") {
    if constexpr (ALLOT_CHECKED != 0) return; // it aborts there: tests/death
    fixture f;
    executor run{f.tasks, f.engine};
    batch moved = f.put(f.engine, 100);
    const batch now{std::move(moved)};
    task_group query{run, name{"query"}};
    int calls = 0;
    const auto is_misused = [&] {
        const bool said = message_of(query) == "allot: task sum of query: allot: an empty handle of a stored object is "
                                               "pinned or taken: use the one that it was moved to or put() returned";
        return said && calls == 0 && run.stats().ran_out == 0;
    };
    SECTION("that nothing was put into") {
        query.add({.name = "sum"}, allot::inputs(batch{}), [&](std::span<batch::pinned>) { ++calls; });
        CHECK(is_misused());
    }
    SECTION("that was moved from") {
        query.add({.name = "sum"}, allot::inputs(std::move(moved)), [&](std::span<batch::pinned>) { ++calls; });
        CHECK(is_misused());
    }
    SECTION("that the kernel takes") {
        query.add({.name = "sum"}, allot::inputs(batch{}),
                  [&](std::span<batch> in) { std::move(in[0]).take(), ++calls; });
        CHECK(is_misused());
    }
}

TEST_CASE("errors of an executor say what was asked for, and where", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.attempts = 3}};
    task_group query{run, name{"query 7"}};
    query.add({.name = "sort"}, [&](task_step& step) { static_cast<void>(charged{step.memory(), 2_MiB}); });
    CHECK(message_of(query) ==
          "allot: task sort of query 7: it ran out of memory in 3 attempts; the last one requested 2 MiB: over the "
          "limit: account engine uses 0 bytes of 1 MiB");
    allot::oom::arbiter other;
    CHECK_THROWS_AS(executor(other, f.engine), std::invalid_argument);
    account alone{name{"alone"}};
    CHECK_THROWS_AS(executor(f.tasks, alone), std::invalid_argument);
}

TEST_CASE("a task of a group that has ended ends at once; its handle knows", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    query.cancel();
    const allot::task_ref task = query.add_known({.name = nullptr}, [] { return 1; }, [](int) {});
    CHECK((!task.set_number(3) && !task.withdraw()));
    query.wait();
}

TEST_CASE("inputs that are charged elsewhere are pinned, though a task takes most of the limit", "[task][executor]") {
    for (const bool by_engine : {true, false})
        for (const bool is_away : {true, false})
            for (const bool takes_handles : {true, false}) {
                fixture f;
                executor run{f.tasks, f.engine};
                task_group first{run, name{"first"}}, query{run, name{"query"}};
                std::vector<batch> in;
                in.push_back(f.put(by_engine ? f.engine : first.memory(), 600_KiB, 7));
                if (is_away) CHECK(in[0].spill());
                const std::size_t left = f.data.stats().bytes_left;
                int right = 0;
                const auto sink = [&](std::byte b) { right += b == std::byte{7}; };
                if (takes_handles)
                    query.add(
                        {.output = 8}, std::move(in), [](std::span<batch> all) { return all[0].pin()->bytes()[9]; },
                        sink);
                else
                    query.add(
                        {.output = 8}, std::move(in), [](std::span<batch::pinned> all) { return all[0]->bytes()[9]; },
                        sink);
                query.wait();
                CHECK((right == 1 && run.stats().ran_out == 0 && f.data.stats().bytes_left == left));
            }
}

TEST_CASE("a task that is chosen gets another place, is withdrawn, or ends with its group, before it starts",
          "[task][executor]") {
    struct hook final : allot::reclaimer { // called while memory is promised, which it has not
        explicit hook(std::size_t n) noexcept : reclaimer("hook"), bytes(n) {}
        bool reclaim(const allot::shortage&) noexcept override {
            if (on.exchange(false)) then();
            return false;
        }
        std::size_t reclaimable(const account&) const noexcept override { return on ? bytes : 0; }
        const std::size_t bytes;
        std::function<void()> then;
        std::atomic<bool> on{false};
    };
    for (const int how : {0, 1, 2}) {
        fixture f;
        hook in_promise{1_MiB};
        f.engine.add(in_promise);
        {
            executor run{f.tasks, f.engine, {.threads = 2}};
            task_group busy{run, name{"busy"}}, last{run, name{"last"}, 10}, other{run, name{"other"}, 5};
            std::atomic<bool> goes{false}, begun{false}, is_added{false}, called{false};
            std::atomic<int> order{0}, b{0}, c{0}, sunk{0};
            busy.add({.overhead = 700_KiB}, [&](task_step& step) {
                const charged mine{step.memory(), 700_KiB};
                begun = true;
                until([&] { return goes.load(); });
            });
            until([&] { return begun.load(); });
            allot::task_ref task;
            in_promise.then = [&] {
                until([&] { return is_added.load(); });
                if (how == 0) CHECK_ON_THREAD(task.set_number(0));
                if (how == 1) CHECK_ON_THREAD(task.withdraw() && !task.withdraw() && !task.set_number(1));
                if (how == 2) last.cancel();
                called = true;
            };
            in_promise.on = true;
            task = last.add_known({.overhead = 700_KiB}, [&] { return b = ++order; }, [&](int) { ++sunk; });
            is_added = true;
            other.add({.overhead = 700_KiB}, [&] { c = ++order; });
            until(
                [&] { return called && run.stats().running == 1; }); // it was refused: no memory of `busy` comes to it
            goes = true;
            busy.wait(), other.wait(), last.wait();
            CHECK((how == 0 ? c == 1 && b == 2 && sunk == 1 : c == 1 && b == 0 && sunk == 0));
            CHECK((run.stats().waiting == 0 && run.stats().running == 0));
        }
        f.engine.remove(in_promise);
    }
}

TEST_CASE("a task that is promised memory takes none of others for a moment", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    query.add({.output = 100_KiB}, [] {});
    query.wait();
    CHECK(f.engine.peak() == 100_KiB);
}

TEST_CASE("a task that runs alone is split by the scope inside its kernel", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    int sum = 0, split = 0;
    query.add({}, [&](task_step& step) {
        const charged has{step.memory(), 300_KiB};
        std::vector<support::part> all{{0, 10}};
        const auto halves = [&](const support::part& p) { return ++split, support::halve(p); };
        for (const int n : allot::oom::with_retry(all, halves, [&](const support::part& p) {
                 const charged mine{step.memory(), p.bytes() * 100_KiB}; // less than the limit, more than is left
                 return p.to - p.from;
             }))
            sum += n;
    });
    query.wait();
    CHECK((sum == 10 && split >= 1));
}

TEST_CASE("errors of tasks say how often, in what, and which disk is full", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.attempts = 2}};
    {
        task_group query{run, name{"query"}};
        query.add({.name = "sort"}, [] { throw std::bad_alloc(); });
        CHECK(message_of(query) == "allot: task sort of query: it ran out of memory in 2 attempts: std::bad_alloc");
    }
    {
        task_group query{run, name{"query"}};
        query.add({.name = "sort"}, [&] {
            try {
                throw std::bad_alloc();
            } catch (...) {
                std::throw_with_nested(std::runtime_error("in a library"));
            }
        });
        CHECK(message_of(query) == "allot: task sort of query: it ran out of memory in 2 attempts: in a library");
    }
    {
        task_group query{run, name{"query"}};
        query.add({.name = "sort"}, [] { return 1; }, [](int) { throw std::runtime_error("full"); });
        CHECK(message_of(query) == "allot: task sort of query: its sink has failed: full");
    }
    task_group query{run, name{"query"}};
    std::vector<batch> kept;
    kept.push_back(f.put(query.memory(), 800_KiB));
    f.disk.set_limit(1000);
    query.add({.name = "sort"}, [&](task_step& step) { static_cast<void>(charged{step.memory(), 500_KiB}); });
    CHECK_THAT(message_of(query), ContainsSubstring("; data cannot write to disk: refused: over the limit: account"));
    account closed{f.engine, name{"closed"}};
    closed.close();
    task_group none{run, name{"none"}};
    int calls = 0;
    none.add({}, [&](task_step&) {
        ++calls;
        static_cast<void>(charged{closed, 10}); // never granted
    });
    CHECK((!message_of(none).empty() && calls == 1));
}

TEST_CASE("a sink may have a result after an error of the kernel, but not after its own", "[task][executor]") {
    struct takes {
        void operator()(int n) const {
            got += n;
            if (n == 7) throw std::runtime_error("full");
        }
        std::optional<int> recover(const std::exception_ptr&) const { return ++asked, 5; }
        int &got, &asked;
    };
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    int got = 0, asked = 0;
    query.add({}, []() -> int { throw std::runtime_error("no file"); }, takes{got, asked});
    query.wait();
    CHECK((got == 5 && asked == 1 && run.stats().done == 1));
    query.add({.name = "sort"}, [] { return 7; }, takes{got, asked});
    CHECK(message_of(query) == "allot: task sort of query: its sink has failed: full");
    CHECK((got == 12 && asked == 1));
}

TEST_CASE("a group ends for what its disk does now: each last attempt ends the pause of writes", "[task][executor]") {
    fixture f;
    executor run{f.tasks, f.engine, {.attempts = 2}};
    std::vector<batch> kept;
    for (int i = 0; i != 2; ++i) kept.push_back(f.put(f.engine, 400_KiB));
    const auto query = [&] {
        task_group of{run, name{"query"}};
        of.add({.name = "sort"}, [&](task_step& step) { static_cast<void>(charged{step.memory(), 500_KiB}); });
        return message_of(of);
    };
    f.home.in_write = [] { return false; };
    std::string error;
    for (int i = 0; i != 10; ++i) error = query(); // the pause is 5 s then
    CHECK_THAT(error, ContainsSubstring("; data cannot write to disk, and does not try for "));
    CHECK_THAT(error, ContainsSubstring(" ms more: failed: write hooked: Input/output error (errno 5)"));
    f.home.in_write = nullptr;
    CHECK(query().empty());
}

TEST_CASE("a task starts at each event by which memory may be free, though another one runs on", "[task][executor]") {
    struct gives final : allot::reclaimer {
        explicit gives(std::optional<charged>& it) : reclaimer("gives", 2), held(it) {}
        bool reclaim(const allot::shortage&) noexcept override { return held ? (held.reset(), true) : false; }
        std::size_t reclaimable(const account&) const noexcept override { return held ? 800_KiB : 0; }
        std::optional<charged>& held;
    };
    enum class by : std::uint8_t { refund, pin_end, put, reclaimer, limit, promise_end, second_in_order };
    using enum by;
    for (const by how : {refund, pin_end, put, reclaimer, limit, promise_end, second_in_order}) {
        INFO(static_cast<int>(how));
        fixture f;
        account other{f.engine, name{"other"}};
        executor run{f.tasks, f.engine, {.threads = 2}};
        task_group query{run, name{"query"}};
        std::optional<charged> held;
        allot::buffer buffer;
        batch stored;
        std::optional<batch::pinned> pin;
        allot::account_reservation promised;
        gives reclaims{held};
        if (how == pin_end) stored = f.put(other, 800_KiB), pin.emplace(stored.pin());
        else if (how == put) buffer = f.memory.allocate(other, 800_KiB);
        else if (how == promise_end) promised = other.reserve_floor_for(800_KiB, 0_ms);
        else if (how != limit) held.emplace(other, 800_KiB);
        std::atomic<bool> begun{false}, second{false};
        query.add({.name = "long"}, [&] {
            begun = true;
            until([&] { return second.load(); });
        });
        until([&] { return begun.load(); });
        if (how == second_in_order) query.add({.overhead = 920_KiB}, [] {}); // more than the second that fits
        query.add({.overhead = how == limit ? 3_MiB : 500_KiB}, [&] { second = true; });
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the second thread has looked, in vain
        CHECK(!second);
        switch (how) {
        case refund:
        case second_in_order: held.reset(); break;
        case pin_end: pin.reset(); break;
        case put: stored = f.data.put(std::move(buffer)); break;
        case reclaimer: other.add(reclaims); break;
        case limit: f.engine.set_limit(4_MiB); break;
        case promise_end: promised.release(); break;
        }
        until([&] { return second.load(); });
        query.wait();
        if (how == reclaimer) CHECK(other.remove(reclaims));
    }
}

TEST_CASE("a kernel that waits for a group of another executor is known to wait", "[task][executor]") {
    for (const unsigned threads : {0U, 1U}) {
        fixture f;
        executor a{f.tasks, f.engine, {.threads = 1}}, b{f.tasks, f.engine, {.threads = threads}};
        task_group outer{a, name{"outer"}}, inner{b, name{"inner"}};
        int done = 0;
        outer.add({.overhead = 600_KiB}, [&](task_step& step) {
            const charged mine{step.memory(), 600_KiB};
            inner.add({.overhead = 600_KiB}, [](task_step& in) { const charged more{in.memory(), 600_KiB}; });
            inner.wait(); // in vain, so the arbiter rolls one of them back
            ++done;
        });
        static_cast<void>(message_of(outer));
        CHECK((f.tasks.stats().rollbacks != 0 && done <= 1));
    }
}

TEST_CASE("a task that ran out is not begun again without news of memory", "[task][executor]") {
    enum class by : std::uint8_t { refund, limit, promise_end, pin_end };
    using enum by;
    for (const by how : {refund, limit, promise_end, pin_end}) {
        INFO(static_cast<int>(how));
        fixture f;
        account other{f.engine, name{"other"}};
        executor run{f.tasks, f.engine, {.attempts = 2}};
        task_group query{run, name{"query"}}, beside{run, name{"beside"}};
        std::optional<charged> held;
        allot::account_reservation promised;
        batch stored;
        std::optional<batch::pinned> pin;
        if (how == promise_end) promised = other.reserve_floor_for(900_KiB, 0_ms);
        else if (how == pin_end) stored = f.put(other, 900_KiB), pin.emplace(stored.pin());
        else held.emplace(other, 900_KiB);
        int calls = 0, ran = 0;
        query.add({.name = "sort"},
                  [&](task_step& step) { ++calls, static_cast<void>(charged{step.memory(), 200_KiB}); });
        CHECK((run.run_one() && calls == 1));
        for (int i = 0; i != 5; ++i) CHECK(!run.run_one());
        beside.add({}, [&] { ++ran; }); // others start, and their end is no news
        CHECK((run.run_one() && !run.run_one() && ran == 1 && calls == 1));
        switch (how) {
        case refund: held.reset(); break;
        case limit: f.engine.set_limit(2_MiB); break;
        case promise_end: promised.release(); break;
        case pin_end: pin.reset(); break;
        }
        CHECK((run.run_one() && calls == 2));
        query.wait();
    }
}

TEST_CASE("news of memory counts since the refusal, also before the kernel's stack has unwound", "[task][executor]") {
    enum class by : std::uint8_t { nothing, own, refund, limit, promise_end, refund_before, refund_of_part };
    using enum by;
    for (const by how : {nothing, own, refund, limit, promise_end, refund_before, refund_of_part}) {
        INFO(static_cast<int>(how));
        allot::oom::arbiter tasks;
        account engine{name{"engine"}, allot::limit{1_MiB}, tasks}; // without a reclaimer
        account other{engine, name{"other"}};
        executor run{tasks, engine, {.attempts = 3}};
        task_group query{run, name{"query"}};
        std::optional<charged> held, second;
        allot::account_reservation promised;
        if (how == promise_end) promised = other.reserve_floor_for(900_KiB, 0_ms);
        else held.emplace(other, 600_KiB);
        second.emplace(other, 300_KiB); // in no account of a task
        struct unwinds {
            std::function<void()> then;
            ~unwinds() { then(); }
        };
        const auto brings = [&] {
            switch (how) {
            case refund: held.reset(); break;
            case limit: engine.set_limit(2_MiB); break;
            case promise_end: promised.release(); break;
            case refund_of_part: second.reset(); break;
            default: break;
            }
        };
        int calls = 0;
        query.add({.name = "sort", .overhead = how == own ? 64_KiB : 0_KiB}, [&](task_step& step) {
            const bool is_first = calls++ == 0;
            if (is_first && how == refund_before) second.reset();
            const unwinds last{[&] { is_first ? brings() : void(); }};
            const charged own_memory{step.memory(), 60_KiB};
            if (how == promise_end) { // an error of the kernel's own
                if (!step.memory().try_charge(600_KiB)) throw std::bad_alloc();
                step.memory().refund(600_KiB);
            }
            const charged more{step.memory(), 600_KiB};
        });
        CHECK((run.run_one() && calls == 1));
        const bool is_news = how != nothing && how != own && how != refund_before;
        CHECK(run.run_one() == is_news);
        CHECK(calls == 1 + is_news);
        CHECK(run.stats().done == (how == refund || how == limit || how == promise_end ? 1U : 0U));
        held.reset(), second.reset(), promised.release();
        query.wait();
        CHECK(run.stats().done == 1);
    }
}

TEST_CASE("a group none of whose tasks can end says so after few calls, and who holds the memory", "[task][executor]") {
    for (const bool is_held : {true, false})
        for (const std::size_t says : {0_KiB, 200_KiB}) {
            fixture f;
            account other{f.engine, name{"other"}};
            executor run{f.tasks, f.engine, {.unknown_holders_wait = 1_ms}};
            task_group query{run, name{"query"}};
            std::optional<charged> held;
            if (is_held) held.emplace(other, 900_KiB);
            int calls = 0;
            for (int i = 0; i != 100; ++i)
                query.add({.name = "sort", .output = says}, [&](task_step& step) {
                    const charged first{step.memory(), 64};
                    ++calls, static_cast<void>(charged{step.memory(), is_held ? 200_KiB : 2_MiB});
                });
            const std::string error = message_of(query);
            INFO(error);
            CHECK(calls <= 20);
            CHECK(error.starts_with("allot: task sort of query: it ran out of memory in "));
            CHECK((error.find("; account other holds 900 KiB, for no task") != error.npos) == is_held);
        }
}

TEST_CASE("a group whose tasks free bytes of another account themselves ends after few calls, too",
          "[task][executor]") {
    fixture f;
    account other{f.engine, name{"other"}}, shared{f.engine, name{"shared"}};
    executor run{f.tasks, f.engine, {.unknown_holders_wait = 1_ms}};
    task_group query{run, name{"query"}};
    const charged held{other, 600_KiB};
    int calls = 0;
    for (int i = 0; i != 100; ++i)
        query.add({.name = "sort"}, [&](task_step& step) {
            ++calls;
            const charged first{shared, 100_KiB};
            static_cast<void>(charged{step.memory(), 400_KiB});
        });
    CHECK(message_of(query).find("; account other holds 600 KiB, for no task") != std::string::npos);
    CHECK(calls <= 40);
}
