"""Bugs of stores: objects that leave memory, and come back."""
from .bug import bug

BUGS = {
    "pinned_object_leaves": bug(
        "unit/spill/store.cpp",
        "if (how > leave_step::failed && e.pins == 0) step(e, event::written)",
        "if (how > leave_step::failed) step(e, event::written)",
        law=11),
    "change_does_not_wait_for_a_write": bug(
        "unit/spill/store.cpp",
        "while (e.state == state::leaving) wait_for_mover(e);",
        "",
        law=11),
    "write_holds_up_other_requests": bug(
        "unit/spill/store.cpp",
        "const auto begins = [&](std::size_t bytes) { comes(bytes), s.let_others_go_on(); };",
        "const auto begins = [&](std::size_t bytes) { comes(bytes); };",
        law=4),
    "pin_waits_for_memory_while_it_reads": bug(
        "unit/spill/store.cpp",
        "object* const made = e.restore(e.kept, pin_request{to}, why);",
        "object* const made = e.restore(e.kept, pin_request{to, nullptr}, why);",
        law=4),
    "failed_write_is_tried_for_ever": bug(
        "model/store.cpp",
        "mine = backoff_.next(mine, room);",
        "static_cast<void>(room);",
        law=4),
    "pin_sleeps_though_another_brought_the_object_back": bug(
        "unit/spill/store.cpp",
        "waits_.made(e);",
        "",
        law=2),
    "others_leave_for_a_query_at_its_own_limit": bug(
        "unit/spill/store.cpp",
        "return !by.life.is_closed() && (f.at == nullptr || by.is_charged_below(f.at->node()));",
        "return !by.life.is_closed();",
        law=2),
    "damaged_extent_is_not_found": bug(
        "unit/spill/store/extent_file.cpp",
        "for (; s && i != last; at += from_[i++].stored) s = of_.verify(from_[i], at);",
        "for (; s && i != last; at += from_[i++].stored) {}",
        law=7),
    "stale_space_exceeds_the_disks_limit": bug(
        "unit/spill/store/file_space.cpp",
        "punch_for(bytes, limit);",
        "",
        law=1),
    "extent_in_use_is_used_again": bug(
        "unit/spill/store/extent_file.cpp",
        "if (o.list->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) {",
        "if (o.list->shares.fetch_sub(1, std::memory_order_acq_rel) != 0) {",
        law=11, smoke=True),
    "staging_buffer_wakes_nobody": bug(
        "threads/spill_files.cpp",
        "free_.notify_one();",
        "",
        law=4),
}
