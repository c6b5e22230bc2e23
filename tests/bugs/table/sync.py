"""Bugs of locks, stacks, lanes, atomics with a scope."""
from .windows import wait

BUGS = {
    "lanes_led_by_the_first_of_all": (
        "threads/lanes.cpp", "sync/aggregated_bump.hpp", "leader = leader_of(group);", "leader = 0;"),
    "lanes_numbered_from_one": (
        "threads/lanes.cpp", "sync/lanes.hpp", "((lane_mask{1} << lane) - 1)", "((lane_mask{2} << lane) - 1)"),
    "lanes_of_all_counters_counted": (
        "threads/lanes.cpp", "sync/aggregated_bump.hpp",
        "lanes.match(lanes.active(), reinterpret_cast<std::uintptr_t>(&counter));", "lanes.active();"),
    "lanes_each_count_alone": (
        "threads/lanes.cpp", "sync/aggregated_bump.hpp", "if (lanes.lane() == leader) first", "first"),
    "lanes_go_on_before_all_have_read": (
        "threads/lanes.cpp", "sync/lanes_simulated.hpp", "        arrive(lane, group, false); // all have read\n", ""),
    "lanes_meet_whoever_comes": (
        "threads/lanes.cpp", "sync/lanes_simulated.hpp", "return its - mine < 1U << 31;", "return its != 0 || mine == 0;"),
    "scoped_min_takes_unsigned": (
        "unit/sync/scoped_atomic.cpp", "sync/scoped_atomic.hpp",
        "return change([=](T was) { return value < was ? value : was; }, order);",
        "return change([=](T was) { return bits(value) < bits(was) ? value : was; }, order);"),
    "scoped_exchange_keeps_what_was_expected": (
        "unit/sync/scoped_atomic.cpp", "sync/scoped_atomic.hpp", "(same ? *word_ : expected) = same ? value : *word_;", "if (same) *word_ = value;"),
    "lock_taken_in_two_steps": (
        "threads/sync.cpp", "sync/spin_lock.hpp",
        "held_.exchange(1, std::memory_order_acquire) == 0;", f"([] {wait(512, 20)}(), held_.store(1, std::memory_order_relaxed), true);"),
    "stack_pushed_in_two_steps": (
        "threads/sync.cpp", "sync/mpsc_stack.hpp",
        "#include <allot/config.hpp>\n", "#include <allot/config.hpp>\n#include <allot/sync/pause.hpp>\n",
        "while (!head_.compare_exchange_weak(head, node, std::memory_order_release, std::memory_order_relaxed));",
        f"while (false);\n        {wait(512, 20)}\n        head_.store(node);"),
}
