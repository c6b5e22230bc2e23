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
    "block_that_comes_back_counts_twice": bug(
        "model/quotas.cpp",
        "if (at == nullptr) return false; at_top +=",
        "if (at == nullptr || missing != 0) return false; at_top +=",
        law=1),
    "what_is_owed_is_lent_to_others": bug(
        "unit/buffer/drill.cpp",
        "down -= min(down, owed_to_others(from, to, bytes));",
        ";",
        law=1),
}
