"""Bugs of the simulated device: what it would no longer find."""
from .bug import bug

BUGS = {
    "simulators_share_a_hidden_count": bug(
        "unit/device/execution.cpp",
        "random_{options.seed}",
        "random_{options.seed + [] { static unsigned made = 0; return ++made; }()}",
        law=9, smoke=True),
}
