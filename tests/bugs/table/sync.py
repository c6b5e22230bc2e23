"""Bugs of locks, stacks, called lists, lanes, atomics with a scope."""
from .bug import bug, wait

BUGS = {
    "lock_taken_in_two_steps": bug(
        "threads/sync.cpp",
        "held_.exchange(1, std::memory_order_acquire) == 0;",
        "([]" + wait(512, 20) + "(), held_.store(1, std::memory_order_relaxed), true);",
        law=2),
    "stack_pushed_in_two_steps": bug(
        "threads/sync.cpp",
        "while (!head_.compare_exchange_weak(head, node, std::memory_order_release, std::memory_order_relaxed));",
        "while (false);" + wait(512, 20) + "head_.store(node);",
        law=2),
    "lanes_of_all_counters_counted": bug(
        "threads/lanes.cpp",
        "lanes.match(lanes.active(), reinterpret_cast<std::uintptr_t>(&counter));",
        "lanes.active();",
        law=2),
    "lanes_go_on_before_all_have_read": bug(
        "threads/lanes.cpp",
        "arrive(lane, group, false);",
        "",
        law=2),
    "walk_goes_on_at_a_removed_object": bug(
        "unit/sync/called_list.cpp",
        "if (w->following == &node) w->following = h.next;",
        ";",
        law=5, smoke=True),
    "removal_waits_for_no_call": bug(
        "threads/sync.cpp",
        "if (take_off()) return true;",
        "static_cast<void>(take_off()); return true;",
        law=5),
    "removal_is_not_woken": bug(
        "unit/sync/called_list.cpp",
        "if (wakes) list_.changes_.notify_all();",
        "",
        law=4),
    "calls_that_remove_each_other_wait": bug(
        "unit/sync/called_list.cpp",
        "if (w->awaits != nullptr && ends_after_calls_of(*w->awaits, thread)) return true;",
        "",
        law=5),
    "removal_sleeps_behind_the_end_that_it_waits_for": bug(
        "model/relacy_called.cpp",
        "changes_.wait(seen, std::memory_order_relaxed);",
        "changes_.wait(changes_.load(std::memory_order_relaxed), std::memory_order_relaxed);",
        law=4),
    "object_is_touched_after_its_last_call": bug(
        "model/relacy_called.cpp",
        "lock_.unlock(); if (wakes) list_.changes_.notify_all();",
        "lock_.unlock(); if (wakes && list_.changes_.load(std::memory_order_relaxed) != 0) last_->awaited = false; if (wakes) list_.changes_.notify_all();",
        "if (--h.calls != 0 || !h.awaited) return false;",
        "last_ = &h; if (--h.calls != 0 || !h.awaited) return false;",
        "stage stage_ = stage::before;",
        "stage stage_ = stage::before; called_hook<Node>* last_ = nullptr;",
        law=5),
    "guests_come_in_without_asking": bug(
        "unit/sync/shared_caches.cpp",
        "const bool took = p.taken.exchange(1, std::memory_order_acquire) == 0;",
        "const bool took = (p.taken.store(1), true);",
        law=2),
    "thread_without_its_end_has_caches": bug(
        "unit/sys/thread.cpp",
        "static_cast<pthread_key_t>(known - 1), what) == 0;",
        "static_cast<pthread_key_t>(known - 1), what) != 0;",
        law=10),
}
