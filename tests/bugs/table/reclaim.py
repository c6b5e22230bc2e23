"""Bugs of reclaimers, and of the order of locks."""
from .bug import bug, wait

BUGS = {
    "lock_waited_for_out_of_order": bug(
        "death/lock_rank.cpp",
        "held >= rank) {",
        "held > rank) {",
        within="waits", law=5),
    "reclaimer_ends_while_it_is_called": bug(
        "unit/request/reclaimers.cpp",
        "const bool done = all_.take_off_locked(r);",
        "static_cast<void>(all_.take_off_locked(r)); const bool done = true;",
        law=5),
    "deferred_refund_looks_for_no_waiter": bug(
        "model/relacy_accounts.cpp",
        "if (ALLOT_UNLIKELY(a.tree().has_waiters())) return settle_for_waiters(a, bytes), true;",
        "",
        law=4),
    "deferred_refund_looks_unfenced": bug(
        "model/relacy_accounts.cpp",
        "a.tree().lock.add_deferred(a); full_fence();",
        "a.tree().lock.add_deferred(a);",
        law=4),
    "waiter_announced_unfenced": bug(
        "model/relacy_accounts.cpp",
        "watch_own_account(true); full_fence();",
        "watch_own_account(true);",
        law=4),
    "waiter_sleeps_without_a_look": bug(
        "model/relacy_accounts.cpp",
        "now.sleeps(w_);",
        "",
        law=4),
    "sleeper_is_not_reported": bug(
        "model/relacy_tasks.cpp",
        "slept->judged->post_in_lock(failure_of(*slept));",
        ";",
        law=4),
    "wake_up_comes_to_a_later_request": bug(
        "model/relacy_tasks.cpp",
        "if (tries_) take_signal(signals);",
        "",
        law=4),
    "woken_one_ends_and_wakes_nobody": bug(
        "unit/reclaim/fairness.cpp",
        "now.tree.remove(w_); now.look_from(*w_.by);",
        "now.tree.remove(w_);",
        law=4),
    "free_slots_pass_one_that_is_due_for_ever": bug(
        "unit/reclaim/fairness.cpp",
        "return !detail::goes_behind_due(account_.node(), asked, give_idle);",
        "return true;",
        law=4),
    "due_one_waits_for_a_task_behind_it": bug(
        "unit/reclaim/fairness.cpp",
        "return holds == nullptr || !waits_for_those_behind(*due, by.tree().waits, holds) ? due : nullptr;",
        "return due;",
        law=4),
    "held_back_one_does_not_pass": bug(
        "model/oom.cpp",
        "return sleeps(t) && t.held_back;",
        "return sleeps(t) && t.used != t.used;",
        law=4),
    "row_is_released_into_a_shared_cache_beside_a_waiter": bug(
        "unit/reclaim/waiting_products.cpp",
        "{ caches_.set_past_caches(caches_type::shut, now); }",
        "{ static_cast<void>(now); }",
        law=4),
    "filled_cache_keeps_slots_though_it_is_shut": bug(
        "model/relacy_shut_caches.cpp",
        "filled.store(0, std::memory_order_relaxed); full_fence();",
        "filled.store(0, std::memory_order_relaxed);",
        law=4),
    "empty_pages_wake_nobody": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (notifies_ || heaps_.is_shut()) notify_unused();",
        "",
        law=4),
    "object_with_idle_pages_rests": bug(
        "unit/reclaim/resting.cpp",
        "wake(); static_cast<void>(detail::notify_unused(account_.node()));",
        "static_cast<void>(detail::notify_unused(account_.node()));",
        law=4),
    "one_that_waits_in_a_call": bug(
        "unit/reclaim/waiting.cpp",
        "!user_call::is_inside_any() && by.is_open()",
        "by.is_open()",
        law=5),
    "level_wakes_one_tree": bug(
        "model/levels.cpp",
        "p.leads = one_of(p.group) == nullptr;",
        "p.leads = all_.empty();",
        law=4),
    "each_thread_sweeps": bug(
        "unit/request/reclaimers.cpp",
        "if (runs_at(at)) return beginning::other_runs;",
        "",
        law=5),
    "news_is_lost_where_another_sweep_runs": bug(
        "unit/account/reservation_requests.cpp",
        "if (!level.begin_sweep(at, goal)) return false;",
        "if (!level.begin_sweep(at, goal)) return take_news(at), false;",
        law=4),
    "hold_asks_before_it_is_confirmed": bug(
        "unit/account/watermark.cpp",
        "if (how == charge_mode::checked) free_ahead(a);",
        "free_ahead(a);",
        law=4),
}
