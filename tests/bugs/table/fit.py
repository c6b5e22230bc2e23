"""Bugs of finding a free run: best fit, its sizes and its addresses."""
from .bug import bug

BUGS = {
    "slot_given_back_twice": bug(
        "unit/fit/slabs.cpp",
        "if (!table_.has_slot(x, address)) return 0;",
        "",
        law=7),
    "fit_changes_before_it_has_metadata": bug(
        "unit/fit/best_metadata.cpp",
        "if (!space_.prepare(1)) return false; live_units_ -= nodes()[x].units - units;",
        "live_units_ -= nodes()[x].units - units; if (!space_.prepare(1)) return false;",
        law=2),
}
