"""Bugs of accounts and ledgers: limits, refunds, listeners, closing."""
from .bug import bug, wait

BUGS = {
    "ledger_adds_then_checks": bug(
        "conform/ledger.cpp",
        "std::size_t used = used_.load(std::memory_order_relaxed); do {",
        """std::size_t used = used_.fetch_add(bytes, std::memory_order_relaxed);
        if (used + bytes <= limit_.load(std::memory_order_relaxed)) return true;
        used_.fetch_sub(bytes, std::memory_order_relaxed);
        return false;
        do {"""),
    "account_room_taken_in_two_steps": bug(
        "threads/accounts.cpp",
        "while (ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, word{now}.taken(bytes).bits, std::memory_order_relaxed)));",
        "while (false);" + wait(512, 20) + "word_.store(word{now}.taken(bytes).bits, std::memory_order_relaxed);"),
    "account_asks_no_level_above": bug(
        "model/accounts.cpp",
        "for (const account* a = at; a != end && more != 0; a = a->parent_) {",
        "for (const account* a = at; a != end && more != 0; a = end) {"),
    "listener_called_inside_a_call": bug(
        "unit/ledger/listeners.cpp",
        "if ((quiet = root.calls_on(thread))) return;",
        ""),
    "account_waits_for_itself_in_a_call": bug(
        "unit/ledger/listeners.cpp",
        "if (tree_.root.is_inside_a_call(sys::thread_token())) return false;",
        ""),
    "account_peak_knows_what_is_held": bug(
        "unit/ledger/account.cpp",
        "return total_ - pending_; }",
        "return total_; }"),
    "account_keeps_room_beyond_its_limit": bug(
        "unit/ledger/account.cpp",
        "if (total_ > bytes) tree.root.call_in(*this, true);",
        ""),
    "account_ends_before_its_views": bug(
        "unit/ledger/closing.cpp",
        "items_.empty() && all_counted_down(); }",
        "items_.empty(); }"),
    "account_of_one_thread_used_by_two": bug(
        "death/accounts.cpp",
        "by_its_thread();",
        "",
        within="give_room"),
    "cancelled_and_nobody_hears": bug(
        "unit/ledger/held.cpp",
        "give_back_told(\"cancel\", bytes, [&] { cancel_now(bytes); }, [] {});",
        "cancel_now(bytes);"),
}
