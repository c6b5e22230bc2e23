"""Bugs of weaker orders and lost steps, in the models of the lock-free parts."""
from .bug import bug

BUGS = {
    "stack_take_relaxed": bug(
        "model/relacy_stack.cpp",
        "exchange(nullptr, mo_acquire)",
        "exchange(nullptr, mo_relaxed)",
        within="stack_model", law=2, smoke=True),
    "only_holder_read_relaxed": bug(
        "model/relacy_links.cpp",
        "if (word($).load(mo_acquire) == 1) {",
        "if (word($).load(mo_relaxed) == 1) {",
        law=3),
    "owner_enters_unfenced": bug(
        "model/relacy_owned_cache.cpp",
        "rl::atomic_thread_fence(mo_seq_cst, $);",
        "",
        within="enter_and_ask::push", law=2),
    "owner_leaves_relaxed": bug(
        "model/relacy_owned_cache.cpp",
        "use(1); inside($).store(0, mo_release);",
        "use(1); inside($).store(0, mo_relaxed);",
        law=2),
    "given_back_relaxed": bug(
        "model/relacy_heaplet.cpp",
        "compare_exchange_weak(was, now, mo_acq_rel, mo_acquire)",
        "compare_exchange_weak(was, now, mo_relaxed, mo_relaxed)",
        within="heaplet::count", law=3),
    "empty_read_relaxed": bug(
        "model/relacy_heaplet.cpp",
        "page.word($).load(mo_acquire)",
        "page.word($).load(mo_relaxed)",
        within="empty_or_unnote", law=3),
    "chain_put_relaxed": bug(
        "model/relacy_heaplet.cpp",
        "compare_exchange_weak(was, slots[0] + 1, mo_release, mo_relaxed)",
        "compare_exchange_weak(was, slots[0] + 1, mo_relaxed, mo_relaxed)",
        law=3),
    "mark_stored_relaxed": bug(
        "model/relacy_marks.cpp",
        ".store(1, mo_release)",
        ".store(1, mo_relaxed)",
        law=3),
    "mark_loaded_relaxed": bug(
        "model/relacy_marks.cpp",
        "if (marks[at]($).load(mo_seq_cst) != 0)",
        "if (marks[at]($).load(mo_relaxed) != 0)",
        law=3),
    "mark_unfenced": bug(
        "model/relacy_marks.cpp",
        "rl::atomic_thread_fence(mo_seq_cst, $);",
        "",
        within="scanning_model::put", law=3),
    "told_by_a_load_and_a_store": bug(
        "model/relacy_held.cpp",
        "const std::uint64_t now = word($).fetch_sub(owed - n, mo_acq_rel) - (owed - n);",
        "const std::uint64_t now = word($).load(mo_acquire) - (owed - n); word($).store(now, mo_release);",
        law=3),
    "note_found_relaxed": bug(
        "model/relacy_noted.cpp",
        "h.noted($).exchange(1, mo_acq_rel)",
        "h.noted($).exchange(1, mo_relaxed)",
        law=3),
    "note_taken_off_by_a_store": bug(
        "model/relacy_noted.cpp",
        "one->noted($).exchange(0, mo_acq_rel);",
        "one->noted($).store(0, mo_release);",
        law=3),
    "busy_heap_not_noted": bug(
        "model/relacy_noted.cpp",
        "if (!try_lock()) return note();",
        "if (!try_lock()) return;",
        law=3),
    "event_stored_relaxed": bug(
        "model/relacy_ring.cpp",
        "e.first($).store(number + 1, mo_release)",
        "e.first($).store(number + 1, mo_relaxed)",
        law=3),
    "trace_writer_takes_an_entry_in_use": bug(
        "model/relacy_ring.cpp",
        "turn % 2 != 0 || turn > 2 * number ||",
        "(turn & 0) != 0 ||",
        law=3),
    "event_turn_stored_relaxed": bug(
        "model/relacy_ring.cpp",
        "e.turn($).store(2 * number + 2, mo_release)",
        "e.turn($).store(2 * number + 2, mo_relaxed)",
        law=3),
    "page_hint_cleared_first": bug(
        "model/relacy_pages.cpp",
        "words[page]($).fetch_and(0, mo_seq_cst); full($).fetch_and(~(1u << page), mo_seq_cst);",
        "full($).fetch_and(~(1u << page), mo_seq_cst); words[page]($).fetch_and(0, mo_seq_cst);",
        law=2),
}
