"""Bugs of heaps of rows: pages and their lists, held slots, tallies, caches, guards."""
from .windows import wait

BUGS = {
    "device_pages_keep_room_for_a_header": (
        "unit/row/device_rows.cpp", "heap/heaplet.hpp",
        "if constexpr (Place::aside) return allot::cut(page_bytes, 0,",
        "if constexpr (Place::aside) return allot::cut(page_bytes, sizeof(heaplet),"),
    "device_header_written_into_its_page": (
        "unit/row/device_rows.cpp", "heap/fixed_heap.hpp",
        "if constexpr (Place::aside) p = reinterpret_cast<page*>(taken);\n        else p =", "p ="),
    "device_page_told_by_its_heap": (
        "unit/row/device_rows.cpp", "heap/fixed_heap.hpp",
        "if constexpr (Place::aside) family_.arena().set_owner(p->base(), static_cast<page_header*>(p));\n"
        "        else family_.arena().set_owner(taken, this);\n",
        "        family_.arena().set_owner(p->base(), this);\n"),
    "high_water_mark_off_by_one": (
        "model/rows.cpp", "heap/fixed_heap.hpp",
        "p.fresh.store(fresh + k, std::memory_order_relaxed);", "p.fresh.store(fresh + k - (k > 1), std::memory_order_relaxed);"),
    "census_forgets_where_it_was": (
        "unit/row/by_type.cpp", "heap/page_lists.hpp", "        if (walk_at_ == &p) walk_at_ = all_.after(p);\n", ""),
    "limited_heap_lets_one_more_in": (
        "unit/row/shared_by.cpp", "heap/fixed_heap.hpp",
        "handles_.load(std::memory_order_relaxed) < plan_.users", "handles_.load(std::memory_order_relaxed) <= plan_.users"),
    "page_given_with_its_owner": (
        "unit/row/page_owners.cpp", "heap/fixed_heap.hpp", "        family_.arena().set_owner(memory, nullptr);\n", ""),
    "page_given_without_refund": (
        "model/rows.cpp", "heap/family.hpp",
        "        arena_.give(first, pages);\n        ledger_.refund(pages << arena_.page_shift());", "        arena_.give(first, pages);"),
    "counts_before_the_slot_is_put": (
        "bugs/releasers_and_collector.cpp", "heap/fixed_heap.hpp",
        "        p.slots.put(p.base(), cut_, &row, 1);\n        count(p, 1);",
        f"        count(p, 1);\n        {wait(3, 300)}\n        p.slots.put(p.base(), cut_, &row, 1);"),
    "retires_without_draining": (
        "bugs/soak.cpp", "heap/page_lists.hpp", "        drain_space();\n        std::size_t given = 0;", "        std::size_t given = 0;"),
    "retires_with_a_releaser_inside": (
        "bugs/releasers_and_collector.cpp", "heap/page_lists.hpp",
        "        if (change.list) space_.push(&p);\n", f"        {wait(3, 300)}\n        if (change.list) space_.push(&p);\n",
        "                const bool in_flight = p != current_ && !p->is_ready;", "                const bool in_flight = false;"),
    "release_all_forgets_the_charge": (
        "unit/row/row_heap.cpp", "heap/fixed_heap.hpp",
        "        gone.add(p);\n        if constexpr (!Place::aside) sys::unpoison(memory, family_.page_bytes());\n        family_.give(memory, 1);",
        "        gone.add(p);\n        if constexpr (!Place::aside) sys::unpoison(memory, family_.page_bytes());\n        family_.arena().give(memory, 1);"),
    "alignment_ignored": (
        "model/rows.cpp", "heap/heaplet.hpp",
        "allot::cut(page_bytes, sizeof(heaplet), row_bytes, align, header,",
        "allot::cut(page_bytes, sizeof(heaplet), row_bytes, 4, header,"),
    "held_bits_without_the_lock": (
        "threads/rows.cpp", "heap/fixed_heap.hpp",
        "        if (lock_.try_lock()) {\n            const std::lock_guard hold(lock_, std::adopt_lock);", "        if (true) {",
        "        if (ALLOT_UNLIKELY(p.held.add(n))) look(p);\n",
        f"        const auto was = p.held;\n        {wait(512, 20)}\n        p.held = was;\n        if (ALLOT_UNLIKELY(p.held.add(n))) look(p);\n"),
    "held_slots_told_twice": (
        "model/rows.cpp", "heap/page_lists.hpp", "std::exchange(p.held, {}).slots", "p.held.slots"),
    "held_slots_not_told_before_collecting": (
        "unit/heap/held_count.cpp", "heap/page_lists.hpp", "        if (!owing_.empty()) settle_all();\n", ""),
    "held_slots_not_told_when_none_are_found": (
        "unit/heap/held_count.cpp", "heap/page_lists.hpp", "if (owing_.empty()) return 0;", "if (size_ != 0 || owing_.empty()) return 0;"),
    "page_forgotten_when_too_many_owe": (
        "unit/heap/held_count.cpp", "heap/page_lists.hpp",
        "if (Page* const first = owing_.room()) settle(*first);", "static_cast<void>(owing_.room());"),
    "heap_not_noted_beside_held_slots": (
        "unit/heap/held_count.cpp", "heap/fixed_heap.hpp",
        "if (change.note || (change.owed && !noted.load(std::memory_order_relaxed)))", "if (change.note)"),
    "tally_lost_at_leave": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp",
        "        spill(cache, cache.size());\n        cache.tally.settle(told());", "        spill(cache, cache.size());"),
    "tally_not_told_at_shortage": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp", "[&] { return cache.tally.settle(told()); }", "[] { return false; }"),
    "tally_outlives_its_pages": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp", "            shared.cache.tally.forget();\n", ""),
    "tally_never_swept": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp", "        tally.sweep(told());\n", ""),
    "tallied_slots_taken_for_rows": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp", " + tally(*c).pending();", ";"),
    "borrowed_without_asking": (
        "threads/rows.cpp", "heap/shared_caches.hpp",
        "            if (!places_[at].taken.exchange(true, std::memory_order_acquire)) return borrowed(&places_[at]);",
        "            if (places_[at & 0].taken.exchange(true, std::memory_order_acquire) || true) return borrowed(&places_[0]);"),
    "soak_meets_a_cache_lent_twice": (
        "bugs/soak.cpp", "heap/shared_caches.hpp",
        "            if (!places_[at].taken.exchange(true, std::memory_order_acquire)) return borrowed(&places_[at]);",
        "            if (places_[at].taken.exchange(true, std::memory_order_acquire) || true) return borrowed(&places_[at]);"),
    "broken_page_used_again": (
        "conform/guards.cpp", "heap/page_lists.hpp", "if (!p.is_broken() && !p.state.unlist", "if (!p.state.unlist"),
    "broken_page_never_given_back": (
        "conform/guards.cpp", "heap/page_lists.hpp", "(in_flight && !p->is_broken())", "in_flight"),
    "waiting_rows_not_drained": (
        "conform/guards.cpp", "heap/fixed_heap.hpp", "        this->end_waiting([this](std::byte* row) { put_one(row); });\n", ""),
    "waiting_rows_not_looked_at": (
        "conform/guards.cpp", "heap/slot_guard.hpp", "        if (good) return;\n", "        if (good || true) return;\n"),
    "untouched_memory_not_zeroed": (
        "conform/guards.cpp", "heap/slot_guard.hpp",
        "        if constexpr (Guard::wipes) sys::wipe(row, usable());\n        guard_row", "        guard_row"),
    "thread_has_caches_from_its_first_row": (
        "threads/per_thread.cpp", "heap/thread_places.hpp", "enough = 32;", "enough = 1;"),
    "manager_leaves_its_threads_caches": (
        "threads/per_thread.cpp", "heap/thread_places.hpp",
        "            for (entry* e = home->entries_.first(); e != nullptr; e = home->entries_.after(*e)) e->part.close();\n", ""),
    "home_dies_under_its_threads": (
        "threads/per_thread.cpp", "heap/thread_places.hpp",
        "        if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;", "        delete this;"),
    "releases_past_the_threads_caches": (
        "process/locked_operations.cpp", "heap/thread_places.hpp",
        "return ALLOT_LIKELY(last.home == this) ? last.part : look();", "return last.home == this ? nullptr : nullptr;"),
    "row_waits_in_two_steps": (
        "threads/guards.cpp", "heap/heap_guard.hpp",
        "        return places_[at].exchange(row, std::memory_order_acq_rel);",
        f"        std::byte* const was = places_[at].load();\n        {wait(256, 300)}\n"
        "        places_[at].store(row);\n        return was;"),
    "damage_noted_without_the_lock": (
        "threads/guards.cpp", "heap/heap_guard.hpp",
        "        const std::lock_guard hold(lock_);\n        if (n_ < notes_.size()) notes_[n_++] = {kind, row, type};",
        f"        const std::size_t at = n_;\n        {wait(1, 300)}\n"
        "        if (at < notes_.size()) notes_[at] = {kind, row, type};\n        n_ = at + 1;"),
}
