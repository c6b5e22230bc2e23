"""Bugs of traces and peaks."""
from .bug import bug, wait

BUGS = {
    "trace_reader_does_not_look_again": bug(
        "unit/report/trace.cpp",
        "event.held = e.held.load",
        wait(3, 300) + "event.held = e.held.load",
        "if (e.turn.load(std::memory_order_relaxed) == 2 * number + 2) visit(event);",
        "visit(event);"),
    "trace_writer_takes_an_entry_in_use": bug(
        "unit/report/trace.cpp",
        "e.held.store(held,",
        wait(3, 300) + "e.held.store(held,",
        "turn % 2 != 0 || turn > 2 * number ||",
        "(turn & 0) != 0 ||"),
    "peak_snapshot_never_renewed": bug(
        "unit/row/by_type.cpp",
        "next_.store(held + held / 16",
        "next_.store(held * 16"),
}
