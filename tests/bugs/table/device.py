"""Bugs of the simulated device: what it would no longer find."""
from .bug import bug

BUGS = {
    "event_stands_for_nothing": bug(
        "unit/device/ordering.cpp",
        "e->clock = s->clock;",
        "",
        law=7),
    "every_seed_is_the_same": bug(
        "unit/device/execution.cpp",
        "random_{options.seed}",
        "random_{1}",
        law=9),
    "device_handle_kept_where_mapping_failed": bug(
        "unit/device/map_new.cpp",
        "auto done = mapped;",
        "if (!mapped) return mapped; auto done = mapped;",
        law=2),
    "simulators_share_a_hidden_count": bug(
        "unit/device/execution.cpp",
        "random_{options.seed}",
        "random_{options.seed + [] { static unsigned made = 0; return ++made; }()}",
        law=9, smoke=True),
}
