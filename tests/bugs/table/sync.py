"""Bugs of locks, stacks, lanes, atomics with a scope."""
from .bug import bug, wait

BUGS = {
    "lock_taken_in_two_steps": bug(
        "threads/sync.cpp",
        "held_.exchange(1, std::memory_order_acquire) == 0;",
        "([]" + wait(512, 20) + "(), held_.store(1, std::memory_order_relaxed), true);",
        law=2),
    "stack_pushed_in_two_steps": bug(
        "threads/sync.cpp",
        "while (!head_.compare_exchange_weak(head, node, std::memory_order_release, std::memory_order_relaxed));",
        "while (false);" + wait(512, 20) + "head_.store(node);",
        law=2),
    "lanes_of_all_counters_counted": bug(
        "threads/lanes.cpp",
        "lanes.match(lanes.active(), reinterpret_cast<std::uintptr_t>(&counter));",
        "lanes.active();",
        law=2),
    "lanes_go_on_before_all_have_read": bug(
        "threads/lanes.cpp",
        "arrive(lane, group, false);",
        "",
        law=2),
}
