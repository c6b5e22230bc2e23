"""Bugs of reclaimers, and of the order of locks."""
from .bug import bug, wait

BUGS = {
    "lock_waited_for_out_of_order": bug(
        "death/lock_rank.cpp",
        "held >= rank) {",
        "held > rank) {",
        within="waits"),
    "reclaimer_ends_while_it_is_called": bug(
        "threads/idle_memory.cpp",
        "const bool runs = r.running_ != 0;",
        "const bool runs = false;",
        "it.calls_.fetch_add(1, std::memory_order_relaxed);",
        wait(2, 200) + "it.calls_.fetch_add(1, std::memory_order_relaxed);"),
    "one_pass_of_idle_memory": bug(
        "threads/idle_memory.cpp",
        "freed && in_vain != max_in_vain && level.still_refuses();",
        "in_vain++ == 0;"),
    "reclaimers_not_called_for_rows": bug(
        "unit/reclaim/chain.cpp",
        "if (ALLOT_UNLIKELY(!got)) ledger.serve",
        "if (false) ledger.serve"),
    "idle_memory_stays_behind_a_call": bug(
        "unit/reclaim/chain.cpp",
        "request() || idle_pass(level, s, but, mutex, request, freed)",
        "request()"),
    "cap_inside_another_is_higher": bug(
        "unit/reclaim/chain.cpp",
        "if (most < before_) detail",
        "detail"),
    "refusal_in_a_call_taken_for_the_requests": bug(
        "unit/reclaim/chain.cpp",
        "last_refusal = refusal;",
        ""),
    "leaves_have_credit_beside_a_waiter": bug(
        "unit/reclaim/waiting.cpp",
        "tree().waiters.empty() && tree().injectors",
        "tree().injectors"),
    "waiter_announced_behind_its_request": bug(
        "unit/reclaim/waiting.cpp",
        "bool granted = here.tries() && here.make(request, why);",
        "bool granted = false;"),
    "deferred_refund_wakes_nobody": bug(
        "unit/reclaim/waiting.cpp",
        "tree().lock.lock(); const locked settles(*this, detail::adopt_lock, bytes, false);",
        "",
        "if (ALLOT_UNLIKELY(!lock.try_lock())) {",
        "if (true) {"),
    "deferred_refund_looks_for_no_waiter": bug(
        "model/relacy_accounts.cpp",
        "tree().lock.lock(); const locked settles(*this, detail::adopt_lock, bytes, false);",
        ""),
    "deferred_refund_looks_unfenced": bug(
        "model/relacy_accounts.cpp",
        "tree().lock.add_deferred(*this); full_fence();",
        "tree().lock.add_deferred(*this);"),
    "waiter_announced_unfenced": bug(
        "model/relacy_accounts.cpp",
        "scope.tree.watches.add(closed_); } full_fence();",
        "scope.tree.watches.add(closed_); }"),
    "waiter_sleeps_without_a_look": bug(
        "model/relacy_accounts.cpp",
        "scope.tree.waiters.sleep(w_); } // may wake it",
        "} w_.trying = false;"),
    "decision_at_an_unlock_is_not_delivered": bug(
        "model/relacy_tasks.cpp",
        "->deliver(); end_drained(drained);",
        "; end_drained(drained);"),
    "sleeper_is_not_reported": bug(
        "model/relacy_tasks.cpp",
        "w.asks = w.judged != nullptr;",
        ""),
    "wake_up_comes_to_a_later_request": bug(
        "model/relacy_tasks.cpp",
        "while (tries_ && (signals & detail::waiter::try_again) == 0) signals |= spot().wait_until(sys::parking::never);",
        ""),
    "woken_one_ends_and_wakes_nobody": bug(
        "unit/reclaim/waiting.cpp",
        "scope.tree.waiters.remove(w_);",
        "scope.tree.waiters.remove(w_); scope.tree.acts_at_unlock = false;"),
    "waiter_is_passed_by_for_ever": bug(
        "unit/reclaim/waiting.cpp",
        "w.bypasses >= most_bypasses && levels.is_below(by, w.at)",
        "w.bypasses > most_bypasses && levels.is_below(by, w.at)"),
    "every_refund_wakes_all": bug(
        "unit/reclaim/waiting.cpp",
        "const bool fits = levels.fits(w, promised);",
        "const bool fits = levels.fits(w, promised) || true;"),
    "announcement_during_a_try_is_lost": bug(
        "unit/account/wait_list.cpp",
        "w.announced || w.trying || (missed_it && levels.is_below(at, w.at))",
        "w.announced || (!w.trying && missed_it && levels.is_below(at, w.at))"),
    "announcement_is_for_all_at_once": bug(
        "unit/account/wait_list.cpp",
        "(fits || (w.announced && !one_tries)) &&",
        "(fits || w.announced) &&"),
    "announcement_is_tried_for_again_and_again": bug(
        "unit/account/wait_list.cpp",
        "w.began = ++tries_; w.announced = false;",
        "w.began = ++tries_;"),
    "announcements_keep_a_request_beyond_its_deadline": bug(
        "unit/reclaim/waiting.cpp",
        "is_over_ = sys::parking::is_past(end_);",
        ""),
    "row_is_released_into_a_shared_cache_beside_a_waiter": bug(
        "unit/reclaim/waiting_products.cpp",
        "{ this->set_past_caches(supply::shut, now); }",
        "{ static_cast<void>(now); }"),
    "new_heap_uses_caches_beside_a_waiter": bug(
        "unit/reclaim/waiting_products.cpp",
        "all_.add(heap); settle_shut(heap);",
        "all_.add(heap);"),
    "row_is_released_into_a_threads_cache_beside_a_waiter": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (now) return block_and_empty(true);",
        "if (now) return block_and_empty(false);"),
    "new_cache_of_a_thread_is_used_beside_a_waiter": bug(
        "unit/sync/thread_cache_registry.cpp",
        "if (shut_) e.cache.block_owner();",
        ""),
    "thread_caches_stay_shut": bug(
        "unit/sync/thread_cache_registry.cpp",
        "shut_ = false; each([](Cache& cache) { cache.unblock_owner(); });",
        "shut_ = false;"),
    "block_is_deallocated_into_a_cache_beside_a_waiter": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (now) enter_and_empty();",
        "if (now) return;"),
    "shared_block_caches_stay_shut": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (!now) for (auto& cache : shared_) cache.leave();",
        ""),
    "shrunken_block_wakes_nobody": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (to < from) note_free();",
        ""),
    "buffer_waits_at_its_own_account_alone": bug(
        "unit/reclaim/waiting_products.cpp",
        "return levels::is_below(&by, &level(by, why)) ? by : *why.at;",
        "return &by.root() == &why.at->root() ? by : *why.at;"),
    "closed_account_wakes_no_buffer": bug(
        "unit/reclaim/waiting_products.cpp",
        "n.close_credit(); }); tree().announce_end();",
        "n.close_credit(); });"),
    "lower_limit_wakes_no_buffer": bug(
        "unit/reclaim/waiting_products.cpp",
        "scope.tree.announce_end();",
        ""),
    "closed_account_wakes_all": bug(
        "unit/reclaim/waiting.cpp",
        "w.announced = w.announced || w.charges_others;",
        "w.announced = true;"),
    "refund_wakes_none_that_waits_for_pages": bug(
        "unit/oom/arenas.cpp",
        "if (refunds != 0) tree.waiters.announce_pages();",
        ""),
    "account_of_another_tree_closes_unseen": bug(
        "unit/reclaim/waiting_products.cpp",
        "scope.tree.watches.add(closed_);",
        "std::uint64_t{};"),
    "added_reclaimer_wakes_nobody": bug(
        "unit/reclaim/waiting_products.cpp",
        "static_cast<detail::tree_node*>(this), shape()); notify_unused();",
        "static_cast<detail::tree_node*>(this), shape());"),
    "filled_cache_keeps_slots_though_it_is_shut": bug(
        "model/relacy_shut_caches.cpp",
        "filled.store(0, std::memory_order_relaxed); full_fence();",
        "filled.store(0, std::memory_order_relaxed);"),
    "waiter_is_woken_by_its_own_refund": bug(
        "unit/reclaim/waiting_products.cpp",
        "w->undone.bytes = sum_or_max(w->undone.bytes, bytes);",
        "(void)bytes;"),
    "waiter_is_woken_by_memory_that_it_returns": bug(
        "unit/reclaim/waiting_products.cpp",
        "levels{}, detail::undoing::now()",
        "levels{}"),
    "full_page_is_noted_once_though_requests_have_looked": bug(
        "unit/reclaim/waiting_products.cpp",
        "!noted.load(std::memory_order_relaxed) || provider_.heaps().is_shut()",
        "!noted.load(std::memory_order_relaxed)"),
    "object_that_joins_beside_a_waiter_uses_caches": bug(
        "unit/reclaim/waiting_products.cpp",
        "account_.add(idle_); idle_.settle_waits();",
        "account_.add(idle_);"),
    "wait_at_an_own_limit_shuts_the_caches_of_all": bug(
        "unit/reclaim/waiting_products.cpp",
        "w_.widest = &at; } at.settle_waits();",
        "w_.widest = &in_; } in_.settle_waits();"),
    "wait_that_ends_leaves_caches_shut": bug(
        "unit/reclaim/waiting_products.cpp",
        "levels::of(w_.widest).settle_waits();",
        ""),
    "waiter_is_not_woken_for_a_wider_limit": bug(
        "unit/reclaim/waiting_products.cpp",
        "return w.widest != nullptr && !is_below(w.at, w.widest);",
        "return false;"),
    "woken_request_does_not_wait_for_the_device": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (waits) (void)wait_for_frees();",
        ""),
    "empty_pages_wake_nobody": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (notifies_) notify_unused();",
        ""),
    "free_slots_wake_nobody": bug(
        "unit/reclaim/waiting_products.cpp",
        "if (ALLOT_UNLIKELY(heaps_.is_waited_for())) notify_unused();",
        ""),
    "device_free_wakes_nobody": bug(
        "unit/reclaim/waiting_products.cpp",
        "if constexpr (policies::in_tree) ledger_.notify_unused();",
        ""),
    "full_arena_asks_no_reclaimer": bug(
        "unit/reclaim/chain.cpp",
        "return by != nullptr && why.requested <= why.limit ? &by->root() : nullptr;",
        "return nullptr;"),
    "dear_reclaimer_called_below_the_cap": bug(
        "unit/reclaim/chain.cpp",
        "detail::min(most_cost, cost_cap::now())",
        "most_cost"),
    "one_that_waits_in_a_call": bug(
        "unit/reclaim/waiting.cpp",
        "detail::calls_of_this_thread == nullptr && by.is_open()",
        "by.is_open()"),
    "cancelled_wait_goes_on": bug(
        "unit/reclaim/waiting.cpp",
        "s->spot.signal(cancelled);",
        "static_cast<void>(s);"),
    "sweep_goes_on_for_a_closed_account": bug(
        "unit/account/reclaimers.cpp",
        "return next_() == &at_;",
        "return true;"),
    "impossible_request_waits": bug(
        "unit/reclaim/waiting.cpp",
        "return can_fit(by, why, why.requested);",
        "return true;"),
    "one_refund_lets_all_pass": bug(
        "unit/reclaim/waiting.cpp",
        "if (++before->bypasses == most_bypasses && due == nullptr) due = before;",
        "++before->bypasses;"),
    "first_reclaimer_always_called_first": bug(
        "unit/account/reclaimers.cpp",
        "if (done) groups_.rotate_behind(it);",
        ""),
    "called_after_the_request_is_granted": bug(
        "unit/account/reclaimers.cpp",
        "if (!goes_on) {",
        "if (!goes_on && !done) {"),
    "no_critical_pass": bug(
        "unit/account/reclaimers.cpp",
        "s.critical = true; return pass(level, s, but, mutex, request, freed);",
        "return false;"),
    "high_cost_called_first": bug(
        "unit/account/reclaimers.cpp",
        "(*link)->cost_ < cost) link",
        "(*link)->cost_ > cost) link"),
    "request_inside_a_sweep_waits": bug(
        "unit/account/reclaimers.cpp",
        "if (calls_of_this_thread != nullptr) return false;",
        ""),
    "each_thread_sweeps": bug(
        "unit/account/reclaimers.cpp",
        "request() || sweep(level, s, but, mutex, request);",
        "sweep(level, s, but, mutex, request);"),
    "unhelpful_reclaimer_called": bug(
        "unit/account/reclaimers.cpp",
        "level.holds(it.home_) && it.helps(s)",
        "level.holds(it.home_)"),
}
