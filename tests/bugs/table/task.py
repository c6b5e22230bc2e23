"""Bugs of executors and quotas: tasks that start when their memory is there."""
from .bug import bug

BUGS = {
    "floor_in_use_is_given_away": bug(
        "unit/account/reservations.cpp",
        "if (!found.charged()) { // what the account uses of these bytes stays charged",
        "if (false) {",
        law=1),
    "promised_bytes_are_not_reserved": bug(
        "unit/task/executor.cpp",
        "t.of.memory.reserve_for(needs, time_span{0}).swap(sure);\n        if (sure) return true;",
        "return true;",
        law=1),
    "executor_hears_of_no_free_memory": bug(
        "unit/task/executor.cpp",
        "if (missing != 0) look_again_at(detail::sum_or_max(memory_.headroom(), missing));",
        "",
        law=4),
}
