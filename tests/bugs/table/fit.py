"""Bugs of finding a free run: best fit, its sizes and its addresses."""
from .bug import bug

BUGS = {
    "slot_given_back_twice": bug(
        "unit/fit/slabs.cpp",
        "if (!table_.has_slot(x, address)) return 0;",
        "",
        law=7, smoke=True),
}
