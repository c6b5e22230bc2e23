// Operands that have failed for good: a result instead of the error, another run, or an error that ends the group.
#include <support/catch.hpp>
#include <support/task_engine.hpp>
#include <support/tasks.hpp>

#include <allot/oom/task.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/task/operand_graph.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::executor;
using allot::limit;
using allot::name;
using allot::operand_place;
using allot::task_group;
using allot::task_step;
using allot::operand::state;
using batch = allot::stored<allot::buffer>;
using pins = std::span<batch::pinned>;
using support::charged;
using support::message_of;
using support::until;
using graph_of_batches = allot::operand_graph<batch>;
using on_error = std::function<std::optional<batch>(std::exception_ptr)>;

namespace {

struct fixture : support::task_engine {
    auto sum(std::uint64_t n) {
        return [this, n](pins in, task_step& step) {
            std::uint64_t all = n;
            for (const auto& b : in) all += b->get<std::uint64_t>(0);
            return put_number(step.memory(), all);
        };
    }
    on_error gives(std::uint64_t n) {
        return [this, n](const std::exception_ptr&) { return std::optional(put_number(engine, n)); };
    }
};
batch fails(pins, task_step&) { throw std::runtime_error("no file"); }
std::optional<batch> another_run(const std::exception_ptr&) { return std::nullopt; }
std::uint64_t value_of(const batch& b) { return b.pin()->get<std::uint64_t>(0); }
std::string text_of(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "no std::exception";
    }
}

} // namespace

TEST_CASE("an operand that has failed gets a result, and those that depend on it go on", "[task][operands]") {
    for (const unsigned threads : {0U, 4U}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = threads}};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        const auto a = graph.add({.name = "a"}, {}, fails), b = graph.add({}, {a}, f.sum(10)),
                   c = graph.add({}, {a, b}, f.sum(100));
        std::string why;
        int calls = 0;
        const void *runs = nullptr, *works_for = nullptr;
        graph.on_error(a, [&](const std::exception_ptr& e) {
            ++calls, why = text_of(e);
            runs = allot::detail::of_this_thread.runs;
            if (allot::oom::task_thread::now() != nullptr && allot::oom::retry_scope::now() == nullptr &&
                allot::oom::task_thread::now()->task_now() == query.task().id())
                works_for = &query;
            return std::optional(f.put_number(query.memory(), 5));
        });
        std::atomic<int> done{0};
        graph.on_finish(a, [&](state s) { done += s == state::done; });
        graph.start();
        query.wait();
        CHECK((calls == 1 && why == "no file" && done == 1 && runs == &run && works_for == &query));
        CHECK(value_of(*graph.take(c)) == 120);
        const allot::executor_stats s = run.stats();
        CHECK((s.started == 3 && s.done == 3 && s.ran_out == 0 && s.failed == 0));
    }
}

TEST_CASE("an operand that has failed runs once more, as often as that is asked for", "[task][operands]") {
    for (const unsigned threads : {0U, 4U}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = threads}};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        int calls = 0;
        const auto a = graph.add({}, {}, [&](pins, task_step& step) {
            if (++calls == 2) step.waker()(); // it was woken, and fails then
            if (calls <= 3) throw std::runtime_error("not yet");
            return f.put_number(step.memory(), 7);
        });
        const auto b = graph.add({}, {a}, f.sum(1));
        graph.on_error(a, another_run);
        graph.start();
        if (threads == 0) CHECK((run.run_one() && graph.state_of(a) == state::queued && graph.set_number(a, 3)));
        query.wait();
        CHECK((calls == 4 && value_of(*graph.take(b)) == 8));
        const allot::executor_stats s = run.stats();
        CHECK((s.started == 5 && s.done == 2 && s.ran_out == 0 && s.failed == 0 && s.parked == 0));
    }
}

TEST_CASE("an error that is thrown again reads as without the function; another one takes its place",
          "[task][operands]") {
    struct failure {
        std::function<void()> throws;
        const char* said; // of the group
    };
    const std::vector<failure> errors{
        {[] { throw std::runtime_error("no file"); }, "allot: task scan of query: no file"},
        {[] { throw 7; }, "allot: task scan of query: an error that is no std::exception"},
        {[] { throw std::bad_alloc(); },
         "allot: task scan of query: it ran out of memory in 2 attempts: std::bad_alloc"},
    };
    enum class how : std::uint8_t { without, rethrows, passes_on, other, no_exception };
    using enum how;
    for (const unsigned threads : {0U, 4U})
        for (const failure& error : errors)
            for (const how now : {without, rethrows, passes_on, other, no_exception}) {
                fixture f;
                executor run{f.tasks, f.engine, {.threads = threads, .attempts = 2}};
                task_group query{run, name{"query"}};
                graph_of_batches graph{query};
                const auto a =
                    graph.add({.name = "scan"}, {}, [&](pins, task_step&) { return error.throws(), batch{}; });
                const auto b = graph.add({}, {a}, f.sum(1));
                std::exception_ptr seen;
                if (now != without)
                    graph.on_error(a, [&](const std::exception_ptr& why) -> std::optional<batch> {
                        seen = why;
                        if (now == other) throw std::runtime_error("no other file");
                        if (now == no_exception) throw 8;
                        if (now == rethrows) std::rethrow_exception(why);
                        try {
                            std::rethrow_exception(why);
                        } catch (...) {
                            throw;
                        }
                    });
                graph.start();
                std::string said;
                std::exception_ptr nested;
                try {
                    query.wait();
                } catch (const allot::task_error& e) {
                    said = e.what(), nested = e.nested_ptr();
                }
                INFO(said);
                if (now <= passes_on) CHECK((said == error.said && (now == without || nested == seen)));
                if (now == other)
                    CHECK((said == "allot: task scan of query: no other file" && text_of(nested) == "no other file"));
                if (now == no_exception) CHECK(said == "allot: task scan of query: an error that is no std::exception");
                CHECK((run.stats().failed == 1 && run.stats().done == 0 && graph.state_of(b) == state::withdrawn));
            }
}

TEST_CASE("an operand whose memory ran out for good gets a smaller result", "[task][operands]") {
    for (const unsigned threads : {0U, 4U}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = threads, .attempts = 2}};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        int calls = 0;
        const auto a = graph.add({.output = 2_MiB}, {}, [&](pins, task_step& step) {
            ++calls;
            return f.put(step.memory(), 2_MiB);
        });
        const auto b = graph.add({}, {a}, f.sum(1));
        bool was_memory = false;
        state during = state::done;
        graph.on_error(a, [&](const std::exception_ptr& why) {
            try {
                std::rethrow_exception(why);
            } catch (const std::bad_alloc&) {
                was_memory = true;
            }
            during = graph.state_of(a);
            return std::optional(f.put_number(query.memory(), 5));
        });
        graph.start();
        query.wait();
        CHECK((calls == 2 && was_memory && during == state::queued && value_of(*graph.take(b)) == 6));
        const allot::executor_stats s = run.stats();
        CHECK((s.started == 3 && s.done == 2 && s.ran_out == 2 && s.failed == 0));
    }
}

TEST_CASE("another run after memory ran out has all its attempts, also with a higher limit", "[task][operands]") {
    for (const unsigned threads : {0U, 4U})
        for (const bool raises : {true, false}) {
            fixture f;
            executor run{f.tasks, f.engine, {.threads = threads, .attempts = 3}};
            task_group query{run, name{"query"}};
            graph_of_batches graph{query};
            std::vector<unsigned> attempts;
            std::vector<std::size_t> asked;
            const auto a = graph.add({.name = "a"}, {}, [&](pins, task_step& step) {
                attempts.push_back(step.attempts());
                return f.put_number(step.memory(), 7, 2_MiB);
            });
            const auto b = graph.add({}, {}, f.sum(1)); // starts beside it, and before
            graph.on_error(a, [&](const std::exception_ptr&) -> std::optional<batch> {
                asked.push_back(attempts.size());
                if (raises) f.engine.set_limit(4_MiB);
                if (asked.size() == 3) return f.put_number(query.memory(), 5);
                return std::nullopt;
            });
            graph.start();
            query.wait();
            if (raises) CHECK((attempts == std::vector<unsigned>{0, 1, 2, 0} && asked == std::vector<std::size_t>{3}));
            else
                CHECK((attempts == std::vector<unsigned>{0, 1, 2, 0, 1, 2, 0, 1, 2} &&
                       asked == std::vector<std::size_t>{3, 6, 9}));
            CHECK((value_of(*graph.take(a)) == (raises ? 7 : 5) && value_of(*graph.take(b)) == 1));
            CHECK((run.stats().ran_out == (raises ? 3 : 9) && run.stats().done == 2));
        }
}

TEST_CASE("no input is pinned while an error is answered, whether a kernel or a pin has failed", "[task][operands]") {
    for (const bool by_pin : {true, false}) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        const auto a =
            graph.add({}, {}, [&](pins, task_step& step) { return f.put_number(step.memory(), 3, 600_KiB); });
        int calls = 0;
        const auto b = graph.add({}, {a}, [&](pins in, task_step& step) {
            if (++calls == 1 && !by_pin) throw std::runtime_error("bad");
            return f.put_number(step.memory(), in[0]->get<std::uint64_t>(0) + 1);
        });
        state during = state::done;
        graph.on_error(b, [&](const std::exception_ptr&) -> std::optional<batch> {
            during = graph.state_of(b);
            const charged all{query.memory(), 900_KiB}; // the input leaves
            f.home.in_read = nullptr;
            return std::nullopt;
        });
        graph.start();
        CHECK(run.run_one());
        if (by_pin) {
            const charged all{f.engine, 900_KiB};
            f.home.in_read = [] { return false; };
        }
        query.wait();
        CHECK((calls == (by_pin ? 1 : 2) && during == (by_pin ? state::loading : state::computing)));
        CHECK((value_of(*graph.take(b)) == 4 && !graph.take(a)));
    }
}

TEST_CASE("a request for memory waits while an error is answered", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 2}};
    task_group query{run, name{"query"}}, other{run, name{"other"}};
    graph_of_batches graph{query};
    std::atomic<bool> begun{false}, is_over{false};
    other.add({.overhead = 600_KiB}, [&](task_step& step) {
        const charged mine{step.memory(), 600_KiB};
        begun = true;
        until([&] {
            const allot::oom::machine now = f.tasks.now();
            for (const auto& t : now.threads())
                if (t.used && t.state == allot::oom::thread_state::blocked) return true;
            return is_over.load();
        });
    });
    until([&] { return begun.load(); });
    const auto a = graph.add({}, {}, fails);
    graph.on_error(a, [&](const std::exception_ptr&) {
        try {
            const charged more{query.memory(), 600_KiB};
        } catch (...) {
            is_over = true;
            throw;
        }
        return std::optional(f.put_number(query.memory(), 5));
    });
    graph.start();
    CHECK(message_of(query).empty());
    other.wait();
    CHECK(value_of(*graph.take(a)) == 5);
}

TEST_CASE("a failure elsewhere is answered, also inside the call of the outside scheduler", "[task][operands]") {
    for (const bool is_early : {true, false}) {
        INFO(is_early);
        fixture f;
        executor run{f.tasks, f.engine};
        const auto gone = [] { return std::make_exception_ptr(std::runtime_error("it is gone")); };
        {
            task_group query{run, name{"query"}};
            std::vector<std::size_t> asked;
            graph_of_batches* all = nullptr;
            graph_of_batches graph{query, [&](std::size_t of) {
                                       asked.push_back(of);
                                       if (of == 2) return operand_place::here;
                                       if (of == 1 && asked.size() > 3) return operand_place::here;
                                       if (is_early) CHECK(all->failed_elsewhere(of, gone()));
                                       return operand_place::elsewhere;
                                   }};
            all = &graph;
            const auto a = graph.add({}, {}, f.sum(0)), b = graph.add({}, {}, f.sum(7)),
                       c = graph.add({}, {a, b}, f.sum(1));
            std::string why;
            graph.on_error(a, [&](const std::exception_ptr& e) {
                why = text_of(e);
                CHECK((!graph.failed_elsewhere(a, nullptr) && graph.state_of(a) == state::elsewhere)); // it is asked
                return std::optional(f.put_number(f.engine, 5));
            });
            int runs = 0;
            graph.on_error(b, [&](const std::exception_ptr&) { return ++runs, std::nullopt; });
            graph.start();
            if (!is_early) CHECK((graph.failed_elsewhere(a, gone()) && !graph.failed_elsewhere(a, gone())));
            CHECK((graph.state_of(a) == state::done && why == "it is gone"));
            for (int i = 0; i != 2 && !is_early; ++i) CHECK(graph.failed_elsewhere(b, gone()));
            CHECK((graph.state_of(b) == state::queued && runs == 2));
            query.wait();
            CHECK(value_of(*graph.take(c)) == 13);
            CHECK(asked == std::vector<std::size_t>{0, 1, 1, 1, 2});
        }
        std::string expected;
        for (const int how : {0, 1, 2}) { // without, the same, another one
            task_group query{run, name{"query"}};
            graph_of_batches* all = nullptr;
            graph_of_batches graph{query, [&](std::size_t of) {
                                       if (is_early) CHECK(all->failed_elsewhere(of, gone()));
                                       return operand_place::elsewhere;
                                   }};
            all = &graph;
            const auto a = graph.add({.name = "far"}, {}, f.sum(0));
            if (how != 0)
                graph.on_error(a, [&](const std::exception_ptr& e) -> std::optional<batch> {
                    if (how == 2) throw std::runtime_error("all are gone");
                    std::rethrow_exception(e);
                });
            graph.start();
            if (!is_early) CHECK(graph.failed_elsewhere(a, gone()));
            const std::string said = message_of(query);
            if (how == 0) expected = said;
            CHECK(said == (how == 2 ? "allot: task far of query: all are gone" : expected));
            CHECK((!expected.empty() && graph.state_of(a) == state::withdrawn));
        }
    }
}

TEST_CASE("an operand that fails elsewhere is made, or withdrawn, while its error is answered", "[task][operands]") {
    enum class by : std::uint8_t { result, withdrawal, cancel };
    using enum by;
    for (const bool asks_again : {true, false})
        for (const by how : {result, withdrawal, cancel}) {
            fixture f;
            executor run{f.tasks, f.engine};
            task_group query{run, name{"query"}};
            int asked = 0;
            graph_of_batches graph{query, [&](std::size_t) { return ++asked, operand_place::elsewhere; }};
            const auto a = graph.add({}, {}, f.sum(0));
            graph.on_error(a, [&](const std::exception_ptr&) -> std::optional<batch> {
                if (how == result) CHECK(graph.made_elsewhere(a, f.put_number(f.engine, 9)));
                if (how == withdrawal) CHECK(graph.withdraw(a));
                if (how == cancel) query.cancel();
                if (asks_again) return std::nullopt;
                return f.put_number(f.engine, 5);
            });
            graph.start();
            CHECK(graph.failed_elsewhere(a, nullptr));
            CHECK(graph.state_of(a) == (how == result ? state::done : state::withdrawn));
            CHECK((asked == 1 && message_of(query).empty()));
            const std::optional<batch> made = graph.take(a);
            CHECK((made ? value_of(*made) == 9 : how != result));
        }
}

TEST_CASE("errors of a group that has ended are not answered", "[task][operands]") {
    for (const unsigned threads : {0U, 4U})
        for (const bool by_cancel : {true, false}) {
            fixture f;
            executor run{f.tasks, f.engine, {.threads = threads, .attempts = 1}};
            task_group query{run, name{"query"}};
            graph_of_batches graph{
                query, [](std::size_t of) { return of == 0 ? operand_place::here : operand_place::elsewhere; }};
            std::atomic<int> answered{0};
            const auto a = graph.add({}, {}, [&](pins, task_step&) -> batch {
                if (by_cancel) query.cancel();
                else query.fail(std::make_exception_ptr(std::runtime_error("first")));
                throw std::runtime_error("second");
            });
            const auto b = graph.add({}, {}, f.sum(1));
            for (const auto of : {a, b})
                graph.on_error(of, [&](const std::exception_ptr&) { return ++answered, std::nullopt; });
            graph.start();
            query.join();
            CHECK(!graph.failed_elsewhere(b, nullptr));
            try {
                query.wait();
                CHECK(by_cancel);
            } catch (const std::runtime_error& e) {
                CHECK((!by_cancel && std::string(e.what()) == "first"));
            }
            CHECK((answered == 0 && graph.state_of(b) == state::withdrawn));
        }
}

TEST_CASE("a group that ends while an error is answered does not run its operand again", "[task][operands]") {
    for (const bool asks_again : {true, false})
        for (const bool is_memory : {true, false}) {
            fixture f;
            executor run{f.tasks, f.engine, {.attempts = 1}};
            task_group query{run, name{"query"}};
            graph_of_batches graph{query};
            int calls = 0, told = 0;
            const auto a = graph.add({}, {}, [&](pins, task_step&) -> batch {
                ++calls;
                if (is_memory) throw std::bad_alloc();
                throw std::runtime_error("no file");
            });
            graph.on_finish(a, [&](state) { ++told; });
            graph.on_error(a, [&](const std::exception_ptr&) -> std::optional<batch> {
                query.cancel();
                if (asks_again) return std::nullopt;
                return f.put_number(f.engine, 5);
            });
            graph.start();
            CHECK((message_of(query).empty() && calls == 1 && told == 1 && run.stats().running == 0));
            CHECK(graph.state_of(a) == (!asks_again && !is_memory ? state::done : state::withdrawn));
        }
}

TEST_CASE("the last function that an operand got answers its error; others are not asked", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    graph_of_batches graph{query};
    const auto a = graph.add({}, {}, fails), b = graph.add({.name = "b"}, {a}, fails);
    const std::shared_ptr<int> held = std::make_shared<int>(0);
    graph.on_error(a, [held](const std::exception_ptr&) { return std::nullopt; });
    CHECK(held.use_count() == 2);
    graph.start();
    graph.on_error(a, f.gives(5)); // before it runs
    CHECK(held.use_count() == 1);
    graph.on_error(b, f.gives(6));
    graph.on_error(b, nullptr);
    CHECK_THROWS_AS(graph.on_error(7, f.gives(5)), std::out_of_range);
    CHECK(message_of(query) == "allot: task b of query: no file");
    CHECK(graph.state_of(a) == state::done);
    graph.on_error(a, f.gives(5)); // late
}

TEST_CASE("an operand that has changed what it began with does not run again", "[task][operands]") {
    for (const bool asks_again : {true, false}) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        int calls = 0;
        const auto a = graph.add({.name = "a"}, {}, [&](pins, task_step& step) -> batch {
            ++calls, step.note_inputs_changed();
            throw std::runtime_error("no file");
        });
        graph.on_error(a, asks_again ? on_error(another_run) : f.gives(5));
        graph.start();
        CHECK(message_of(query) == (asks_again ? "allot: task a of query: no file" : ""));
        CHECK((calls == 1 && graph.state_of(a) == (asks_again ? state::withdrawn : state::done)));
    }
}

TEST_CASE("errors of listeners and of the outside scheduler are not answered", "[task][operands]") {
    for (const bool by_listener : {true, false}) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        int answered = 0;
        graph_of_batches graph{query, [&](std::size_t of) {
                                   if (of == 1) throw std::runtime_error("the scheduler is gone");
                                   return operand_place::here;
                               }};
        const auto a = graph.add({.name = "a"}, {}, f.sum(1)), b = graph.add({.name = "b"}, {a}, f.sum(1));
        for (const auto of : {a, b})
            graph.on_error(of, [&](const std::exception_ptr&) { return ++answered, std::nullopt; });
        if (by_listener) graph.on_finish(a, [](state) { throw std::runtime_error("a listener is gone"); });
        graph.start();
        CHECK(message_of(query) == (by_listener ? "allot: task a of query: a listener is gone"
                                                : "allot: task b of query: the scheduler is gone"));
        CHECK(answered == 0);
    }
}

namespace {

struct moves { // the n-th move throws
    moves(int& to_go, bool runs_out) noexcept : left(&to_go), out_of_memory(runs_out) {}
    moves(const moves& o) : left(o.left), out_of_memory(o.out_of_memory) { count(); }
    moves(moves&& o) : moves(std::as_const(o)) {} // NOLINT(performance-noexcept-move-constructor)
    moves& operator=(const moves&) = default;
    moves& operator=(moves&&) = default;
    ~moves() = default;
    void count() const {
        if (--*left != 0) return;
        if (out_of_memory) throw std::bad_alloc();
        throw std::runtime_error("it cannot move");
    }
    int pin() const noexcept { return 1; }
    std::size_t bytes() const noexcept { return 0; }
    int* left;
    bool out_of_memory;
};

} // namespace

TEST_CASE("errors of storing a result are not answered", "[task][operands]") {
    int before = 0, in_sink = 0;
    for (int n = 1, failed = 1; failed != 0; ++n) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        allot::operand_graph<moves> graph{query};
        int left = n, unlimited = 0, answered = 0;
        const auto a = graph.add({.name = "a"}, {}, [&](auto, task_step&) { return moves{left, false}; });
        graph.on_error(a, [&](const std::exception_ptr&) {
            return ++answered, std::optional<moves>(std::in_place, unlimited, false);
        });
        graph.start();
        const std::string said = message_of(query);
        before += said == "allot: task a of query: it cannot move";
        in_sink += said == "allot: task a of query: its sink has failed: it cannot move";
        failed = !said.empty();
        CHECK((answered == 0 && before + in_sink == n - !failed));
    }
    CHECK((before != 0 && in_sink != 0));
}

TEST_CASE("an operand whose result ran out of memory as it moved runs again", "[task][operands]") {
    int runs = 0, again = 0, in_sink = 0;
    for (int n = 1, done = 0; done != 1; ++n, done = runs) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        allot::operand_graph<moves> graph{query};
        int left = n;
        runs = 0;
        graph.add({.name = "a"}, {}, [&](auto, task_step&) { return ++runs, moves{left, true}; });
        graph.start();
        const std::string said = message_of(query);
        if (!said.empty()) {
            CHECK(said == "allot: task a of query: its sink has failed: std::bad_alloc");
            ++in_sink, runs = 0;
        }
        again += runs == 2;
    }
    CHECK((again != 0 && in_sink != 0));
}

TEST_CASE("errors of many operands are answered at once", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 4}};
    task_group query{run, name{"query"}};
    graph_of_batches graph{
        query, [&](std::size_t of) { return of % 5 == 4 ? operand_place::elsewhere : operand_place::here; }};
    constexpr std::size_t many = 400;
    std::vector<std::atomic<int>> calls(many);
    std::atomic<int> answered{0};
    const auto answer = [&](std::size_t n) {
        return [&, n](const std::exception_ptr&) -> std::optional<batch> {
            ++answered;
            if (n % 5 == 1) return std::nullopt;
            return f.put_number(f.engine, 2);
        };
    };
    for (std::size_t n = 0; n != many; ++n) {
        std::vector<std::size_t> in;
        if (n >= 20 && n % 5 != 4) in = {n - 20, n - 17};
        static_cast<void>(graph.add({.name = "sum"}, in, [&, n](pins, task_step& step) {
            if (++calls[n] == 1 && n % 5 != 0) throw std::runtime_error("first");
            return f.put_number(step.memory(), 1);
        }));
        graph.on_error(n, answer(n));
    }
    graph.start();
    std::atomic<bool> is_over{false};
    std::thread replaces([&] {
        while (!is_over)
            for (std::size_t n = 0; n != many; ++n) graph.on_error(n, answer(n));
    });
    for (std::size_t n = 4; n < many; n += 5) CHECK(graph.failed_elsewhere(n, nullptr));
    CHECK(message_of(query).empty());
    is_over = true, replaces.join();
    int wrong = 0;
    for (std::size_t n = 0; n != many; ++n) wrong += calls[n] != (n % 5 == 4 ? 0 : n % 5 == 1 ? 2 : 1);
    CHECK((wrong == 0 && answered == 4 * many / 5 && run.stats().failed == 0));
    for (std::size_t n = 0; n != many; ++n) wrong += graph.state_of(n) != state::done;
    CHECK(wrong == 0);
}
