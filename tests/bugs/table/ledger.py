"""Bugs of accounts and ledgers: limits, refunds, listeners, closing."""
from .bug import bug

BUGS = {
    "ledger_adds_then_checks": bug(
        "conform/ledger.cpp",
        "std::size_t used = used_.load(std::memory_order_relaxed); do {",
        """std::size_t used = used_.fetch_add(bytes, std::memory_order_relaxed);
        if (used + bytes <= limit_.load(std::memory_order_relaxed)) return true;
        used_.fetch_sub(bytes, std::memory_order_relaxed);
        return false;
        do {""",
        law=1, smoke=True),
    "account_room_taken_in_two_steps": bug(
        "model/relacy_accounts.cpp",
        "while (ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, credit_word{now}.after_charge(bytes).bits, std::memory_order_relaxed)));",
        "while (false); word_.store(credit_word{now}.after_charge(bytes).bits, std::memory_order_relaxed);",
        law=1),
    "account_asks_no_level_above": bug(
        "model/accounts.cpp",
        "more = n->totals_.subtree_charge_with(more) - n->totals_.subtree_charge();",
        "more = 0;",
        within="check_levels", law=1),
    "account_peak_knows_what_is_held": bug(
        "unit/account/account.cpp",
        "return total_ - held_; }",
        "return total_; }",
        law=2),
    "account_refund_not_noted": bug(
        "model/relacy_accounts.cpp",
        "if (!node.has_deferred_.exchange(true, std::memory_order_acq_rel)) deferred_.push(&node);",
        "if (false) deferred_.push(&node);",
        law=2),
    "account_granted_by_a_store": bug(
        "model/relacy_accounts.cpp",
        "if (word_.compare_exchange_strong(from.bits, credit_word::of(from.credit() + more - bytes, open).bits, "
        "std::memory_order_relaxed))",
        "word_.store(credit_word::of(from.credit() + more - bytes, open).bits, std::memory_order_relaxed);",
        law=1),
    "credit_stays_below_a_closed_account": bug(
        "model/relacy_accounts.cpp",
        "n.close_credit();",
        "",
        within="refuse_charges", law=1),
    "last_refund_wakes_no_close": bug(
        "unit/account/closing.cpp",
        "if (a.life.is_drain_awaited()) a.tree().wake_watches(); if (!a.life.ends_by_itself()) return;",
        "if (!a.life.ends_by_itself()) return;",
        law=4),
}
