"""Bugs of finding a free run: best fit, its sizes and its addresses."""
from .bug import bug

BUGS = {
    "buddy_forgets_to_join": bug(
        "conform/fit.cpp",
        "while (p.order != t.top && t.is_free(p.order, p.index ^ 1)) {",
        "while (false && t.is_free(p.order, p.index ^ 1)) {"),
    "buddy_gives_a_range_in_use": bug(
        "unit/fit/buddy.cpp",
        "if (!trees_[t].is_free(trees_[t].top, 0)) return false;",
        ""),
    "slot_given_back_twice": bug(
        "unit/fit/slabs.cpp",
        "if (!table_.has_slot(x, address)) return 0;",
        ""),
    "fit_changes_before_it_has_metadata": bug(
        "unit/fit/best_metadata.cpp",
        "if (!space_.prepare(1)) return false; live_units_ -= nodes()[x].units - units;",
        "live_units_ -= nodes()[x].units - units; if (!space_.prepare(1)) return false;"),
    "fit_orders_by_size_alone": bug(
        "unit/fit/best_model.cpp",
        "(a.units < units) | ((a.units == units) & (a.address < address))",
        "a.units < units"),
    "fit_joins_whatever_the_tags": bug(
        "unit/fit/best_tags.cpp",
        "other.is_free() && Tag::may_join(other.tag, tag) &&",
        "other.is_free() &&"),
}
