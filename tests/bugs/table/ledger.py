"""Bugs of accounts and ledgers: limits, refunds, listeners, closing."""
from .bug import bug

BUGS = {
    "hopeless_request_asks": bug(
        "threads/idle_memory.cpp",
        "return why.at->can_ever_fit(why.requested) ? why.at : nullptr;",
        "return why.at;"),
    "pages_spill_what_others_use": bug(
        "unit/account/reclaimers.cpp",
        "reclaim_for(detail::last_refusal, reclaimer::idle, request, &idle_)",
        "reclaim_for(detail::last_refusal, UINT32_MAX, request, &idle_)"),
    "refused_by_another_level_in_the_end": bug(
        "unit/account/reclaimers.cpp",
        "return static_cast<const tree_node*>(home)->is_below(at_);",
        "return home != nullptr;"),
    "request_for_pages_asks_nobody": bug(
        "threads/idle_memory.cpp",
        "if (ledger_.serve_idle(again)) return got;",
        ";"),
    "ledger_adds_then_checks": bug(
        "conform/ledger.cpp",
        "std::size_t used = used_.load(std::memory_order_relaxed); do {",
        """std::size_t used = used_.fetch_add(bytes, std::memory_order_relaxed);
        if (used + bytes <= limit_.load(std::memory_order_relaxed)) return true;
        used_.fetch_sub(bytes, std::memory_order_relaxed);
        return false;
        do {"""),
    "account_room_taken_in_two_steps": bug(
        "model/relacy_accounts.cpp",
        "while (ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, credit_word{now}.after_charge(bytes).bits, std::memory_order_relaxed)));",
        "while (false); word_.store(credit_word{now}.after_charge(bytes).bits, std::memory_order_relaxed);"),
    "account_asks_no_level_above": bug(
        "model/accounts.cpp",
        "more = n->totals_.subtree_charge_with(more) - n->totals_.subtree_charge();",
        "more = 0;",
        within="check_levels"),
    "listener_called_inside_a_call": bug(
        "unit/account/listeners.cpp",
        "if (user_call::is_inside_listener()) return;",
        ""),
    "account_ends_under_a_call_about_it": bug(
        "unit/account/listeners.cpp",
        "if (!open) count_at(detail::open_counts::users, 1), life_.leave_refund();",
        "if (!open) life_.leave_refund();",
        "else count_at(detail::open_counts::users, -1);",
        ""),
    "close_waits_for_no_call": bug(
        "unit/account/listeners.cpp",
        "notify(*this, [&](account_listener& l) { l.released(*this, bytes); }, open ? this : nullptr); if (open) life_.leave_refund();",
        "if (open) life_.leave_refund(); notify(*this, [&](account_listener& l) { l.released(*this, bytes); }, nullptr); if (open) {}"),
    "credit_listed_at_one_level": bug(
        "unit/account/credit_step.cpp",
        "listed = n->parent_->leads_to_credit();",
        "listed = true;"),
    "credit_recalled_elsewhere": bug(
        "unit/account/credit_step.cpp",
        "const account_tree::recalled r = tree_.recall_some(limiting);",
        "tree_node* top = &limiting; while (top->parent() != nullptr) top = top->parent();"
        "const account_tree::recalled r = tree_.recall_some(*top);"),
    "account_waits_for_itself_in_a_call": bug(
        "unit/account/listeners.cpp",
        "if (user_call::is_inside_listener()) return false;",
        ""),
    "account_peak_knows_what_is_held": bug(
        "unit/account/account.cpp",
        "return total_ - held_; }",
        "return total_; }"),
    "account_keeps_room_beyond_its_limit": bug(
        "unit/account/account.cpp",
        "if (totals().total() > bytes) scope.tree.recall_credit(*this);",
        ""),
    "account_ends_before_its_views": bug(
        "unit/account/closing.cpp",
        "items_.empty() && life_.counts().none();",
        "items_.empty();"),
    "cancelled_and_nobody_hears": bug(
        "unit/account/held.cpp",
        "return_and_notify(\"cancel\", bytes, now, [] {});",
        "now();"),
    "account_refund_not_noted": bug(
        "model/relacy_accounts.cpp",
        "if (!node.has_deferred_.exchange(true, std::memory_order_acq_rel)) deferred_.push(&node);",
        "if (false) deferred_.push(&node);"),
    "account_granted_by_a_store": bug(
        "model/relacy_accounts.cpp",
        "if (word_.compare_exchange_strong(from.bits, credit_word::of(from.credit() + more - bytes, open).bits, "
        "std::memory_order_relaxed))",
        "word_.store(credit_word::of(from.credit() + more - bytes, open).bits, std::memory_order_relaxed);"),
    "account_refusal_is_not_noted": bug(
        "unit/row/refusals.cpp",
        "if (ALLOT_UNLIKELY(!s)) detail::note_refusal(s);",
        ""),
    "limit_names_nobody": bug(
        "unit/row/refusals.cpp",
        "bytes, used, limit, name_});",
        "bytes, used, limit});"),
    "account_closes_without_those_below": bug(
        "unit/account/closed_above.cpp",
        "if (account& a = *of(&n); a.is_open()) a.set_closed_by(*this);",
        "if (&n == this) set_closed_by(*this);",
        within="refuse_charges"),
    "credit_stays_below_a_closed_account": bug(
        "model/relacy_accounts.cpp",
        "n.close_credit();",
        "",
        within="refuse_charges"),
    "account_named_after_its_end": bug(
        "unit/account/closed_above.cpp",
        "if (ALLOT_LIKELY(life_.named_below() == 0) || this == &root()) return;",
        "return;"),
    "reservation_uses_up_another": bug(
        "unit/account/reservations.cpp",
        "totals().reserved() - gone.bytes_ + stays",
        "totals().reserved() - gone.bytes_"),
}
