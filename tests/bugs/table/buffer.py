"""Bugs of buffers: who is charged, views, reservations, vectors."""
from .bug import bug

BUGS = {
    "buffer_counts_down_with_its_lock_held": bug(
        "unit/buffer/owners.cpp",
        "else { b.lock.unlock(); } from.count(counted::buffers, -1);",
        "else { from.count(counted::buffers, -1); return b.lock.unlock(), true; } from.count(counted::buffers, -1);",
        law=5),
    "buffer_charged_by_what_was_asked": bug(
        "unit/buffer/buffers.cpp",
        "lender == nullptr ? try_charge(by.node(), m.bytes, most)",
        "lender == nullptr ? try_charge(by.node(), bytes, most)",
        law=1),
    "lent_block_leaves_the_tree": bug(
        "unit/buffer/drill.cpp",
        "return_to(from.lender_to(charged)->node(), charged.node(), m.bytes);",
        "charged.refund(m.bytes);",
        law=1),
    "buffer_memory_kept_by_a_refused_request": bug(
        "unit/buffer/buffers.cpp",
        "return undo_take(from, m, s), raw_view{};",
        "return raw_view{};",
        law=2),
    "try_transfer_exceeds_limits": bug(
        "threads/buffers.cpp",
        "forced ? account::transfer(from, to, bytes) : account::try_transfer(from, to, bytes)",
        "account::transfer(from, to, bytes)",
        law=1),
}
