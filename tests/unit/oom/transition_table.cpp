// Every state and event of a thread: the table, written again as a grid, and what machine::step does.
#include <support/catch.hpp>

#include <allot/oom/machine.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace allot::oom;

namespace {

// A row for each state, a column for each event, both in their order; a cell is the next state's letter, '.' is wrong.
// clang-format off
constexpr std::string_view letters = "URAFBTWNSX"; // unknown running Alloc alloc_Free Blocked bufn_Throw bufn_Wait bufN Split remove(X)
constexpr std::string_view grid[allot::oom::detail::thread_states] = {
    //  from the thread   others  decided
    //  s a g f g t r e | f m r | w t r s r l d
    //  t n r a i h e n | r a e | o r o p e e e
    //  a n a i v r a d | e y m | k i l l f t l
    //  r o n l e o d e | e . o | e e l i u p a
    /* unknown      */ "R. . . . . . . . . . . . . . . . .",
    /* running      */ ". A . . . . R U . . X . . T . . . .",
    /* alloc        */ ". . R B R . . U F R X . . T S R . .",
    /* alloc_free   */ ". . R R R . . U F R X . . T S R . .",
    /* blocked      */ ". . . . R . . U . R X . R T S R R B",
    /* bufn_throw   */ ". . . . . W N U . . X R . . . . . .",
    /* bufn_wait    */ ". . . . . . N U . . X R . . . . . .",
    /* bufn         */ ". . . . . . . U . . X R R . S R . N",
    /* split_throw  */ ". . . . . R . U . . X . . . . . . .",
    /* remove_throw */ ". . . . . U . U . . X . . . . . . .",
};
// clang-format on

// The events that lead to each state, from unknown.
using enum event;
const std::vector<event> path[allot::oom::detail::thread_states] = {
    {},
    {started},
    {started, announced},
    {started, announced, freed},
    {started, announced, failed},
    {started, announced, failed, rolled_back},
    {started, announced, failed, rolled_back, thrown},
    {started, announced, failed, rolled_back, thrown, ready},
    {started, announced, failed, split},
    {started, removed},
};

struct situation_of_two {
    machine all;
    thread_id it = 0;
    std::vector<change> made;

    // The thread `it` in this state; another task runs, so the machine decides nothing.
    explicit situation_of_two(thread_state s) {
        const task_id first = all.add_task({0, 1}), second = all.add_task({0, 2});
        it = all.add_thread(thread_kind::dedicated, first);
        all.add_thread(thread_kind::dedicated, second);
        all.enter_scope(it);
        if (s == thread_state::unknown) step(ended);
        for (const event e : path[static_cast<std::size_t>(s)])
            if (e != started) step(e);
        made.clear();
    }
    bool step(event e) {
        return all.step(it, e, [&](const change& c) { made.push_back(c); });
    }
};

} // namespace

TEST_CASE("each event leads each state to where the grid says, or changes nothing", "[oom]") {
    for (std::size_t s = 0; s != allot::oom::detail::thread_states; ++s) {
        std::string cells;
        for (const char c : grid[s])
            if (c != ' ') cells += c;
        REQUIRE(cells.size() == events);
        for (std::size_t e = 0; e != events; ++e) {
            const auto from = static_cast<thread_state>(s);
            const auto by = static_cast<event>(e);
            CAPTURE(text_of(from), text_of(by));
            const bool legal = cells[e] != '.';
            const thread_state to = legal ? static_cast<thread_state>(letters.find(cells[e])) : from;
            CHECK(allot::oom::detail::is_legal(from, by) == legal);
            CHECK(allot::oom::detail::after(from, by) == to);
            if (from == thread_state::running && by == ready) continue; // unless it was woken, it goes back: below

            situation_of_two now{from};
            REQUIRE(now.all[now.it].state == from);
            const machine before = now.all;
            CHECK(now.step(by) == legal);
            CHECK(now.all[now.it].state == to);
            CHECK(now.all.valid());
            if (legal) CHECK(now.made == std::vector{change{now.it, from, by, to}});
            else CHECK((now.made.empty() && now.all == before));
            if (legal || by == event::started || by == event::ended) continue; // these two are of a token
            command posted{.what = by, .detail = 1, .thread = now.it, .bytes = 7};
            CHECK(now.all.apply(posted, [](const change&) {}) == 0);
            CHECK(now.all == before);
        }
    }
}

TEST_CASE("an event of a request that does not fit the state of its thread changes nothing", "[oom]") {
    for (std::size_t s = 0; s != allot::oom::detail::thread_states; ++s)
        for (const event by : {never_fits, overdue, waited_long}) {
            const auto from = static_cast<thread_state>(s);
            const bool sleeps = from == thread_state::blocked || from == thread_state::bufn;
            const bool tries =
                from == thread_state::running || from == thread_state::alloc || from == thread_state::alloc_free;
            situation_of_two now{from};
            machine before = now.all;
            CAPTURE(text_of(from), text_of(by));
            const bool done =
                now.all.apply({.what = by, .detail = 1, .thread = now.it, .bytes = 7}, [](const change&) {}) != 0;
            CHECK(done == (by == overdue ? sleeps : by == never_fits && tries)); // nothing is put off
            CHECK((now.all == before) == !done);
            if (by == overdue) continue;
            now.all = before;
            now.all.leave_scope(now.it, false, 0, [](const change&) {});
            before = now.all;
            CHECK(now.all.apply({.what = by, .thread = now.it, .bytes = 7}, [](const change&) {}) == 0); // in no scope
            CHECK(now.all == before);
        }
}

TEST_CASE("threads of a task that is removed are, also those that begin later; of a pool those that work for no other",
          "[oom]") {
    machine all;
    const auto post = [&](const command& c) { return all.apply(c, [](const change&) {}); };
    const task_id t = post({.what = task_begun});
    const auto begin = [&](thread_kind k) {
        return post({.what = started, .detail = static_cast<std::uint8_t>(k), .on = t});
    };
    const thread_id first = begin(thread_kind::dedicated), of_pool = begin(thread_kind::pool);
    CHECK(post({.what = removed, .on = t}) == 1);
    const thread_id later = begin(thread_kind::dedicated), later_of_pool = begin(thread_kind::pool);
    const task_id other = post({.what = task_begun});
    post({.what = joined, .thread = later_of_pool, .on = other});
    CHECK(all.verdict_for(first) == allot::verdict::removed);
    CHECK(all.verdict_for(later) == allot::verdict::removed);
    CHECK(all.verdict_for(of_pool) == allot::verdict::removed);
    CHECK(all.verdict_for(later_of_pool) == allot::verdict::try_again);
    post({.what = left, .thread = of_pool, .on = t});
    CHECK(all.verdict_for(of_pool) == allot::verdict::try_again);
    post({.what = ended, .thread = first});
    CHECK_FALSE(all[first].used);
}

TEST_CASE("the table names each transition once, and each state is reached and left", "[oom]") {
    std::size_t cells = 0;
    for (const std::string_view row : grid)
        for (const char c : row) cells += c != ' ' && c != '.';
    CHECK(allot::oom::detail::transitions.size() == cells);
    for (std::size_t s = 0; s != allot::oom::detail::thread_states; ++s) {
        bool reached = false, left = false;
        for (const allot::oom::detail::transition& t : allot::oom::detail::transitions) {
            reached = reached || (t.to == static_cast<thread_state>(s) && t.from != t.to);
            left = left || (t.from == static_cast<thread_state>(s) && t.from != t.to);
        }
        CAPTURE(text_of(static_cast<thread_state>(s)));
        CHECK(reached);
        CHECK(left);
    }
}

TEST_CASE("a thread of a new token is running, whatever its kind", "[oom]") {
    machine all;
    const task_id t = all.add_task({});
    for (const thread_kind k : {thread_kind::dedicated, thread_kind::pool, thread_kind::shuffle})
        CHECK(all[all.add_thread(k, t)].state == thread_state::running);
}
