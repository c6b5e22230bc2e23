"""Bugs of free slots of a page: bitmaps, lists, scanning, tallies, the state of a page."""
from .bug import bug, wait

BUGS = {
    "slot_start_is_not_checked": bug(
        "conform/wrong_addresses.cpp",
        "return offset_of(index_of(offset)) == offset;",
        "return true;",
        law=7),
    "given_back_without_listed_flag": bug(
        "model/rows.cpp",
        "now |= (list ? listed : 0) | (note ? noted : 0);",
        "now |= (note ? noted : 0);",
        law=3),
    "given_back_in_two_steps": bug(
        "unit/slots/state.cpp",
        "if (word_.compare_exchange_weak(was, now, std::memory_order_acq_rel, std::memory_order_acquire))",
        wait(64, 20) + "word_.store(now);",
        law=3),
    "summary_bit_not_set_again": bug(
        "conform/slots.cpp",
        "if (bits != 0) add_locked(at, bits);",
        "",
        law=3),
    "hint_cleared_after_the_look": bug(
        "conform/slots.cpp",
        "hints_[cursor_].fetch_and(~(some & (0 - some)));",
        "",
        "got += scan(page, cut, at_ + group, out + got, n - got);",
        "got += scan(page, cut, at_ + group, out + got, n - got);" + wait(3, 300) + "hints_[cursor_].fetch_and(~(some & (0 - some)));",
        law=3),
}
