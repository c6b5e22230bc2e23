"""Bugs of rows that move: compaction, resize, row arrays."""
from .bug import bug, wait

BUGS = {
    "row_moves_while_shared": bug(
        "unit/row/compaction.cpp",
        "if ((now & link_word::link_bits) != 1) return row_moves::shared;",
        "",
        law=11),
    "pinned_type_moves": bug(
        "unit/row/compaction.cpp",
        "return moves ? row_moves::yes : row_moves::pinned;",
        "return row_moves::yes;",
        law=11),
    "rows_of_other_managers_move": bug(
        "unit/row/compaction.cpp",
        "if (context_of(p).manager != manager || !is_start(p, row)) return row_moves::not_live;",
        "if (!is_start(p, row)) return row_moves::not_live;",
        law=11),
    "damaged_row_moves": bug(
        "unit/row/compaction.cpp",
        "return !heap_of(p).is_intact(row) || !is_seal_intact(p, row);",
        "return !is_seal_intact(p, row);",
        law=11),
    "row_of_another_manager_is_taken_for_dead": bug(
        "death/moving.cpp",
        "if (s.is_of_other) return is_misuse(misuse::foreign_pointer);",
        "",
        law=7),
    "object_is_moved_as_bytes": bug(
        "unit/row/compaction.cpp",
        "if (is_object) type->relocate(to, row);",
        "",
        law=11),
    "declined_resize_keeps_its_pages": bug(
        "unit/row/resize.cpp",
        "moved ? huge.drop_old(to) : huge.give_up(to);",
        "if (moved) huge.drop_old(to);",
        law=2),
    "array_evicts_rows_to_hold_more": bug(
        "unit/row/row_array.cpp",
        "if (grower_.load(std::memory_order_relaxed) == sys::thread_token()) return exclusive_view(*this, {});",
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
    "free_slots_in_caches_count_as_live": bug(
        "unit/row/dead_rows.cpp",
        "caches_.visit_cached([&](page& p, std::byte* slot) { live.remove(p.number, p.index(slot)); });",
        "",
        law=11),
}
