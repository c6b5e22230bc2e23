"""Bugs of rows that move: compaction, resize, row arrays."""
from .bug import bug, wait

BUGS = {
    "row_moves_while_shared": bug(
        "unit/row/compaction.cpp",
        "if ((now & link_word::link_bits) != 1) return row_moves::shared;",
        "",
        law=11),
    "object_is_moved_as_bytes": bug(
        "unit/row/compaction.cpp",
        "if (is_object) type->relocate(to, row);",
        "",
        law=11),
    "array_evicts_rows_to_hold_more": bug(
        "unit/row/row_array.cpp",
        "if (grower_.load(std::memory_order_relaxed) == detail::sys::thread_token()) return exclusive_view(*this, {});",
        "",
        law=5),
    "array_counts_a_row_before_it_is_there": bug(
        "threads/moving.cpp",
        "slots_[at] = row; end_.store(at + 1, std::memory_order_release);",
        "end_.store(at + 1, std::memory_order_release); " + wait(64, 20) + "slots_[at] = row;",
        law=11),
    "dead_row_without_count_moves": bug(
        "unit/row/dead_rows.cpp",
        "is_emptied && can_move<true>(p, row, manager) == row_moves::yes",
        "is_emptied && can_move(p, row, manager) == row_moves::yes",
        law=11),
    "sealed_row_that_was_changed_moves": bug(
        "unit/row/compaction.cpp",
        "return !heap_of(p).is_intact(row) || !is_seal_intact(p, row);",
        "return !heap_of(p).is_intact(row);",
        law=11),
}
