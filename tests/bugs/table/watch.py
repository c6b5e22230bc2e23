"""Bugs of traces and peaks."""
from .windows import wait

BUGS = {
    "trace_reader_does_not_look_again": (
        "unit/report/trace.cpp", "watch/event_ring.hpp",
        "#include <allot/sys/thread.hpp>\n", "#include <allot/sys/thread.hpp>\n#include <allot/sync/pause.hpp>\n",
        "            event.held = e.held.load", f"            {wait(3, 300)}\n            event.held = e.held.load",
        "if (e.turn.load(std::memory_order_relaxed) == 2 * number + 2) visit(event);", "visit(event);"),
    "trace_writer_takes_an_entry_in_use": (
        "unit/report/trace.cpp", "watch/event_ring.hpp",
        "#include <allot/sys/thread.hpp>\n", "#include <allot/sys/thread.hpp>\n#include <allot/sync/pause.hpp>\n",
        "        e.held.store(held,", f"        {wait(3, 300)}\n        e.held.store(held,",
        "turn % 2 != 0 || turn > 2 * number ||", "(turn & 0) != 0 ||"),
    "peak_snapshot_never_renewed": (
        "unit/row/by_type.cpp", "watch/peak_recorder.hpp", "next_.store(held + held / 16", "next_.store(held * 16"),
}
