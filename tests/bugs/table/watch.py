"""Bugs of traces and peaks."""
from .bug import bug, wait

BUGS = {
    "trace_reader_does_not_look_again": bug(
        "unit/report/trace.cpp",
        "event.held = e.held.load",
        wait(3, 300) + "event.held = e.held.load",
        "if (e.turn.load(std::memory_order_relaxed) == 2 * number + 2) visit(event);",
        "visit(event);",
        law=3),
}
