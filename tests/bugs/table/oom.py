"""Bugs of the OOM state machine, of its arbiter, and of work that is rolled back."""
from .bug import bug

BUGS = {
    # ---- the machine
    "id_used_again_keeps_the_old_scopes": bug(
        "unit/oom/machine.cpp",
        "thread& t = threads_[id]; t = thread{}; t.used = true;",
        "thread& t = threads_[id]; t.used = true;"),
    "running_pool_thread_holds_nothing_back": bug(
        "unit/oom/machine.cpp",
        "if (t.kind != thread_kind::dedicated || rules_.task_is_blocked == blocks::all) return false;",
        "if (t.kind != thread_kind::dedicated) continue; if (rules_.task_is_blocked == blocks::all) return false;"),
    "attempts_are_counted_over_a_threads_life": bug(
        "unit/oom/machine.cpp",
        "t.attempts = 0; t.has_split = false;",
        "t.has_split = false;"),
    "one_that_frees_cannot_be_removed": bug(
        "unit/oom/machine.cpp",
        "{bufn_wait, removed, remove_throw},",
        ""),
    "end_of_a_task_wakes_nobody": bug(
        "unit/oom/machine.cpp",
        "if (!any_in(thread_state::blocked)) wake_first(rules_.most_woken, sink);",
        ""),
    "place_of_a_pool_thread_is_that_of_its_smallest_id": bug(
        "unit/oom/machine.cpp",
        "if (is_before(tasks_[id].place, first)) first = tasks_[id].place;",
        "if (id < t.task) first = tasks_[id].place;"),
    "first_one_is_woken_whatever_its_size": bug(
        "unit/oom/machine.cpp",
        "if (t.bypasses >= most_bypasses && (due == no_id || goes_before(id, due))) due = id;",
        "if (due == no_id || goes_before(id, due)) due = id;"),
    "rolled_back_one_is_bypassed_for_ever": bug(
        "unit/oom/machine.cpp",
        "id != found && goes_before(id, found)) ++threads_[id].bypasses;",
        "id != found && goes_before(id, found)) {}"),
    "memory_of_another_kind_wakes": bug(
        "unit/oom/machine.cpp",
        "return t.memory == kind;",
        "return t.memory == kind || true;"),
    "wait_that_completes_a_deadlock_is_not_seen": bug(
        "unit/oom/machine.cpp",
        "threads_[id].on = on; decide(sink);",
        "threads_[id].on = on;"),
    "victim_is_in_no_retry_scope": bug(
        "unit/oom/machine.cpp",
        "return sleeps(t) && may_be_rolled_back(t);",
        "return sleeps(t);"),
    "first_in_order_is_rolled_back": bug(
        "unit/oom/machine.cpp",
        "thread_id victim = find(false, may_go);",
        "thread_id victim = find(true, may_go);"),
    "split_before_an_attempt_alone": bug(
        "model/oom.cpp",
        "if (rules_.tries_alone && !has_tried_alone(chosen)) try_alone(chosen, sink); else split(chosen, sink);",
        "split(chosen, sink);"),
    "last_one_is_rolled_back_without_an_attempt_alone": bug(
        "unit/oom/machine.cpp",
        "if (waiting != 1 || !rules_.tries_alone) roll_back",
        "if (true) roll_back"),
    "attempt_is_alone_beside_one_that_runs": bug(
        "unit/oom/machine.cpp",
        "takes_part(t, of) && (!is_stuck(t) || t.state == thread_state::blocked))",
        "takes_part(t, of) && t.state == thread_state::blocked)"),
    "first_attempt_in_cut_memory_counts_as_alone": bug(
        "unit/oom/machine.cpp",
        "if (!gathered) threads_[id].alone_of_all.began = 0;",
        ""),
    "memory_is_not_gathered_before_an_attempt_alone": bug(
        "unit/oom/device.cpp",
        "roots.return_some_of_all();",
        ""),
    "round_of_idle_owners_ends_at_the_first": bug(
        "unit/account/idle_owners.cpp",
        "while (idle_owner* const it = begin_call_before(now)) {",
        "if (idle_owner* const it = begin_call_before(now)) {"),
    "gathering_waits_for_no_stream": bug(
        "unit/oom/device.cpp",
        "return trying_of_this_thread != nullptr || gathers_on_this_thread;",
        "return trying_of_this_thread != nullptr;"),
    "inner_part_gives_the_budget_again": bug(
        "unit/oom/machine.cpp",
        "if (t.scopes != 0) return; // a rollback begins the outermost scope again",
        "if (t.scopes != 0) return void(t.attempts = 0);"),
    "part_of_an_attempt_alone_is_enough_to_split": bug(
        "model/oom.cpp",
        "if (mark.began == epoch_of(t)) mark.tried = mark.began;",
        "mark.tried = epoch_of(t);"),
    "attempt_alone_of_the_whole_input_is_its_parts": bug(
        "model/oom.cpp",
        "t.alone_of_all = t.alone_of_own = {}; // of the input as it was",
        ""),
    "rollbacks_of_other_tasks_spoil_attempts_at_an_own_limit": bug(
        "model/oom.cpp",
        "if (t.task != no_id && takes_part(threads_[id], t.task)) t.alone_of_own.began = 0;",
        "t.alone_of_own.began = 0;"),
    "progress_of_others_is_that_of_a_task_at_its_limit": bug(
        "unit/oom/machine.cpp",
        "return t.own ? tasks_[t.task].epoch : epoch_;",
        "return epoch_;"),
    "task_at_its_own_limit_waits_for_others": bug(
        "unit/oom/machine.cpp",
        "if (t.used && t.own && decide_among(t.task, sink)) return;",
        ""),
    "own_limit_is_not_known": bug(
        "unit/oom/waits.cpp",
        "w_.own = task_ != nullptr && levels::is_below(w_.at, task_);",
        ""),
    "idle_helper_blocks_its_task": bug(
        "unit/oom/machine.cpp",
        "if (t.state == thread_state::blocked || t.state == thread_state::bufn || !is_stuck_by_itself(t, id))",
        "if (true)"),
    "outer_token_counts_as_running": bug(
        "unit/oom/waits.cpp",
        "t.task == no_id || t.covered ||",
        "t.task == no_id ||"),
    "end_of_a_task_wakes_all": bug(
        "unit/oom/machine.cpp",
        "wake_first(rules_.most_woken, sink);",
        "wake_first(UINT32_MAX, sink);"),
    "barred_thread_is_rolled_back": bug(
        "unit/oom/machine.cpp",
        "return t.scopes != 0 && t.barred == 0;",
        "return t.scopes != 0;"),
    "wait_for_a_task_outlives_it": bug(
        "unit/oom/machine.cpp",
        "if (t.waits == waits_for::task && t.on == id) t.waits = waits_for::nothing;",
        ""),
    "removed_one_waits_for_nothing": bug(
        "unit/oom/machine_cases.cpp",
        "if (by == event::ended) {",
        "if (by == event::removed) t.waits = waits_for::nothing; if (by == event::ended) {"),
    "removed_thread_counts_no_more": bug(
        "unit/oom/waits.cpp",
        "const bool frees = t.scopes != 0;",
        "const bool frees = false;"),
    "task_that_has_ended_holds_a_resource": bug(
        "unit/oom/machine.cpp",
        "for (resource& r : resources_) std::erase(r.holders, id);",
        ""),
    "overdue_wait_is_split_for_ever": bug(
        "unit/oom/machine.cpp",
        "if (by == event::thrown && t.state == thread_state::split_throw) t.has_split = true;",
        ""),
    "thread_sleeps_outside_its_scope": bug(
        "unit/oom/machine.cpp",
        "if (--t.scopes == 0 && is_legal(t.state, event::woken)) wake(id, sink);",
        "--t.scopes;"),
    # ---- the arbiter
    "rest_of_the_signals_is_lost": bug(
        "unit/oom/waits.cpp",
        "signals_due_.store(n == most, std::memory_order_relaxed);",
        "signals_due_.store(false, std::memory_order_relaxed);"),
    "decided_one_sleeps_on": bug(
        "unit/oom/waits.cpp",
        "if ((signals & detail::judged_thread::decided) != 0 && judged_->look() != verdict::sleep) return false;",
        ""),
    "granted_request_is_not_reported": bug(
        "unit/oom/waits.cpp",
        "if (granted_ && judged_ != nullptr) judged_->granted();",
        ""),
    "request_that_is_given_up_is_not_reported": bug(
        "unit/oom/scopes.cpp",
        "if (is_legal(by_.state_of(id_), event::given_up)) by_.step(id_, event::given_up);",
        ""),
    "stats_end_with_their_task": bug(
        "unit/oom/waits.cpp",
        "by_.ended_ += last;",
        ""),
    "bytes_of_a_task_that_has_ended_are_counted": bug(
        "unit/oom/waits.cpp",
        "last.bytes = 0;",
        ""),
    "arbiter_signals_with_its_lock_held": bug(
        "unit/oom/waits.cpp",
        "result = call(c); } deliver(); return result;",
        "result = call(c); deliver(); } return result;"),
    "waiters_of_tasks_go_as_they_came": bug(
        "unit/oom/waits.cpp",
        "waiter* const behind = w.judged != nullptr ? first_behind(w) : nullptr;",
        "waiter* const behind = nullptr;"),
    "removal_ends_a_pool_thread": bug(
        "unit/oom/waits.cpp",
        "threads[t].kind == thread_kind::dedicated && threads[t].task == id_",
        "threads[t].task == id_"),
    "arbiters_share_a_hidden_count": bug(
        "model/oom_monte_carlo.cpp",
        "const std::uint64_t order = ++by.tasks_so_far_;",
        "static std::uint64_t of_all = 0; const std::uint64_t order = ++by.tasks_so_far_ + of_all++;"),
    # ---- the log
    "change_in_a_log_is_not_compared": bug(
        "unit/oom/event_log.cpp",
        "!(changes[seen++] == e.became)",
        "(++seen, false)"),
    "value_out_of_range_is_replayed": bug(
        "unit/oom/event_log.cpp",
        "return has_thread && c.detail < events;",
        "return has_thread;"),
    # ---- waits for other things than memory
    "edge_stays_behind_its_wait": bug(
        "unit/oom/waits.cpp",
        "here_->wait_ = outer_; note(outer_);",
        "here_->wait_ = outer_;"),
    "outer_wait_ends_with_the_inner_one": bug(
        "unit/oom/waits.cpp",
        "here_->wait_ = outer_; note(outer_);",
        "here_->wait_ = outer_; note(nullptr);"),
    "wait_is_for_the_next_task_of_that_id": bug(
        "unit/oom/waits.cpp",
        "if (w != nullptr && w->what_ == waits_for::task && here_->by().number_of(w->on_) != w->task_) w = nullptr;",
        ""),
    "wait_is_of_the_innermost_arbiter": bug(
        "unit/oom/waits.cpp",
        "scoped_wait(task_thread::now(t.by()), waits_for::task, t.id())",
        "scoped_wait(task_thread::now(), waits_for::task, t.id())"),
    "hold_of_the_next_task_of_that_id_ends": bug(
        "unit/oom/waits.cpp",
        "if (task_ != no_id && of_.by_.number_of(task_) == number_)",
        "if (task_ != no_id)"),
    "refunds_are_not_reported": bug(
        "unit/oom/waits.cpp",
        "scope.tree.acts_at_unlock = scope.tree.reports_frees = true;",
        ";"),
    "resource_is_held_for_ever": bug(
        "unit/oom/waits.cpp",
        "of_.by_.act({.op = operation::let_go, .on = of_.id_, .number = task_});",
        "{}"),
    # ---- work that is begun again
    "parts_come_backwards": bug(
        "unit/oom/scopes.cpp",
        "stack.insert(stack.end(), std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));",
        "stack.insert(stack.end(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));"),
    "inputs_are_lost_behind_another_exception": bug(
        "unit/oom/scopes.cpp",
        "to.assign(std::make_move_iterator(from.rbegin()), std::make_move_iterator(from.rend()));",
        ""),
    "verdict_of_a_cause_is_not_seen": bug(
        "unit/oom/scopes.cpp",
        "return e.nested_ptr() != nullptr ? find_verdict(e.nested_ptr(), copy) : nullptr;",
        "return nullptr;"),
    "inner_scope_sleeps_with_memory_of_the_outer_one": bug(
        "unit/oom/scopes.cpp",
        "if (why.why().outcome == charge_outcome::rolled_back && !scope.is_outermost() && !scope.has_changed_inputs()) throw;",
        "",
        "if (!is_outermost()) return verdict::roll_back;",
        ""),
    "split_of_an_inner_scope_is_final": bug(
        "unit/oom/scopes.cpp",
        "if (!scope.is_outermost()) throw split_and_retry_out_of_memory(why.why(), why.kind());",
        ""),
    "name_in_an_error_is_not_copied": bug(
        "unit/oom/scopes.cpp",
        "why_ = o.why_; return keep_name(), *this;",
        "why_ = o.why_; return *this;"),
    "fault_rolls_back_outside_scopes": bug(
        "unit/oom/injection.cpp",
        "if (!may_fail(*here, f.fails)) continue;",
        ""),
    "fault_outlives_its_scope": bug(
        "unit/oom/injection.cpp",
        "if (r.charges++ < most_charges && may_fail(here, here.injected())) return true;",
        "if (r.charges++ < most_charges) return true;"),
    "inner_scope_hides_what_was_tried": bug(
        "unit/oom/scopes.cpp",
        "if (has_succeeded) return;",
        "if (has_succeeded || attempts == 0 || last_suppressed.attempts != 0) return;"),
    "rollback_in_an_inner_split_is_final": bug(
        "unit/oom/scopes.cpp",
        "if (e.why().outcome == charge_outcome::removed || !scope.is_outermost()) throw;",
        "if (e.why().outcome == charge_outcome::removed) throw;"),
    "changed_inputs_are_used_again": bug(
        "unit/oom/scopes.cpp",
        "if (scope.has_changed_inputs()) throw inputs_changed(why.why());",
        ""),
    "finished_part_is_no_progress": bug(
        "unit/oom/waits.cpp",
        "stack.pop_back(); scope.done();",
        "stack.pop_back();"),
    "thread_stays_barred_behind_its_token": bug(
        "unit/oom/scopes.cpp",
        "~no_rollback() { note(false); }",
        "~no_rollback() {}"),
    # ---- misuse
    "task_ends_unseen_under_a_thread": bug(
        "death/tasks.cpp",
        "if constexpr (ALLOT_CHECKED != 0) check_no_thread();",
        ""),
    "pool_thread_is_seen_at_its_first_task_alone": bug(
        "death/tasks.cpp",
        "t.task == id_ || std::find(t.others.begin(), t.others.end(), id_) != t.others.end()",
        "t.task == id_"),
    "token_ends_as_if_it_were_the_innermost": bug(
        "unit/oom/misuse.cpp",
        "task_thread** at = &innermost; while (*at != nullptr && *at != this) at = &(*at)->outer_;",
        "task_thread** at = &innermost;"),
    "scope_ends_as_if_it_were_the_innermost": bug(
        "unit/oom/misuse.cpp",
        "retry_scope** at = &innermost; while (*at != nullptr && *at != this) at = &(*at)->outer_;",
        "retry_scope** at = &innermost;"),
    "arbiter_ends_unseen_before_its_accounts": bug(
        "death/tasks.cpp",
        "if (!roots.empty()) report_misuse({.kind = misuse::living_root});",
        ""),
    "thread_works_for_the_id_of_another_arbiters_task": bug(
        "unit/oom/misuse.cpp",
        "if (is_own(more)) by_.act",
        "by_.act"),
    # ---- faults on purpose
    "requests_that_a_fault_skips_fail": bug(
        "unit/oom/injection.cpp",
        "if (f.skip != 0) { --f.skip; continue; }",
        ""),
    "fault_is_of_one_charge": bug(
        "unit/oom/injection.cpp",
        "if (fails_still(*here, by, bytes)) return true;",
        ""),
    # ---- waking, as a model of the code itself
    "decision_signals_no_thread": bug(
        "model/relacy_tasks.cpp",
        "for (std::size_t i = 0; i != n; ++i) due[i]->spot.signal(allot::detail::judged_thread::decided);",
        ""),
    "removed_one_sleeps_on": bug(
        "model/relacy_tasks.cpp",
        "made.by != event::given_up && made.by != event::ended) {",
        "made.by != event::given_up && made.by != event::ended && made.by != event::removed) {"),
    "one_that_tries_alone_sleeps_on": bug(
        "model/relacy_tasks.cpp",
        "made.by != event::given_up && made.by != event::ended) {",
        "made.by != event::given_up && made.by != event::ended && made.by != event::tries_alone) {"),
    "split_one_sleeps_on": bug(
        "model/relacy_tasks.cpp",
        "made.by != event::given_up && made.by != event::ended) {",
        "made.by != event::given_up && made.by != event::ended && made.by != event::split) {"),
    "signals_due_are_cleared_behind_the_lock": bug(
        "model/relacy_tasks.cpp",
        "signals_due_.store(n == most, std::memory_order_relaxed); }",
        "} signals_due_.store(n == most, std::memory_order_relaxed);"),
    "ready_thread_delivers_no_decision": bug(
        "model/relacy_tasks.cpp",
        "by_.step(id_, event::ready); } by_.deliver();",
        "by_.step(id_, event::ready); }"),
    "begin_of_a_wait_delivers_no_decision": bug(
        "model/relacy_tasks.cpp",
        "result = call(c); } deliver();",
        "result = call(c); }"),
    "end_of_a_thread_delivers_no_decision": bug(
        "model/relacy_tasks.cpp",
        "cover_outer(false); } by_.deliver();",
        "cover_outer(false); }"),
    "removal_delivers_no_decision": bug(
        "model/relacy_tasks.cpp",
        "by_.step(t, event::removed); } by_.deliver();",
        "by_.step(t, event::removed); }"),
}
