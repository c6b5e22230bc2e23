// Cases of the machine that random situations found (model/oom_monte_carlo.cpp).
#include <support/catch.hpp>

#include <allot/oom/machine.hpp>

#include <cstdint>

using namespace allot::oom;

TEST_CASE("a removed thread that waits for a resource is still seen as stuck", "[oom]") {
    machine m;
    const auto ignore = [](const change&) {};
    const task_id holder = m.add_task({0, 1}), other = m.add_task({0, 2});
    const thread_id a = m.add_thread(thread_kind::dedicated, holder), b = m.add_thread(thread_kind::dedicated, other);
    const resource_id permits = m.add_resource();
    m.hold(permits, holder, true, ignore);
    m.wait(b, waits_for::resource, permits, ignore);
    m.step(b, event::removed, ignore);
    m.enter_scope(a);
    m.announce(a, allot::memory_kind::host, 10, ignore);
    m.step(a, event::failed, ignore);
    CHECK(m[a].state == thread_state::running); // it tries alone
    m.announce(a, allot::memory_kind::host, 10, ignore);
    m.step(a, event::failed, ignore);
    CHECK(m[a].state == thread_state::bufn_throw);
}

TEST_CASE("a request that can never fit ends the attempt alone", "[oom]") {
    machine m;
    const auto ignore = [](const change&) {};
    const thread_id a = m.add_thread(thread_kind::dedicated, m.add_task({0, 1}));
    m.enter_scope(a);
    m.announce(a, allot::memory_kind::host, 10, ignore);
    m.step(a, event::failed, ignore);
    REQUIRE(m[a].alone);
    m.never_fits(a, allot::memory_kind::host, 1000, ignore); // another request: that one was granted
    CHECK(m[a].state == thread_state::split_throw);
    CHECK(m.valid());
}

TEST_CASE("a request that is let pass while it is alone does not try for ever", "[oom]") {
    machine m;
    const auto ignore = [](const change&) {};
    const thread_id a = m.add_thread(thread_kind::dedicated, m.add_task({0, 1}));
    m.enter_scope(a);
    const auto fails = [&](std::uint8_t why) {
        m.announce(a, allot::memory_kind::host, 10, ignore);
        m.fail(a, why, ignore);
        return m[a].state;
    };
    CHECK(fails(0) == thread_state::running);                                    // it tries alone
    CHECK(fails(allot::oom::detail::failed_held_back) == thread_state::running); // it passes one that is due
    CHECK(fails(0) == thread_state::bufn_throw);                                 // and is refused elsewhere
}
