"""Bugs of the OOM state machine, of its arbiter, and of work that is rolled back."""
from .bug import bug

BUGS = {
    "wait_that_completes_a_deadlock_is_not_seen": bug(
        "unit/oom/machine.cpp",
        "keeps == 0 && t.scopes == 0) note_idle(sink); decide(sink);",
        "keeps == 0 && t.scopes == 0) note_idle(sink);",
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
    "change_in_a_log_is_not_compared": bug(
        "unit/oom/event_log.cpp",
        "!(changes[seen++] == e.became)",
        "(++seen, false)",
        law=9),
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
}
