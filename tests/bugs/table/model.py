"""Bugs of weaker orders and lost steps, in the models of the lock-free parts."""

BUGS = {
    "account_refund_not_noted": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "        if (!l.noted($).exchange(true, mo_acq_rel)) place_of", "        if (false) place_of"),
    "account_granted_by_a_store": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "        if (!l.word($).compare_exchange_strong(w.bits, room_word::of(w.room() + want - n, l.steps && !held).bits, mo_relaxed)) {\n"
        "            l.own -= want;\n            return false;\n        }\n",
        "        l.word($).store(room_word::of(w.room() + want - n, l.steps && !held).bits, mo_relaxed);\n"),
    "account_undone_after_it_was_refused": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "        while (held && waiting != 0) breathe();\n",
        "        while (held && waiting != 0) breathe();\n        if (!l.steps) {\n"
        "            const auto by = static_cast<std::ptrdiff_t>(n);\n"
        "            l.own += n, climb(l.parent, shift(l, {by, by}));\n            unlock(), wait_lock();\n"
        "            l.own -= n, climb(l.parent, shift(l, {-by, -by}));\n        }\n"),
    "account_held_bytes_refuse_others": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp", "if (f.at->pending != 0 &&", "if (false &&"),
    "account_held_bytes_in_a_peak": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp", "return total - pending;", "return total;"),
    "account_reservation_is_not_kept": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "more = std::max(l->total + more, l->reserved) - l->claim();",
        "more = std::max(l->total + more, l->reserved) - l->claim() + (l->reserved != 0 ? more : 0);"),
    "account_cancel_keeps_its_claim": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "climb(l.parent, shift(l, {-static_cast<std::ptrdiff_t>(n), 0}));", "shift(l, {-static_cast<std::ptrdiff_t>(n), 0});"),
    "stack_push_relaxed": (
        "model/relacy_stack.cpp", "model/relacy_common.hpp",
        "compare_exchange_weak(was, node, mo_release, mo_relaxed)", "compare_exchange_weak(was, node, mo_relaxed, mo_relaxed)"),
    "stack_take_relaxed": (
        "model/relacy_stack.cpp", "model/relacy_common.hpp", "exchange(nullptr, mo_acquire)", "exchange(nullptr, mo_relaxed)"),
    "only_holder_read_relaxed": (
        "model/relacy_links.cpp", "model/relacy_links.cpp", "if (word($).load(mo_acquire) == 1) {", "if (word($).load(mo_relaxed) == 1) {"),
    "holder_dropped_without_release": (
        "model/relacy_links.cpp", "model/relacy_links.cpp",
        "if (was > 1) was = word($).fetch_sub(1, mo_acq_rel);", "if (was > 1) was = word($).fetch_sub(1, mo_acquire);"),
    "shared_holder_dropped_relaxed": (
        "model/relacy_links.cpp", "model/relacy_links.cpp",
        "if (word($).fetch_sub(1, mo_acq_rel) != 1) return;", "if (word($).fetch_sub(1, mo_relaxed) != 1) return;"),
    "place_taken_relaxed": (
        "model/relacy_caches.cpp", "model/relacy_caches.cpp",
        "if (places[at].taken($).exchange(1, mo_acquire) == 0)", "if (places[at].taken($).exchange(1, mo_relaxed) == 0)"),
    "place_given_relaxed": (
        "model/relacy_caches.cpp", "model/relacy_caches.cpp",
        "p->slots($) + 1;\n        RL_ASSERT(--p->users == 0);\n        p->taken($).store(0, mo_release);",
        "p->slots($) + 1;\n        RL_ASSERT(--p->users == 0);\n        p->taken($).store(0, mo_relaxed);"),
    "owner_enters_unfenced": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp",
        "        rl::atomic_thread_fence(mo_seq_cst, $); // full_fence, or the other's in this thread\n", ""),
    "asker_looks_unfenced": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp", "        rl::atomic_thread_fence(mo_seq_cst, $); // process_fence\n", ""),
    "owner_leaves_relaxed": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp",
        "inside($).store(0, mo_release); // leave", "inside($).store(0, mo_relaxed); // leave"),
    "asker_dismisses_relaxed": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp",
        "asked($).store(0, mo_release); // dismiss", "asked($).store(0, mo_relaxed); // dismiss"),
    "given_back_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.hpp",
        "compare_exchange_weak(was, now, mo_acq_rel, mo_acquire)", "compare_exchange_weak(was, now, mo_relaxed, mo_relaxed)"),
    "empty_read_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.hpp",
        "bool empty_or_unnote() {\n        std::uint64_t was = page.word($).load(mo_acquire);",
        "bool empty_or_unnote() {\n        std::uint64_t was = page.word($).load(mo_relaxed);"),
    "chain_put_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp",
        "compare_exchange_weak(was, slots[0] + 1, mo_release, mo_relaxed)",
        "compare_exchange_weak(was, slots[0] + 1, mo_relaxed, mo_relaxed)"),
    "chain_taken_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp", "head($).exchange(0, mo_acquire)", "head($).exchange(0, mo_relaxed)"),
    "bits_put_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp", "words[at]($).fetch_or(bits, mo_seq_cst)", "words[at]($).fetch_or(bits, mo_relaxed)"),
    "bits_taken_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp", "words[at]($).exchange(0, mo_seq_cst)", "words[at]($).exchange(0, mo_relaxed)"),
    "mark_stored_relaxed": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp", ".store(1, mo_release)", ".store(1, mo_relaxed)"),
    "mark_loaded_relaxed": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp", "if (marks[at]($).load(mo_seq_cst) != 0)", "if (marks[at]($).load(mo_relaxed) != 0)"),
    "mark_unfenced": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp", "rl::atomic_thread_fence(mo_seq_cst, $); // full_fence", ""),
    "hint_cleared_unfenced": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp",
        "            rl::atomic_thread_fence(mo_seq_cst, $);\n            got +=", "            got +="),
    "page_does_not_say_that_it_owes": (
        "model/relacy_held.cpp", "model/relacy_held.cpp", "            word($).fetch_or(owed, mo_acq_rel);\n", ""),
    "owing_page_not_noted": (
        "model/relacy_held.cpp", "model/relacy_held.cpp", "if (c.note || (c.owes && !noted($).load(mo_relaxed))) note();", "if (c.note) note();"),
    "held_slots_collected_without_telling": (
        "model/relacy_held.cpp", "model/relacy_held.cpp", "        if (owing($)) settle();\n        if (empties", "        if (empties"),
    "told_without_looking_what_is_due": (
        "model/relacy_held.cpp", "model/relacy_held.cpp", "due ? give_back(0) : change{};", "change{};"),
    "told_by_a_load_and_a_store": (
        "model/relacy_held.cpp", "model/relacy_held.cpp",
        "const std::uint64_t now = word($).fetch_sub(owed - n, mo_acq_rel) - (owed - n);",
        "const std::uint64_t now = word($).load(mo_acquire) - (owed - n);\n        word($).store(now, mo_release);"),
    "note_found_relaxed": (
        "model/relacy_noted.cpp", "model/relacy_noted.cpp", "h.noted($).exchange(1, mo_acq_rel)", "h.noted($).exchange(1, mo_relaxed)"),
    "note_taken_off_by_a_store": (
        "model/relacy_noted.cpp", "model/relacy_noted.cpp", "one->noted($).exchange(0, mo_acq_rel);", "one->noted($).store(0, mo_release);"),
    "busy_heap_not_noted": (
        "model/relacy_noted.cpp", "model/relacy_noted.cpp", "if (!try_lock()) return note();", "if (!try_lock()) return;"),
    "event_stored_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp", "e.first($).store(number + 1, mo_release)", "e.first($).store(number + 1, mo_relaxed)"),
    "event_loaded_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp", "first = e.first($).load(mo_acquire)", "first = e.first($).load(mo_relaxed)"),
    "event_turn_stored_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp",
        "e.turn($).store(2 * number + 2, mo_release)", "e.turn($).store(2 * number + 2, mo_relaxed)"),
    "event_turn_read_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp", "if (e.turn($).load(mo_acquire) != 2", "if (e.turn($).load(mo_relaxed) != 2"),
    "page_hint_cleared_first": (
        "model/relacy_pages.cpp", "model/relacy_pages.cpp",
        "        words[page]($).fetch_and(0, mo_seq_cst);\n        full($).fetch_and(~(1u << page), mo_seq_cst);",
        "        full($).fetch_and(~(1u << page), mo_seq_cst);\n        words[page]($).fetch_and(0, mo_seq_cst);"),
    "page_hint_not_looked_at_again": (
        "model/relacy_pages.cpp", "model/relacy_pages.cpp",
        "        if (words[w]($).load(mo_seq_cst) == 0) full($).fetch_and(~(1u << w), mo_seq_cst);\n", ""),
}
