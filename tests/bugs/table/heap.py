"""Bugs of heaps of rows: pages and their lists, held slots, tallies, caches, guards."""
from .bug import bug, wait

BUGS = {
    "heap_not_noted_beside_held_slots": bug(
        "unit/heap/locked_free_count.cpp",
        "if (change.note || (change.locked_frees && must_be_noted()))",
        "if (change.note)",
        law=3, smoke=True),
    "retires_with_a_releaser_inside": bug(
        "bugs/releasers_and_collector.cpp",
        "if (change.list) space_.push(&p);",
        wait(3, 300) + "if (change.list) space_.push(&p);",
        "const bool in_flight = p != current_ && !p->is_ready && !p->is_broken();",
        "const bool in_flight = false;",
        law=3),
    "borrowed_without_asking": bug(
        "threads/rows.cpp",
        "if (ALLOT_UNLIKELY(!take(*p))) {",
        "p = &places_[0];\n        if (!take(*p) && false) {",
        law=2),
    "heap_unused_under_a_local_handle": bug(
        "unit/row/closed_heaps.cpp",
        "return store().pages().size() == 0 && caches_.users() == 0 && store().guards().damage_is_reported();",
        "return store().pages().size() == 0 && store().guards().damage_is_reported();",
        law=3),
    "waiting_slots_not_taken": bug(
        "unit/row/accounts.cpp",
        "return got || place.find_waiting();",
        "return got;",
        law=2),
    "row_waits_in_two_steps": bug(
        "threads/guards.cpp",
        "return places_[at].exchange(row, std::memory_order_acq_rel);",
        "std::byte* const was = places_[at].load();" + wait(256, 300) + "places_[at].store(row); return was;",
        law=7),
    "damage_noted_without_the_lock": bug(
        "threads/guards.cpp",
        "const detail::lock_guard hold(lock_); if (n_ < entries_.size()) entries_[n_++] = {kind, row, type};",
        "const std::size_t at = n_;" + wait(1, 300) + "if (at < entries_.size()) entries_[at] = {kind, row, type}; n_ = at + 1;",
        law=7),
    "slots_that_came_are_written_over": bug(
        "unit/heap/slot_groups.cpp",
        "return std::is_same_v<Entry, detail::no_entry> || cache.is_empty();",
        "return true;",
        law=3),
    "page_given_with_its_owner": bug(
        "unit/row/page_map.cpp",
        "arena.set_owner(memory + at, nullptr);",
        ";",
        law=2),
    "home_dies_under_its_threads": bug(
        "threads/per_thread.cpp",
        "if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;",
        "delete this;",
        law=10),
    "releases_past_the_threads_caches": bug(
        "process/locked_operations.cpp",
        "if (ALLOT_LIKELY(threads::is_last(key_, mine))) mine->release(row); else release_elsewhere(row);",
        "release_shared(row);",
        law=3),
    "bins_stay_in_sight": bug(
        "threads/idle_caches.cpp",
        "thread_cache_base::block_owner(); this->hide_bins();",
        "thread_cache_base::block_owner();" + wait(1, 300),
        law=2),
    "caches_emptied_under_their_owner": bug(
        "threads/idle_caches.cpp",
        "cache.wait_for_owner(); cache.empty();",
        "cache.empty();",
        "slots[n] = row; set_size(n + 1);",
        wait(500, 50) + "slots[n] = row; set_size(n + 1);",
        law=2),
    "pages_returned_under_the_lock": bug(
        "unit/row/accounts.cpp",
        "const detail::lock_guard hold(store().lock()); collect(false, leaving);",
        "const detail::lock_guard hold(store().lock()); collect(false, leaving); leaving.give();",
        law=5),
    "leaving_pages_not_in_transit": bug(
        "threads/short_of_memory.cpp",
        "if (count_ == 0) move_.begin();",
        "",
        "while (Page* const p = pages_.first()) {",
        wait(1, 1000) + "while (Page* const p = pages_.first()) {",
        "provider_.given(count_, move_);",
        "provider_.given(count_);",
        law=2),
    "header_grows_with_its_guard": bug(
        "static/rows/sizes.cpp",
        "ALLOT_NO_UNIQUE_ADDRESS page_canary<Guard> guarded;",
        "alignas(64) page_canary<Guard> guarded;",
        law=6, smoke=True),
    "slots_in_caches_keep_pages_without_rows": bug(
        "unit/row/memory.cpp",
        "if (all < 8) return false;",
        "if (all != 0) return false;",
        law=3),
}
