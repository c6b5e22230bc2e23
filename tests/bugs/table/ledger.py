"""Bugs of accounts and ledgers: limits, refunds, listeners, closing."""
from .windows import wait

BUGS = {
    "account_ends_under_its_last_child": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp",
        "    account* const above = keep_parent(); // it may", "    account* const above = parent_; // it may",
        "    if (above != nullptr) above->count_in(moves, -1); // the last access to the tree\n", "",
        "    { const hold tree(*this, false); } // what", "    { const hold tree(*this); } // what"),
    "parent_ends_before_its_child_is_told": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp",
        "    account* const above = keep_parent();\n    close();\n", "    account* const above = nullptr;\n    close();\n"),
    "closed_account_reserves_again": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp", "reserved_ = first_reserved_ = 0;", "reserved_ = 0;"),
    "longest_wait_is_none": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp", "(most.ms < longest ? most.ms : longest)", "most.ms"),
    "held_bytes_of_a_closed_account_come_back": (
        "unit/ledger/held.cpp", "ledger/account_climb.hpp", "    return pending_;\n", "    return bytes;\n"),
    "reservation_of_a_child_refused_for_what_is_held": (
        "unit/ledger/held.cpp", "ledger/account_close.hpp", "if (found.only_pending() && !root_->is_inside", "if (false && !root_->is_inside"),
    "forced_waits_for_what_is_held": (
        "unit/ledger/held.cpp", "ledger/account_hold.hpp", "        } else if (found.only_pending() && wait()) {", "        }\n        if (found.only_pending() && wait()) {"),
    "cancelled_and_nobody_hears": (
        "unit/ledger/held.cpp", "ledger/account_calls.hpp", "    give_back_told(\"cancel\", bytes, [&] { cancel_now(bytes); }, [] {});\n", "    cancel_now(bytes);\n"),
    "more_kept_than_charged": (
        "unit/ledger/account.cpp", "ledger/account_climb.hpp",
        "    if (const std::size_t kept = keep_.load(std::memory_order_relaxed); kept > own()) keep_at_most(kept);\n", ""),
    "added_again_in_a_call_and_forgotten": (
        "unit/ledger/listeners.cpp", "ledger/account_calls.hpp",
        "    if (listener.home_ == this) listener.gone_ = false; // taken off in a call that is under way\n", ""),
    "account_of_one_thread_does_not_close": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp",
        "    if (one_thread_) shut_.store(true, std::memory_order_relaxed);\n    else take_back(true, false);\n}\ninline std::uint32_t",
        "    if (!one_thread_) take_back(true, false);\n}\ninline std::uint32_t"),
    "account_forgets_a_peak_whose_refund_waited": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "    note_peak(from.room() + want - bytes);\n", "",
        "    const bool open = mode != how::held && may_open();\n",
        "    " + wait(16, 20) + "\n    const bool open = mode != how::held && may_open();\n"),
    "account_has_more_room_than_charges": (
        "threads/accounts.cpp", "ledger/account_climb.hpp", "while (ALLOT_UNLIKELY(w.room() > own()))", "while (false)"),
    "account_holder_in_a_call_waits_for_who_waits": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "if (mode == how::held && !tree.root.is_inside_a_call(sys::thread_token()))", "if (mode == how::held)"),
    "account_asks_no_level_above": (
        "model/accounts.cpp", "ledger/account_climb.hpp",
        "    for (const account* a = at; a != end && more != 0; a = a->parent_) {",
        "    for (const account* a = at; a != end && more != 0; a = end) {"),
    "account_room_taken_in_two_steps": (
        "threads/accounts.cpp", "ledger/account_class.hpp",
        "        while (ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, word{now}.taken(bytes).bits, std::memory_order_relaxed)));",
        f"        while (false);\n        {wait(512, 20)}\n        word_.store(word{{now}}.taken(bytes).bits, std::memory_order_relaxed);"),
    "account_calls_nothing_in": (
        "unit/ledger/account.cpp", "ledger/account_hold.hpp",
        "            if (tree_.root.call_in(*s.at, false) != 0) return true;\n", ""),
    "account_peak_knows_what_is_held": (
        "unit/ledger/account.cpp", "ledger/account_class.hpp", "return total_ - pending_; }", "return total_; }"),
    "account_refused_for_what_is_held": (
        "threads/accounts.cpp", "ledger/account_hold.hpp",
        "        } else if (found.only_pending() && wait()) {", "        } else if (false) {"),
    "account_keeps_room_beyond_its_limit": (
        "unit/ledger/account.cpp", "ledger/account_climb.hpp", "    if (total_ > bytes) tree.root.call_in(*this, true);", ""),
    "account_transfer_asks_nobody_above": (
        "model/accounts.cpp", "ledger/account_climb.hpp", "        if (found.status.charged() && up > down)", "        if (false)"),
    "account_transfer_climbs_twice": (
        "unit/ledger/account.cpp", "ledger/account_climb.hpp",
        "            net.all += c.all, net.met += c.met;\n", "            climb(top, c, nullptr);\n",
        "        apply(from, -by);\n        apply(to, by);\n", "        apply(to, by);\n        apply(from, -by);\n"),
    "account_least_room_forgotten": (
        "unit/ledger/account.cpp", "ledger/room_word.hpp",
        "    constexpr room_word anew() const noexcept { return of(room(), open()); }",
        "    constexpr room_word anew() const noexcept { return *this; }"),
    "account_claims_without_its_reservation": (
        "model/accounts.cpp", "ledger/account_class.hpp",
        "    std::size_t claim() const noexcept { return total_ > reserved_ ? total_ : reserved_; }",
        "    std::size_t claim() const noexcept { return total_; }"),
    "listener_called_inside_a_call": (
        "unit/ledger/listeners.cpp", "ledger/account_hold.hpp", "        if ((quiet = root.calls_on(thread))) return;\n", ""),
    "listener_removed_under_its_caller": (
        "unit/ledger/listeners.cpp", "ledger/account_calls.hpp",
        "        if (listener.running_ == 0) return forget(listener), true;", "        return forget(listener), true;"),
    "account_ends_under_a_refund": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "    inside_.fetch_add(1, std::memory_order_seq_cst);\n", "",
        "                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n"
        "                inside_.fetch_sub(1, std::memory_order_release); // the last access\n",
        f"                {wait(3, 300)}\n                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n",
        "    inside_.fetch_sub(1, std::memory_order_release); // before the bytes go: until then nobody ends the account\n", ""),
    "account_refund_counts_itself_out_early": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n"
        "                inside_.fetch_sub(1, std::memory_order_release); // the last access\n",
        f"                inside_.fetch_sub(1, std::memory_order_release);\n                {wait(3, 300)}\n"
        "                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n"),
    "account_transfer_refused_for_what_is_held": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "        if (request.looks_again(found)) continue;\n        if (!found.status.charged()) return found.status;\n        change net{0, 0};\n",
        "        if ((found.status.fitted() || !found.only_pending()) && request.looks_again(found)) continue;\n"
        "        if (!found.status.charged()) return found.status;\n        change net{0, 0};\n"),
    "account_waits_for_itself_in_a_call": (
        "unit/ledger/listeners.cpp", "ledger/account_hold.hpp", "        if (tree_.root.is_inside_a_call(sys::thread_token())) return false;\n", ""),
    "account_ends_before_its_views": (
        "unit/ledger/closing.cpp", "ledger/account_class.hpp", "items_.empty() && all_counted_down(); }", "items_.empty(); }"),
    "account_views_do_not_end_it": (
        "unit/buffer/owners.cpp", "ledger/account_close.hpp",
        "    left_[at] += static_cast<std::uint32_t>(by);\n    end_if_drained();\n", "    left_[at] += static_cast<std::uint32_t>(by);\n"),
    "account_counts_are_not_taken_over": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp",
        "        left_[at] = open_[at].exchange(counts_left + counts_left / 2, std::memory_order_acquire);\n",
        "        left_[at] = open_[at].load(std::memory_order_acquire);\n"),
    "account_touched_behind_a_transfer": (
        "unit/ledger/closing.cpp", "ledger/account_calls.hpp",
        "    from.count_in(moves, 1); // what is told comes after its last bytes\n", "",
        "    from.count_in(moves, -1);\n", ""),
    "account_ends_without_its_children": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp", "        c->parent_ = parent_;\n", ""),
    "account_of_one_thread_used_by_two": (
        "death/accounts.cpp", "ledger/account_class.hpp",
        "    ALLOT_ALWAYS_INLINE bool give_room(std::size_t bytes) noexcept {\n        by_its_thread();\n",
        "    ALLOT_ALWAYS_INLINE bool give_room(std::size_t bytes) noexcept {\n"),
    "ledger_adds_then_checks": (
        "conform/ledger.cpp", "ledger/page_ledger.hpp",
        "        std::size_t used = used_.load(std::memory_order_relaxed);\n        do {",
        "        std::size_t used = used_.fetch_add(bytes, std::memory_order_relaxed);\n"
        "        if (used + bytes <= limit_.load(std::memory_order_relaxed)) return true;\n"
        "        used_.fetch_sub(bytes, std::memory_order_relaxed);\n"
        "        return false;\n        do {"),
    "refund_is_told_inside_a_move": (
        "threads/chunk_arena.cpp", "ledger/account_calls.hpp",
        "            landed();\n            return told.each(*this, tell);", "            told.each(*this, tell);\n            return landed();"),
}
