// Operands that depend on each other: order, results that end, places, withdrawals, errors.
#include <support/catch.hpp>
#include <support/task_engine.hpp>
#include <support/tasks.hpp>

#include <allot/spill/stored_buffer.hpp>
#include <allot/task/operand_graph.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::executor;
using allot::limit;
using allot::name;
using allot::operand_place;
using allot::task_group;
using allot::task_step;
using allot::operand::state;
using batch = allot::stored<allot::buffer>;
using support::message_of;
using graph_of_batches = allot::operand_graph<batch>;

namespace {

struct fixture : support::task_engine {
    // The sum of its inputs, and n.
    auto sum(std::uint64_t n, std::size_t bytes = 8) {
        return [this, n, bytes](std::span<batch::pinned> in, task_step& step) {
            std::uint64_t all = n;
            for (const auto& b : in) all += b->get<std::uint64_t>(0);
            return put_number(step.memory(), all, bytes);
        };
    }
};
std::uint64_t value_of(const batch& b) { return b.pin()->get<std::uint64_t>(0); }

} // namespace

TEST_CASE("an operand begins when those that it depends on are done; results end with their last user",
          "[task][operands]") {
    for (const unsigned threads : {0U, 3U}) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = threads}};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        const auto a = graph.add({.name = "a"}, {}, f.sum(1)), b = graph.add({.name = "b"}, {a}, f.sum(10)),
                   c = graph.add({.name = "c"}, {a, b, a}, f.sum(100)), d = graph.add({.name = "d"}, {}, f.sum(1000));
        CHECK(graph.state_of(a) == state::waiting);
        graph.start();
        if (threads == 0) CHECK((graph.state_of(a) == state::queued && graph.state_of(c) == state::waiting));
        std::atomic<int> told{0};
        graph.on_finish(c, [&](state s) { told += s == state::done; });
        query.wait();
        for (const auto at : {a, b, c, d}) CHECK(graph.state_of(at) == state::done);
        CHECK(told == 1);
        graph.on_finish(a, [&](state s) { told += s == state::done; }); // late: at once
        CHECK(told == 2);
        CHECK((!graph.take(a) && !graph.take(b))); // they were used
        const std::optional<batch> last = graph.take(c);
        CHECK((last && value_of(*last) == 113 && !graph.take(c)));
        CHECK(value_of(*graph.take(d)) == 1000);
        CHECK_THROWS_AS(graph.add({}, {a}, f.sum(1)), std::invalid_argument); // its result has ended
        CHECK_THROWS_AS(graph.add({}, {99}, f.sum(1)), std::invalid_argument);
    }
}

TEST_CASE("an operand whose result is an empty handle ends the group at its first user", "[task][operands]") {
    if constexpr (ALLOT_CHECKED != 0) return; // it aborts there: tests/death
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    graph_of_batches graph{query};
    const auto a = graph.add({.name = "a"}, {}, [](std::span<batch::pinned>, task_step&) { return batch{}; });
    graph.add({.name = "b"}, {a}, f.sum(1));
    graph.start();
    CHECK_THAT(message_of(query),
               ContainsSubstring("allot: task b of query: allot: an empty handle of a stored object"));
    CHECK(run.stats().ran_out == 0);
}

TEST_CASE("random graphs in too little memory have the results of a plain loop", "[task][operands][model]") {
    std::mt19937_64 random{11};
    for (int round = 0; round != 20; ++round) {
        fixture f;
        executor run{f.tasks, f.engine, {.threads = static_cast<unsigned>(round % 3)}};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        std::vector<std::uint64_t> expected;
        for (std::uint64_t n = 0; n != 60; ++n) {
            std::vector<std::size_t> in;
            std::uint64_t all = n;
            if (n != 0)
                for (std::uint64_t i = random() % 3; i != 0; --i) in.push_back(random() % n);
            for (const std::size_t i : in) all += expected[i];
            const std::size_t bytes = 8 + random() % 120'000;
            CHECK(graph.add({.name = "sum", .output = bytes}, in, f.sum(n, bytes)) == n);
            expected.push_back(all);
        }
        graph.start();
        query.wait();
        std::size_t taken = 0;
        for (std::size_t n = 0; n != 60; ++n)
            if (const std::optional<batch> b = graph.take(n)) CHECK((value_of(*b) == expected[n] && ++taken != 0));
        CHECK(taken > 5);
    }
}

TEST_CASE("an outside scheduler places what is ready", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    std::vector<operand_place> says{operand_place::here, operand_place::elsewhere, operand_place::not_now};
    std::vector<std::size_t> asked;
    graph_of_batches graph{query, [&](std::size_t of) {
                               asked.push_back(of);
                               return of < says.size() ? says[of] : operand_place::here;
                           }};
    const auto a = graph.add({}, {}, f.sum(1)), b = graph.add({}, {}, f.sum(10)), c = graph.add({}, {}, f.sum(100)),
               d = graph.add({}, {a, b, c}, f.sum(1000));
    graph.start();
    query.wait();
    CHECK((graph.state_of(b) == state::elsewhere && graph.state_of(c) == state::waiting));
    CHECK((!graph.made_elsewhere(a, f.put_number(f.engine, 7)) && graph.made_elsewhere(b, f.put_number(f.engine, 20))));
    says[2] = operand_place::here;
    graph.ask_again();
    query.wait();
    CHECK(value_of(*graph.take(d)) == 1121);
    CHECK(asked == std::vector<std::size_t>{0, 1, 2, 2, 3});
}

TEST_CASE("operands get another place, and are withdrawn with those that depend on them", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    graph_of_batches graph{query};
    std::string order;
    const auto noted = [&](char c) {
        return [&, c](std::span<batch::pinned>, task_step& step) {
            order += c;
            return f.put_number(step.memory(), 1);
        };
    };
    const auto a = graph.add({}, {}, noted('a')), b = graph.add({}, {}, noted('b')), c = graph.add({}, {}, noted('c')),
               d = graph.add({}, {b}, noted('d')), e = graph.add({}, {a, d}, noted('e'));
    int withdrawn = 0;
    graph.on_finish(e, [&](state s) { withdrawn += s == state::withdrawn; });
    graph.start();
    CHECK((graph.set_number(c, 7) && graph.set_number(d, 3)));
    CHECK((graph.withdraw(b) && graph.withdraw(b) && withdrawn == 1));
    CHECK((graph.state_of(d) == state::withdrawn && graph.state_of(e) == state::withdrawn));
    query.wait();
    CHECK((order == "ca" && !graph.withdraw(a) && !graph.set_number(a, 1) && !graph.take(b)));
    CHECK_THROWS_AS(graph.add({}, {d}, noted('x')), std::invalid_argument);
}

TEST_CASE("an error of an operand ends its group, and those that asked hear of it", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine, {.attempts = 2}};
    task_group query{run, name{"query"}};
    graph_of_batches graph{query};
    const auto a =
        graph.add({.name = "scan"}, {}, [](auto, task_step&) -> batch { throw std::runtime_error("no file"); });
    const auto b = graph.add({.name = "sort"}, {a}, f.sum(1));
    std::vector<state> heard;
    graph.start();
    for (const auto of : {a, b}) graph.on_finish(of, [&](state s) { heard.push_back(s); });
    try {
        query.wait();
        FAIL("it has failed");
    } catch (const allot::task_error& e) {
        CHECK(std::string(e.what()) == "allot: task scan of query: no file");
    }
    CHECK((heard == std::vector<state>{state::computing, state::withdrawn}));
    task_group large{run, name{"large"}};
    graph_of_batches other{large};
    const auto c = other.add({.name = "all"}, {}, f.sum(1, 2_MiB));
    other.start();
    CHECK_THROWS_AS(large.wait(), allot::task_error);
    CHECK(other.state_of(c) != state::done);
}

TEST_CASE("each step of the table is that of an operand, and no other", "[task][operands]") {
    std::size_t legal = 0;
    for (std::size_t s = 0; s != allot::operand::states; ++s)
        for (std::size_t e = 0; e != allot::operand::events; ++e) {
            const auto from = static_cast<state>(s);
            const auto by = static_cast<allot::operand::event>(e);
            legal += allot::operand::detail::is_legal(from, by);
            if (!allot::operand::detail::is_legal(from, by)) CHECK(allot::operand::detail::after(from, by) == from);
        }
    CHECK(legal == allot::operand::steps.size());
    CHECK((!allot::operand::detail::is_legal(state::done, allot::operand::event::begun) &&
           text_of(state::storing) == std::string("storing")));
}

TEST_CASE("answers from elsewhere may come early, come once, and may be an error", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine};
    task_group query{run, name{"query"}};
    int asked = 0;
    graph_of_batches* all = nullptr;
    graph_of_batches graph{query, [&](std::size_t of) {
                               if (of == 0) CHECK(all->made_elsewhere(0, f.put_number(f.engine, 5)));
                               if (of == 1 && ++asked == 1) return all->ask_again(), operand_place::not_now;
                               return of < 2 ? operand_place::elsewhere : operand_place::here;
                           }};
    all = &graph;
    const auto a = graph.add({}, {}, f.sum(0)), b = graph.add({}, {}, f.sum(0)), c = graph.add({}, {a, b}, f.sum(100));
    graph.start();
    CHECK((graph.state_of(a) == state::done && graph.state_of(b) == state::elsewhere && asked == 2));
    CHECK((graph.made_elsewhere(b, f.put_number(f.engine, 7)) && !graph.made_elsewhere(b, f.put_number(f.engine, 8))));
    query.wait();
    CHECK(value_of(*graph.take(c)) == 112);
    task_group other{run, name{"other"}};
    graph_of_batches second{other, [](std::size_t) { return operand_place::elsewhere; }};
    static_cast<void>(second.add({}, {}, f.sum(0)));
    second.start();
    CHECK(second.failed_elsewhere(0, std::make_exception_ptr(std::runtime_error("it is gone"))));
    CHECK(message_of(other) == "allot: task task of other: it is gone");
    CHECK(!second.failed_elsewhere(0, nullptr));
    CHECK(second.state_of(0) == state::withdrawn);
    CHECK_THROWS_AS(second.state_of(7), std::out_of_range);
    CHECK_THROWS_AS(second.made_elsewhere(7, batch{}), std::out_of_range);
    CHECK_THROWS_AS(second.failed_elsewhere(SIZE_MAX, nullptr), std::out_of_range);
    try {
        second.take(7);
        FAIL("there is none");
    } catch (const std::out_of_range& e) {
        CHECK(std::string(e.what()) == "allot: there is no operand 7: the graph has 1");
    }
}

TEST_CASE("a failure from elsewhere is not lost, whenever it comes", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 1}};
    {
        task_group query{run, name{"query"}};
        graph_of_batches* all = nullptr;
        graph_of_batches graph{query, [&](std::size_t) { // before it has said where
                                   CHECK(all->failed_elsewhere(0, nullptr));
                                   CHECK(!all->failed_elsewhere(0, nullptr));
                                   return operand_place::elsewhere;
                               }};
        all = &graph;
        static_cast<void>(graph.add({.name = "far"}, {}, f.sum(0)));
        CHECK(!graph.failed_elsewhere(0, nullptr)); // not asked for
        graph.start();
        CHECK(message_of(query) == "allot: task far of query: it has failed elsewhere");
    }
    for (int i = 0; i != 300; ++i) { // beside a wait
        task_group query{run, name{"query"}};
        graph_of_batches graph{query, [](std::size_t) { return operand_place::elsewhere; }};
        static_cast<void>(graph.add({}, {}, f.sum(0)));
        graph.start();
        std::atomic<bool> told{false};
        std::jthread other([&] {
            graph.failed_elsewhere(0, nullptr);
            told = true;
        });
        bool threw = false;
        for (bool last = false; !last && !threw;) {
            last = told;
            threw = !message_of(query).empty();
        }
        REQUIRE(threw);
    }
}

TEST_CASE("a group that ends as its operands begin ends them quietly; later ones are withdrawn", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 3}};
    for (int i = 0; i != 200; ++i) {
        task_group query{run, name{"query"}};
        graph_of_batches graph{query};
        for (int n = 0; n != 10; ++n)
            static_cast<void>(graph.add({.name = "sort"}, {}, [&, n, i](auto, task_step& step) -> batch {
                if (n == i % 10 && i % 2 == 0) throw std::runtime_error("bad");
                return f.put_number(step.memory(), 1);
            }));
        graph.start();
        if (i % 2 == 1) query.cancel();
        const std::string said = message_of(query);
        CHECK((i % 2 == 1 ? said.empty() : said == "allot: task sort of query: bad"));
        const auto late = graph.add({}, {0, 1}, f.sum(0)); // no matter how those have ended
        CHECK(graph.state_of(late) == state::withdrawn);
    }
}

TEST_CASE("a result that no operand needs any more can be taken, whenever its user was withdrawn", "[task][operands]") {
    for (const bool before : {true, false}) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        graph_of_batches graph{query,
                               [&](std::size_t of) { return of == 0 ? operand_place::here : operand_place::not_now; }};
        const auto scan = graph.add({}, {}, f.sum(5)), sort = graph.add({}, {scan}, f.sum(0));
        graph.start();
        if (before) CHECK(graph.withdraw(sort));
        query.wait();
        if (!before) CHECK((!graph.take(scan) && graph.withdraw(sort)));
        const std::optional<batch> result = graph.take(scan);
        CHECK((result && value_of(*result) == 5));
    }
}

TEST_CASE("what functions of the user throw ends the group; after its end nothing begins", "[task][operands]") {
    fixture f;
    executor run{f.tasks, f.engine, {.threads = 1}};
    for (const bool by_callback : {true, false}) {
        task_group query{run, name{"query"}};
        int calls = 0;
        graph_of_batches graph{query, [&](std::size_t) {
                                   if (!by_callback) throw std::bad_alloc();
                                   return operand_place::here;
                               }};
        const auto a =
            graph.add({}, {}, [&](auto, task_step& step) { return ++calls, f.put_number(step.memory(), 1); });
        const auto b = graph.add({}, {a}, f.sum(1));
        graph.on_finish(a, [](state s) {
            if (s == state::done) throw std::bad_alloc();
        });
        graph.start();
        CHECK_THROWS_AS(query.wait(), allot::task_error);
        CHECK((calls == (by_callback ? 1 : 0) && graph.state_of(b) == state::withdrawn));
        const auto late = graph.add({}, {}, f.sum(1));
        int told = 0;
        graph.on_finish(late, [&](state s) { told += s == state::withdrawn; });
        CHECK(told == 1);
        graph_of_batches another{query};
        another.on_finish(another.add({}, {}, f.sum(1)), [&](state) { ++told; });
        CHECK(told == 2);
    }
}

TEST_CASE("long chains end one after the other: elsewhere, here, and withdrawn", "[task][operands]") {
    struct one {
        int pin() const noexcept { return 1; }
        std::size_t bytes() const noexcept { return 0; }
    };
    using place = allot::operand_place;
    constexpr std::size_t many = 20'000; // each within the other would be more than a thread's stack
    for (const place where : {place::elsewhere, place::here, place::not_now}) {
        fixture f;
        executor run{f.tasks, f.engine};
        task_group query{run, name{"query"}};
        allot::operand_graph<one>* made = nullptr;
        allot::operand_graph<one> graph{query, [&](std::size_t id) {
                                            if (where == place::elsewhere) made->made_elsewhere(id, {});
                                            return where;
                                        }};
        made = &graph;
        std::size_t last = graph.add({}, {}, [](auto, task_step&) { return one{}; });
        for (std::size_t i = 1; i != many; ++i) last = graph.add({}, {last}, [](auto, task_step&) { return one{}; });
        graph.start();
        query.wait();
        if (where == place::not_now) CHECK(graph.withdraw(0));
        CHECK(graph.state_of(last) == (where == place::not_now ? state::withdrawn : state::done));
    }
}
