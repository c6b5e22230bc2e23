"""Bugs of buffers: who is charged, views, reservations, vectors."""
from .bug import bug

BUGS = {
    "lent_block_leaves_the_tree": bug(
        "unit/buffer/drill.cpp",
        "return_to(lender.node(), charged.node(), m.bytes);",
        "charged.refund(m.bytes);",
        law=1),
    "buffer_memory_kept_by_a_refused_request": bug(
        "unit/buffer/buffers.cpp",
        "from_.give(std::exchange(taken_, {}));",
        "taken_ = {};",
        law=2),
    "try_transfer_exceeds_limits": bug(
        "threads/buffers.cpp",
        "forced ? move(from.node(), to.node(), bytes, charge_mode::forced) : move_or_climb(from.node(), to.node(), bytes)",
        "move(from.node(), to.node(), bytes, charge_mode::forced)",
        law=1),
}
