// Every state and event of a thread: the table, written again as a grid, and what machine::step does.
#include <support/catch.hpp>

#include <allot/oom/machine.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace allot::oom;

namespace {

// A row for each state, a column for each event, both in their order; a cell is the next state's letter, '.' is wrong.
// clang-format off
constexpr std::string_view letters = "URAFBTWNSX"; // unknown running Alloc alloc_Free Blocked bufn_Throw bufn_Wait bufN Split remove(X)
constexpr std::string_view grid[thread_states] = {
    //  from the thread   others  decided
    //  s a g f g t r e | f m r | w t r s r
    //  t n r a i h e n | r a e | o r o p e
    //  a n a i v r a d | e y m | k i l l f
    //  r o n l e o d e | e . o | e e l i u
    /* unknown      */ "R. . . . . . . . . . . . . . .",
    /* running      */ ". A . . . . R U . . X . . . . .",
    /* alloc        */ ". . R B R . . U F . X . . T S R",
    /* alloc_free   */ ". . R R R . . U F . X . . . S R",
    /* blocked      */ ". . . . R . . U . R X . R T S R",
    /* bufn_throw   */ ". . . . . W . U . . X R . . . .",
    /* bufn_wait    */ ". . . . . . N U . . X R . . . .",
    /* bufn         */ ". . . . . . . U . . X R R . S R",
    /* split_throw  */ ". . . . . R . U . . X . . . . .",
    /* remove_throw */ ". . . . . U . U . . X . . . . .",
};
// clang-format on

// The events that lead to each state, from unknown.
using enum event;
const std::vector<event> path[thread_states] = {
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
    for (std::size_t s = 0; s != thread_states; ++s) {
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
            CHECK(is_legal(from, by) == legal);
            CHECK(after(from, by) == to);

            situation_of_two now{from};
            REQUIRE(now.all[now.it].state == from);
            const machine before = now.all;
            CHECK(now.step(by) == legal);
            CHECK(now.all[now.it].state == to);
            CHECK(now.all.valid());
            if (legal) CHECK(now.made == std::vector{change{now.it, from, by, to}});
            else CHECK((now.made.empty() && now.all == before));
        }
    }
}

TEST_CASE("the table names each transition once, and each state is reached and left", "[oom]") {
    std::size_t cells = 0;
    for (const std::string_view row : grid)
        for (const char c : row) cells += c != ' ' && c != '.';
    CHECK(transitions.size() == cells);
    for (std::size_t s = 0; s != thread_states; ++s) {
        bool reached = false, left = false;
        for (const transition& t : transitions) {
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
