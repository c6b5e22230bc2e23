"""Bugs of buffers: who is charged, views, reservations, vectors."""
from .bug import bug, wait

BUGS = {
    "block_of_two_accounts_ends_without_the_lock": bug(
        "threads/buffers.cpp",
        "&& !l.block->was_shared",
        ""),
    "buffer_view_added_to_a_dead_ledger": bug(
        "threads/buffers.cpp",
        "while (n != 0) if (views",
        "for (;;) if (views",
        "b.lock.lock(); while (b.charged == &mine) {",
        wait(8, 20) + "b.lock.lock(); while (b.charged == &mine) {"),
    "buffer_comes_to_an_account_that_has_ended": bug(
        "threads/buffers.cpp",
        "if (!by.count_if_open(counted::buffers)) return delete fresh, nullptr;",
        wait(3, 30) + "by.count(counted::buffers, 1);"),
    "buffer_counts_down_with_its_lock_held": bug(
        "unit/buffer/owners.cpp",
        "else { b.lock.unlock(); } from.count(counted::buffers, -1);",
        "else { from.count(counted::buffers, -1); return b.lock.unlock(), true; } from.count(counted::buffers, -1);"),
    "buffer_charged_by_what_was_asked": bug(
        "unit/buffer/buffers.cpp",
        "const charge_status s = by.try_charge(m.bytes);",
        "const charge_status s = by.try_charge(bytes);"),
    "buffer_memory_kept_by_a_refused_request": bug(
        "unit/buffer/buffers.cpp",
        "return undo_take(m, s), buffer{};",
        "return buffer{};"),
    "buffer_slice_bound_wraps": bug(
        "unit/buffer/value_vectors.cpp",
        "if (ALLOT_UNLIKELY(bytes > size_ || offset > size_ - bytes)) return outside(offset);",
        "if (ALLOT_UNLIKELY(offset + bytes > size_)) return outside(offset);"),
    "host_without_memory_is_a_closed_account": bug(
        "fault/buffers.cpp",
        "return closed.fitted() ? detail::no_memory(block_bytes()) : closed;",
        "return closed;"),
    "vector_reads_beyond_itself_in_its_buffer": bug(
        "death/buffers.cpp",
        "return check(i), values_.",
        "return values_."),
    "refused_transfer_keeps_its_receiver": bug(
        "unit/buffer/try_transfer.cpp",
        "l.by = &from; end_move(b, from, status);",
        "end_move(b, from, status);"),
    "try_transfer_exceeds_limits": bug(
        "threads/buffers.cpp",
        "forced ? account::transfer(from, to, bytes) : account::try_transfer(from, to, bytes)",
        "account::transfer(from, to, bytes)"),
}
