"""Bugs of executors and quotas: tasks that start when their memory is there."""
from .bug import bug

BUGS = {
    "floor_in_use_is_given_away": bug(
        "unit/account/reservations.cpp",
        "then = totals.subtree_charge_of(need.after);",
        "then = need.after;",
        law=1),
    "promised_bytes_are_not_reserved": bug(
        "unit/task/executor.cpp",
        "t.of.memory.reserve_for(needs, time_span{0}).swap(sure);\n        if (sure) return true;",
        "return true;",
        law=1),
    "executor_hears_of_no_free_memory": bug(
        "unit/task/executor.cpp",
        "if (looks_at != 0) look.emplace(memory_, looks_at, me.spot);",
        "",
        law=4),
}
