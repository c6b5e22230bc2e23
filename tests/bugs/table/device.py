"""Bugs of the simulated device: what it would no longer find."""
from .bug import bug

BUGS = {
    "event_stands_for_nothing": bug(
        "unit/device/ordering.cpp",
        "e->clock = s->clock;",
        ""),
    "nobody_waits_for_the_legacy_stream": bug(
        "unit/device/ordering.cpp",
        "s.clock.join(legacy.clock);",
        ""),
    "pool_hides_a_missing_wait": bug(
        "unit/device/memory.cpp",
        "if (!clock.knows(b.freed.who, b.freed.when)) continue;",
        ""),
    "unmap_asks_nobody": bug(
        "unit/device/virtual_memory.cpp",
        "if (reported || host_clock_.knows(u.who, u.when)) return;",
        "return;"),
    "refused_call_leaves_the_capture_valid": bug(
        "unit/device/capture.cpp",
        "c.invalid = refused = true;",
        "refused = true;"),
    "failure_comes_one_call_late": bug(
        "unit/device/faults.cpp",
        "if (e.plan.nth > 1) --e.plan.nth;",
        "if (e.plan.nth-- > 0) ;"),
    "every_seed_is_the_same": bug(
        "unit/device/execution.cpp",
        "random_{options.seed}",
        "random_{1}"),
    "device_handle_kept_where_mapping_failed": bug(
        "unit/device/map_new.cpp",
        "auto done = mapped;",
        "if (!mapped) return mapped; auto done = mapped;"),
    "reader_replaces_one_nobody_waited_for": bug(
        "model/device.cpp",
        "if (!was_read || clock.knows(read.who, read.when)) {",
        "if (!was_read || other_reads.empty()) {"),
    "simulators_share_a_hidden_count": bug(
        "unit/device/execution.cpp",
        "random_{options.seed}",
        "random_{options.seed + [] { static unsigned made = 0; return ++made; }()}"),
}
