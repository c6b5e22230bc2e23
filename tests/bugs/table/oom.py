"""Bugs of the OOM state machine, of its arbiter, and of work that is rolled back."""
from .bug import bug

BUGS = {
    "wait_that_completes_a_deadlock_is_not_seen": bug(
        "unit/oom/machine.cpp",
        "t.scopes == 0) note_kept(t.task, keeps, sink); decide(sink);",
        "t.scopes == 0) note_kept(t.task, keeps, sink);",
        law=4),
    "victim_is_in_no_retry_scope": bug(
        "unit/oom/machine.cpp",
        "return sleeps(t) && may_be_rolled_back(t);",
        "return sleeps(t);",
        law=4, smoke=True),
    "split_before_an_attempt_alone": bug(
        "model/oom.cpp",
        "else if (rules_.tries_alone && !has_tried_alone(chosen)) try_alone(chosen, sink); else if (!put_off_for_waits(sink))",
        "else if (!put_off_for_waits(sink))",
        law=4),
    "arbiter_signals_with_its_lock_held": bug(
        "unit/oom/waits.cpp",
        "const std::uint32_t result = tasks_.call(what);",
        "const std::uint32_t result = tasks_.call(what); deliver();",
        law=5),
    "arbiter_ends_within_a_post": bug(
        "unit/oom/waits.cpp",
        "wait_until_left(); if constexpr",
        "if constexpr",
        law=5),
    "edge_stays_behind_its_wait": bug(
        "unit/oom/waits.cpp",
        "here_->wait_ = outer_; note(outer_);",
        "here_->wait_ = outer_;",
        law=4),
    "inner_scope_sleeps_with_memory_of_the_outer_one": bug(
        "unit/oom/scopes.cpp",
        "if (why.why().outcome == charge_outcome::rolled_back && !scope.is_outermost() && !scope.has_changed_inputs()) throw;",
        "",
        "if (!is_outermost()) return verdict::roll_back;",
        "",
        law=4),
    "decision_signals_no_thread": bug(
        "model/relacy_tasks.cpp",
        "for (std::size_t i = 0; i != n; ++i) due[i]->spot.signal(allot::detail::judged_thread::decided);",
        "",
        law=4),
    "signals_due_are_cleared_behind_the_lock": bug(
        "model/relacy_tasks.cpp",
        "signals_due.store(n == most, std::memory_order_relaxed); }",
        "} signals_due.store(n == most, std::memory_order_relaxed);",
        law=4),
    "face_of_a_device_never_waits": bug(
        "unit/adapt/faces_in_tasks.cpp",
        "if (void* const p = d.allocate(bytes, align, stream); ALLOT_LIKELY(p != nullptr)) return p;",
        "",
        law=4),
    "nobody_keeps_the_time_of_a_decision": bug(
        "unit/oom/outside.cpp",
        "return is_asleep(made.from) && (!is_asleep(made.to) || made.by == event::delayed);",
        "return is_asleep(made.from) && !is_asleep(made.to);",
        law=4),
    "let_go_ends_no_wait": bug(
        "unit/oom/threads_of_a_task.cpp",
        "note_over(waits_for_it);",
        "",
        law=4),
    "one_holder_has_all_permits": bug(
        "unit/oom/threads_of_a_task.cpp",
        "return resources_[t.on].holders.size() >= resources_[t.on].permits;",
        "return !resources_[t.on].holders.empty();",
        law=4),
    "rollback_reaches_one_of_its_attempt": bug(
        "unit/oom/threads_of_a_task.cpp",
        "const bool is_told = t == id || &each == &owner || each.state == thread_state::blocked;",
        "const bool is_told = t == id;",
        law=4),
    "removed_task_keeps_threads_of_a_pool": bug(
        "unit/oom/threads_of_a_task.cpp",
        "threads_[t].task == id) remove_if_due(t, sink);",
        "threads_[t].task == id && threads_[t].kind == thread_kind::dedicated) remove_if_due(t, sink);",
        law=4),
    "task_that_keeps_nothing_wakes_nobody": bug(
        "unit/oom/threads_of_a_task.cpp",
        "if (share >= 0) note_idle(share == 0, sink);",
        "",
        law=4),
    "one_that_waits_unseen_runs_for_ever": bug(
        "unit/oom/threads_of_a_task.cpp",
        "(runners && runs_in_blocked_task(t))",
        "(runners && false)",
        law=4),
    "task_is_woken_where_it_does_not_fit": bug(
        "unit/oom/machine.cpp",
        "if ((!nothing || in_scope) && shares > detail::whole_share && !rules_.all_are_woken) return;",
        "",
        law=4),
    "fault_hits_a_request_of_a_reclaimer": bug(
        "cases/tasks_injection_in_reclaimer.cpp",
        "if (allot::detail::user_call::is_inside_any()) return false;",
        "",
        within="injection", law=5),
}
