// The contract of retry scopes, on one thread: order, results, what stays in the vector, what ends a scope.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>
#include <support/tasks.hpp>

#include <allot/buffer/buffer_memory.hpp>
#include <allot/oom/injection.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::memory_kind;
using allot::name;
using allot::verdict;
using support::charged;
using support::halve;
using support::part;

namespace {

struct one_task {
    support::rescue ends{"a task that waits for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task query{tasks, "query"};
    std::optional<task_thread> here{query};

    explicit one_task(const rules& r = {}) : tasks(r) {}
    ~one_task() {
        CHECK(memory.used() == 0);
        CHECK((here ? here->state() : thread_state::running) == thread_state::running);
        CHECK_FALSE((here && here->is_in_scope()));
        CHECK(retry_scope::now() == nullptr);
    }
    charged take(std::size_t bytes) { return {memory, bytes}; }
    charged take(const part& p) { return take(p.bytes()); }
};
[[noreturn]] void roll_back() {
    throw allot::retry_out_of_memory({.outcome = charge_outcome::rolled_back}, memory_kind::host);
}
// The verdict is the cause of so many exceptions.
void roll_back_below(int levels) {
    std::exception_ptr thrown = std::make_exception_ptr(
        allot::retry_out_of_memory({.outcome = charge_outcome::rolled_back}, memory_kind::host));
    const auto wrap = [&] {
        try {
            std::rethrow_exception(thrown);
        } catch (...) {
            std::throw_with_nested(std::runtime_error("level"));
        }
    };
    for (; levels != 0; --levels) {
        try {
            wrap();
        } catch (...) {
            thrown = std::current_exception();
        }
    }
    std::rethrow_exception(thrown);
}
// An input that counts those that live.
struct counted : part {
    static inline int live = 0;
    counted(int from_, int to_) : part{from_, to_} { ++live; }
    counted(counted&& o) noexcept : part(o) { ++live; }
    counted& operator=(counted&& o) noexcept = default;
    ~counted() { --live; }
};
std::string message_of(auto body) {
    try {
        body();
    } catch (const allot::out_of_memory& e) {
        return e.what();
    }
    return "nothing was thrown";
}

} // namespace

TEST_CASE("the parts of an input come in order, before the next input, and each is destroyed when it is done",
          "[oom]") {
    one_task t;
    std::vector<counted> inputs;
    inputs.emplace_back(0, 150), inputs.emplace_back(150, 160), inputs.emplace_back(160, 400);
    std::vector<int> live;
    const auto cut = [](const counted& c) {
        std::vector<counted> parts;
        for (const part& p : halve(c)) parts.emplace_back(p.from, p.to);
        return parts;
    };
    const std::vector<int> from = with_retry(inputs, cut, [&](counted& c) {
        const charged all = t.take(c);
        live.push_back(counted::live);
        return c.from;
    });
    CHECK(from == std::vector{0, 75, 150, 160, 220, 280, 340});
    CHECK(live == std::vector{4, 3, 2, 3, 2, 2, 1}); // those that are not done yet
    CHECK(inputs.empty());
    CHECK(counted::live == 0);
    CHECK(t.query.stats().splits == 4);
}

TEST_CASE("inputs that are not done stay in the vector behind another exception", "[oom]") {
    one_task t;
    std::vector<part> inputs{{0, 10}, {10, 210}, {210, 220}};
    int done = 0;
    CHECK_THROWS_AS(with_retry(inputs, halve,
                               [&](const part& p) {
                                   const charged all = t.take(p);
                                   if (p.from == 110) throw std::runtime_error("another");
                                   ++done;
                               }),
                    std::runtime_error);
    CHECK(done == 2);
    CHECK(inputs == std::vector<part>{{110, 210}, {210, 220}});
    CHECK(suppressed().attempts == 0); // that part was not tried before
    CHECK(suppressed().last.outcome == charge_outcome::fits);
}

TEST_CASE("what was tried is known behind another exception", "[oom]") {
    one_task t;
    int attempts = 0;
    const auto body = [&] {
        if (++attempts < 4) roll_back();
        throw std::runtime_error("another");
    };
    CHECK_THROWS_AS(with_retry_no_split(body), std::runtime_error);
    CHECK(suppressed().attempts == 3);
    CHECK(suppressed().last.outcome == charge_outcome::rolled_back);
    CHECK_THROWS_AS(with_retry_no_split([] { throw std::runtime_error("at once"); }), std::runtime_error);
    CHECK(suppressed().attempts == 0);
    CHECK(suppressed().last.outcome == charge_outcome::fits);
}

TEST_CASE("an input that cannot be split further is a final error, and stays", "[oom]") {
    one_task t;
    for (const std::size_t bytes : {60U, 600U}) { // they never fit together; each never fits
        std::vector<part> inputs{{0, 2}, {2, 3}};
        const std::string said = message_of([&] {
            with_retry(inputs, halve, [&](const part& p) {
                const charged first = t.take(bytes), second = t.take(bytes);
                return p.from;
            });
        });
        CHECK_THAT(said, ContainsSubstring("cannot be split further"));
        CHECK(inputs == std::vector<part>{{0, 1}, {1, 2}, {2, 3}});
    }
    // A policy that returns one part has not split.
    std::vector<part> inputs{{0, 8}};
    CHECK_THAT(message_of([&] {
                   with_retry(inputs, [](const part& p) { return std::vector{p}; }, [&](const part&) { t.take(101); });
               }),
               ContainsSubstring("cannot be split further"));
    CHECK(inputs == std::vector<part>{{0, 8}});
}

TEST_CASE("the page of a final error says what holds the memory, and what a store has freed", "[oom]") {
    one_task t;
    allot::account disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home home{disk};
    allot::store inputs{t.memory, home, name{"inputs"}};
    auto away = inputs.put(memory.allocate(t.memory, 64));
    const charged other = t.take(20);
    std::string page;
    try {
        with_retry_no_split([&] { t.take(90); });
    } catch (const allot::out_of_memory& e) {
        page = e.report();
    }
    CHECK_THAT(page, ContainsSubstring("accounts of engine: 20 bytes used of 100 bytes, peak 84 bytes"));
    CHECK_THAT(page, ContainsSubstring("inputs, cost 10: 1 call freed 64 bytes in "));
    CHECK_THAT(page, ContainsSubstring("64 bytes left, of 64 bytes written to disk"));
    CHECK_THAT(page, ContainsSubstring("    query ("));
}

TEST_CASE("a split into many parts, and inputs without one", "[oom]") {
    one_task t;
    std::vector<part> inputs;
    CHECK(with_retry(inputs, halve, [](const part& p) { return p.from; }).empty());
    inputs = {{0, 1000}};
    const auto tenths = [](const part& p) {
        std::vector<part> parts;
        for (int i = 0; i != 10; ++i) parts.push_back({p.from + i * 100, p.from + (i + 1) * 100});
        return parts;
    };
    const auto from = with_retry(inputs, tenths, [&](const part& p) { return t.take(p), p.from; });
    CHECK(from == std::vector{0, 100, 200, 300, 400, 500, 600, 700, 800, 900});
    inputs = {{0, 1000}, {1000, 1001}};
    int n = 0;
    CHECK_THROWS_AS(with_retry(inputs, tenths,
                               [&](const part& p) {
                                   t.take(p);
                                   if (++n == 3) throw 7;
                               }),
                    int);
    CHECK(inputs.size() == 9); // more than the vector had room for
    CHECK(inputs.back() == part{1000, 1001});
}

TEST_CASE("work without an input: its result, whatever it is, or a final error", "[oom]") {
    one_task t;
    int attempts = 0;
    CHECK(with_retry_no_split([&] {
              if (++attempts != 3) roll_back();
              return std::make_unique<int>(7);
          }) != nullptr);
    CHECK(attempts == 3);
    const bool yes = with_retry_no_split([] { return true; });
    CHECK(yes);
    struct no_default {
        int n;
        explicit no_default(int of) : n(of) {}
    };
    CHECK(with_retry_no_split([] { return no_default{5}; }).n == 5);
    with_retry_no_split([&] { t.take(100); });
    CHECK_THAT(message_of([&] { with_retry_no_split([&] { t.take(101); }); }), ContainsSubstring("no input to split"));
    CHECK_THAT(message_of([&] {
                   with_retry_no_split([&] {
                       const charged first = t.take(60);
                       t.take(60);
                   });
               }),
               ContainsSubstring("attempts: 2;"));
}

TEST_CASE("a state is restored where the attempt begins again, and only there", "[oom]") {
    one_task t;
    struct random_numbers {
        int next = 1, kept = 0, restored = 0;
        void checkpoint() { kept = next; }
        void restore() { next = kept, ++restored; }
    } state;
    int attempts = 0;
    const int got = with_retry_no_split([&] {
        return with_restore(state, [&] {
            const int n = state.next++;
            if (++attempts != 3) roll_back();
            return n;
        });
    });
    CHECK((got == 1 && state.next == 2 && state.restored == 2));
    CHECK_THROWS_AS(with_restore(state,
                                 [&] {
                                     ++state.next;
                                     throw std::runtime_error("another");
                                 }),
                    std::runtime_error);
    CHECK((state.next == 3 && state.restored == 2));
    std::vector<part> inputs{{0, 150}};
    with_retry(inputs, halve, [&](const part& p) {
        with_restore(state, [&] {
            ++state.next;
            t.take(p);
        });
    });
    CHECK((state.next == 5 && state.restored == 3)); // by a split, too
}

TEST_CASE("a body that has changed its inputs is not begun again", "[oom]") {
    one_task t;
    std::vector<part> inputs{{0, 1}, {1, 2}};
    int attempts = 0;
    CHECK_THROWS_AS(with_retry(inputs, halve,
                               [&](part&) {
                                   ++attempts;
                                   retry_scope::now()->note_inputs_changed();
                                   const charged first = t.take(60);
                                   t.take(60);
                               }),
                    inputs_changed);
    CHECK(attempts == 1);
    CHECK(inputs.size() == 2);
    CHECK(t.here->state() == thread_state::running); // others do not wait for it
    inputs = {{0, 1}};
    with_retry(inputs, halve, [&](part&) { retry_scope::now()->note_inputs_changed(); }); // it succeeds: no error
    CHECK(inputs.empty());
}

TEST_CASE("out of memory inside a split policy is final, and the input stays", "[oom]") {
    one_task t;
    std::vector<part> inputs{{0, 200}, {200, 201}};
    const auto needs_memory = [&](const part& p) {
        const charged first = t.take(60), second = t.take(60);
        return halve(p);
    };
    CHECK_THAT(message_of([&] { with_retry(inputs, needs_memory, [&](const part& p) { t.take(p); }); }),
               ContainsSubstring("could not be split"));
    CHECK(inputs == std::vector<part>{{0, 200}, {200, 201}});
    const auto throws = [](const part&) -> std::vector<part> { throw std::length_error("in a policy"); };
    CHECK_THROWS_AS(with_retry(inputs, throws, [&](const part& p) { t.take(p); }), std::length_error);
    CHECK(inputs == std::vector<part>{{0, 200}, {200, 201}});
}

TEST_CASE("a verdict counts where it is the cause of another exception, at any depth", "[oom]") {
    one_task t;
    int attempts = 0;
    with_retry_no_split([&] {
        if (++attempts < 4) roll_back_below(attempts);
    });
    CHECK(attempts == 4);
    // Without a cause, or with another, it passes.
    struct alone : std::runtime_error, std::nested_exception {
        alone() : std::runtime_error("alone") {}
    };
    CHECK_THROWS_AS(with_retry_no_split([] { throw alone(); }), alone);
    CHECK_THROWS_AS(with_retry_no_split([] {
                        try {
                            throw 7;
                        } catch (...) {
                            std::throw_with_nested(std::runtime_error("level"));
                        }
                    }),
                    std::runtime_error);
}

TEST_CASE("without a task_thread the body runs, and errors pass", "[oom]") {
    one_task t;
    t.here.reset();
    std::vector<part> inputs{{0, 101}, {101, 102}};
    CHECK_THROWS_AS(with_retry(inputs, halve, [&](const part& p) { t.take(p); }), allot::out_of_memory);
    CHECK(inputs.size() == 2);
    CHECK_THROWS_AS(with_retry_no_split([] { roll_back(); }), allot::retry_out_of_memory);
    CHECK(with_retry_no_split([&] { return t.take(100), 5; }) == 5);
    retry_scope scope;
    CHECK_FALSE(scope.is_active());
    CHECK(scope.wait({.outcome = charge_outcome::rolled_back}) == verdict::refused);
}

TEST_CASE("a rollback begins the outermost scope again, so that all is freed", "[oom]") {
    one_task t;
    int outer = 0, inner = 0;
    std::vector<part> inputs{{0, 64}};
    with_retry(inputs, halve, [&](const part& p) {
        ++outer;
        with_retry_no_split([&] {
            if (++inner % 3 != 0) roll_back();
        });
        const charged first = t.take(p.bytes()), second = t.take(p.bytes());
    });
    CHECK(outer == 9); // thrice for the whole and for each half
    CHECK(inner == 9);
}

TEST_CASE("a split is of the innermost scope that can split", "[oom]") {
    one_task t;
    std::size_t parts = 0;
    const auto needs_twice = [&](const part& p) {
        const charged c = t.take(2 * p.bytes());
        ++parts;
    };
    SECTION("the inner one has no input: the outer one's is split") {
        std::vector<part> inputs{{0, 80}};
        with_retry(inputs, halve, [&](const part& p) { with_retry_no_split([&] { needs_twice(p); }); });
        CHECK(parts == 2);
    }
    SECTION("the input of the inner one is as small as it can be") {
        std::vector<part> inputs{{0, 80}};
        with_retry(inputs, halve, [&](const part& p) {
            std::vector<part> same{p};
            with_retry(same, [](const part&) { return std::vector<part>{}; }, needs_twice);
        });
        CHECK(parts == 2);
    }
    SECTION("the inner one splits its own") {
        with_retry_no_split([&] {
            std::vector<part> inputs{{0, 80}};
            with_retry(inputs, halve, needs_twice);
        });
        CHECK(parts == 2);
    }
    SECTION("neither can: it is final in the outer one") {
        CHECK_THROWS_AS(with_retry_no_split([&] { with_retry_no_split([&] { needs_twice({0, 80}); }); }),
                        allot::out_of_memory);
        CHECK(suppressed().attempts == 1);
    }
    SECTION("by hand: the inner one returns at once, and the outer one sleeps") {
        retry_scope outer;
        {
            retry_scope inner;
            CHECK((!inner.is_outermost() && outer.is_outermost()));
            CHECK(inner.wait({.outcome = charge_outcome::rolled_back}) == verdict::roll_back);
        }
        CHECK(outer.wait({.outcome = charge_outcome::rolled_back}) == verdict::try_again);
    }
    t.here.reset();
}

TEST_CASE("three tasks whose inner work needs what the outer work of others keeps end", "[oom]") {
    const support::rescue ends{"nested scopes"};
    arbiter tasks;
    account memory{name{"engine"}, limit{8}, tasks};
    std::atomic<int> begun{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 3; ++t)
            threads.emplace_back([&] {
                task mine{tasks, "query"};
                const task_thread here{mine};
                bool first = true;
                with_retry_no_split([&] {
                    const charged kept{memory, 2};
                    if (std::exchange(first, false)) ++begun;
                    support::until([&] { return begun.load() == 3; });
                    with_retry_no_split([&] { const charged more{memory, 3}; });
                });
            });
    }
    CHECK(tasks.stats().splits == 0);
    CHECK(memory.used() == 0);
}

TEST_CASE("bodies are not copied; a verdict of the body's own is one; errors have a copy of the name", "[oom]") {
    one_task t;
    int attempts = 0;
    with_retry_no_split([&, once = std::make_unique<int>(1)] {
        if (++attempts == 1) throw allot::retry_out_of_memory({}, allot::memory_kind::host);
    });
    CHECK(attempts == 2);
    try {
        with_retry_no_split([&] {
            const std::string gone = "of the body";
            account inside{t.memory, name{gone.c_str()}, limit{10}};
            inside.charge(20);
        });
        FAIL("20 of 10 bytes were granted");
    } catch (const allot::out_of_memory& e) {
        CHECK(std::string(e.what()).find("of the body") != std::string::npos);
        CHECK(std::string_view(e.why().name) == "of the body");
    }
    CHECK(suppressed().attempts == 1);
    CHECK(std::string_view(suppressed().last.name) == "of the body");
    const allot::verdict_error error{
        {.by = allot::refuser::account, .name = "a name of forty characters, which is cut"}, allot::memory_kind::host};
    allot::verdict_error copy{{}, allot::memory_kind::device};
    copy = allot::verdict_error{error};
    CHECK(std::string_view(copy.why().name) == "a name of forty characters, ...");
    const auto* const at = reinterpret_cast<const std::byte*>(copy.why().name);
    CHECK((at >= reinterpret_cast<const std::byte*>(&copy) && at < reinterpret_cast<const std::byte*>(&copy + 1)));
    static_assert(sizeof(allot::verdict_error) <= 96);
}

TEST_CASE("an error has its name as long as it lives, also when its thread or its account has ended", "[oom]") {
    one_task t;
    std::exception_ptr thrown;
    std::jthread([&] {
        const task_thread there{t.query};
        try {
            with_retry_no_split([&] { account{t.memory, name{"inside"}, limit{10}}.charge(20); });
        } catch (const allot::out_of_memory&) {
            thrown = std::current_exception();
            CHECK_ON_THREAD(std::string(suppressed().last.name) == "inside" && suppressed().last.at == nullptr);
        }
    }).join();
    try {
        std::rethrow_exception(thrown);
    } catch (const allot::out_of_memory& e) {
        const allot::out_of_memory copy{e};
        const auto* const first = reinterpret_cast<const char*>(&copy);
        CHECK((copy.why().name >= first && copy.why().name < first + sizeof(copy)));
        CHECK(std::string(copy.why().name) == "inside");
        CHECK((e.why().at == nullptr && e.why().outcome == charge_outcome::over_limit));
    }
}

TEST_CASE("what was tried is counted with the last attempt, and scopes inside do not hide it", "[oom]") {
    one_task t;
    std::vector<part> inputs{{0, 200}};
    const auto throws = [](const part&) -> std::vector<part> { throw 7; };
    CHECK_THROWS_AS(with_retry(inputs, throws, [&](const part& p) { t.take(p); }), int);
    CHECK(suppressed().attempts == 1);
    CHECK_THROWS_AS(with_retry_no_split([] {
                        retry_scope::now()->note_inputs_changed();
                        roll_back();
                    }),
                    inputs_changed);
    CHECK(suppressed().attempts == 1);
    int attempts = 0;
    CHECK_THROWS_AS(with_retry_no_split([&] {
                        if (++attempts < 4) roll_back();
                        with_retry_no_split([] { throw 7; });
                    }),
                    int);
    CHECK((suppressed().attempts == 3 && suppressed().last.outcome == charge_outcome::rolled_back));
}

TEST_CASE("a verdict inside a split function: named by its own account, or passed on", "[oom]") {
    one_task t;
    account other{t.memory, name{"other"}, limit{10}};
    std::vector<part> inputs{{0, 200}};
    const auto needs_memory = [&](const part& p) { return charged{other, 20}, halve(p); };
    const auto body = [&](const part& p) { t.take(p); };
    CHECK_THAT(message_of([&] { with_retry(inputs, needs_memory, body); }), ContainsSubstring("account other uses"));
    int begun = 0;
    with_retry_no_split([&] {
        std::vector<part> again{{0, 200}};
        const auto rolls_back_once = [&](const part& p) { return ++begun == 1 ? roll_back() : void(), halve(p); };
        with_retry(again, rolls_back_once, body);
    });
    CHECK(begun == 2);
    const auto is_removed = [](const part&) -> std::vector<part> {
        throw allot::task_removed({}, allot::memory_kind::host);
    };
    CHECK_THROWS_AS(with_retry(inputs, is_removed, body), allot::task_removed);
}

TEST_CASE("bodies and split functions are not copied, and time lost is that of the outermost body", "[oom]") {
    one_task t;
    int attempts = 0;
    auto body = [&, once = std::make_unique<int>(1)](const part& p) { t.take(p), ++attempts; };
    auto split = [once = std::make_unique<int>(1)](const part& p) { return halve(p); };
    std::vector<part> inputs{{0, 200}};
    with_retry(inputs, split, body);
    CHECK(attempts == 2);
    inputs = {{0, 160}};
    auto outer = [&, once = std::make_unique<int>(1)](const part& p) {
        if (p.bytes() == 160) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        auto inner = [&, twice = std::make_unique<int>(2)] {
            const charged first = t.take(p.bytes() / 2);
            t.take(p.bytes() / 2);
        };
        with_retry_no_split(inner);
    };
    with_retry(inputs, split, outer);
    CHECK(t.query.stats().rollbacks == 2);
    CHECK(t.query.stats().lost_ns >= 3'000'000);
}

TEST_CASE("status codes: the same by hand, without exceptions", "[oom]") {
    one_task t;
    part input{0, 400};
    std::vector<charge_outcome> seen;
    int done = 0;
    retry_scope scope;
    while (input.from != input.to) {
        part now = input;
        for (;;) {
            const charge_status first = t.memory.charge_for(now.bytes() / 2, allot::forever);
            charge_status why = first;
            if (first && (why = t.memory.charge_for(now.bytes() - now.bytes() / 2, allot::forever))) {
                t.memory.refund(now.bytes());
                break;
            }
            if (first) t.memory.refund(now.bytes() / 2);
            REQUIRE(allot::is_verdict(why.outcome));
            seen.push_back(why.outcome);
            if (scope.wait(why) == verdict::split) now = halve(now).front();
        }
        done += now.to - now.from;
        input.from = now.to;
    }
    scope.done();
    CHECK(done == 400);
    CHECK(scope.attempts() == seen.size());
    CHECK(seen.front() == charge_outcome::split); // 200 never fit
    CHECK(std::find(seen.begin(), seen.end(), charge_outcome::rolled_back) != seen.end());
    CHECK(t.query.stats().outside == 0);

    t.query.remove();
    const charged all = t.take(100);
    for (retry_scope again; again.attempts() != 2;) { // for good
        const charge_status why = t.memory.charge_for(50, allot::forever);
        CHECK(why.outcome == charge_outcome::removed);
        CHECK(again.wait(why) == verdict::removed);
    }
    t.here.reset();
}

TEST_CASE("a scope that another exception leaves while its thread is rolled back gives up that work", "[oom]") {
    one_task t;
    {
        const retry_scope scope;
        const charged first = t.take(60);
        CHECK_THROWS_AS(t.take(60), allot::retry_out_of_memory);
        CHECK(t.here->state() == thread_state::bufn_wait);
    }
    CHECK(t.here->state() == thread_state::running);
    CHECK_THROWS_AS(t.take(101), allot::out_of_memory); // outside any scope: refused
    CHECK(t.query.stats().outside == 1);                // at once, since it can never fit
    const charged first = t.take(60);
    CHECK_THROWS_AS(t.take(60), allot::out_of_memory);
    CHECK(t.query.stats().outside == 2);
}

TEST_CASE("a thread that must not be rolled back is refused, as long as its token lives", "[oom]") {
    one_task t;
    const retry_scope scope;
    {
        const no_rollback barred;
        const charged first = t.take(60);
        CHECK_THROWS_AS(t.take(60), allot::out_of_memory);
    }
    const charged first = t.take(60);
    CHECK_THROWS_AS(t.take(60), allot::retry_out_of_memory);
}

TEST_CASE("a request of a thread that was rolled back sleeps first, if its body goes on", "[oom]") {
    one_task t;
    const retry_scope scope;
    {
        const charged first = t.take(60);
        CHECK_THROWS_AS(t.take(60), allot::retry_out_of_memory);
        CHECK_THROWS_AS(t.take(60), allot::split_and_retry_out_of_memory); // all are rolled back
        CHECK(t.here->state() == thread_state::running);
    }
    t.take(100);
}

TEST_CASE("a final error has the refusal that could not be granted, not the verdict that ended it", "[oom]") {
    one_task t;
    struct nothing_left {
        void* try_allocate(std::size_t, std::size_t) noexcept { return nullptr; }
        void deallocate(void*) noexcept {}
    } source;
    const allot::buffer_memory memory{source};
    const auto why_of = [](auto body, const char* text) {
        try {
            with_retry_no_split(body);
        } catch (const allot::out_of_memory& e) {
            CHECK_THAT(std::string(e.what()), ContainsSubstring(text));
            CHECK(std::string(e.report()).find(text) != std::string::npos);
            return e.why();
        }
        return charge_status{};
    };
    const charge_status over = why_of([&] { t.take(101); }, "over the limit: account engine uses 0 bytes of 100 bytes");
    CHECK((over.outcome == charge_outcome::over_limit && over.refused == charge_outcome::fits));
    CHECK((over.requested == 101 && over.limit == 100 && over.by == allot::refuser::account));
    const charge_status none = why_of([&] { memory.allocate(t.memory, 50); }, "no memory: the system");
    CHECK((none.outcome == charge_outcome::no_memory && none.by == allot::refuser::system));
    try { // the verdict itself has the refusal beside it
        const retry_scope scope;
        t.take(101);
    } catch (const allot::verdict_error& e) {
        CHECK((e.why().outcome == charge_outcome::split && e.why().refused == charge_outcome::over_limit));
    }
}

TEST_CASE("a budget of attempts that is spent is a final error", "[oom]") {
    one_task t{rules{.most_attempts = 3}};
    std::vector<part> inputs{{0, 4000}};
    int attempts = 0;
    const auto body = [&](const part& p) {
        ++attempts;
        t.take(p);
    };
    CHECK_THROWS_AS(with_retry(inputs, halve, body), allot::out_of_memory);
    CHECK(attempts == 4);
    CHECK(inputs == std::vector<part>{{0, 500}, {500, 1000}, {1000, 2000}, {2000, 4000}});
    CHECK(t.query.stats().splits == 3);
    CHECK(t.query.stats().refused == 1);
    // Other work has the whole budget again, and after each part that is finished: B4.
    inputs.assign(20, part{0, 700});
    CHECK_NOTHROW(with_retry(inputs, halve, body));
    CHECK(t.query.stats().splits > 20);
}

TEST_CASE("B5: a request that must not wait is refused at once, and leaves the thread as it was", "[oom]") {
    one_task t;
    const retry_scope scope;
    const charged all = t.take(100);
    CHECK(t.memory.try_charge(1).outcome == charge_outcome::over_limit);
    CHECK(t.here->state() == thread_state::running);
    CHECK(t.query.stats() == task_stats{});
    CHECK(t.memory.charge_for(1, 0_ms).outcome == charge_outcome::over_limit);
    CHECK(t.here->state() == thread_state::running);
    CHECK(t.query.stats().rollbacks + t.query.stats().splits + t.query.stats().refused == 0);
}
