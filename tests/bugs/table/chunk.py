"""Bugs of chunk arenas: classes, slabs, buddies, caches of threads, chunks."""
from .windows import wait

BUGS = {
    "chunk_arena_charges_no_account": (
        "unit/chunk/chunk_accounts.cpp", "chunk/chunk_arena.hpp",
        "value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_, values...), family_",
        "value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_), family_"),
    "chunk_arena_names_no_holders": (
        "unit/chunk/chunk_accounts.cpp", "chunk/chunk_arena.hpp", "        if constexpr (policies::in_tree) ledger_.report(out);\n", ""),
    "chunk_arena_tells_the_tree_nothing": (
        "unit/chunk/chunk_accounts.cpp", "chunk/chunk_arena.hpp", "if constexpr (policies::in_tree) ledger_.tells(this, &tell_account);", ""),
    "buddy_forgets_to_join": (
        "conform/fit.cpp", "fit/buddy_fit.hpp",
        "while (p.order != t.top && is_free(t, p.order, p.index ^ 1)) {", "while (false && is_free(t, p.order, p.index ^ 1)) {"),
    "buddy_joins_with_the_next": (
        "conform/fit.cpp", "fit/buddy_fit.hpp",
        "while (p.order != t.top && is_free(t, p.order, p.index ^ 1)) {", "while (p.order != t.top && is_free(t, p.order, p.index | 1)) {"),
    "buddy_cuts_the_largest": (
        "unit/fit/buddy_fit.cpp", "fit/buddy_fit.hpp",
        "const auto from = static_cast<unsigned>(std::countr_zero(orders));\n"
        "            for (number t = with_free_[from]; t != nobody; t = trees_[t].next[from])\n                if",
        "const auto from = static_cast<unsigned>(std::bit_width(orders_) - 1);\n"
        "            for (number t = with_free_[from]; t != nobody; t = trees_[t].next[from])\n                if"),
    "buddy_gives_a_range_in_use": (
        "unit/fit/buddy_fit.cpp", "fit/buddy_fit.hpp", "        if (!is_free(trees_[t], trees_[t].top, 0)) return false;\n", ""),
    "slab_stays_when_empty": (
        "unit/fit/runs_fit.cpp", "fit/runs_fit.hpp",
        "            if (book_.give_slot(x, address)) {", "            if (book_.give_slot(x, address) && false) {"),
    "slab_of_one_quantum": (
        "unit/fit/runs_fit.cpp", "fit/runs_fit.hpp",
        "        while (bytes % size != 0) bytes += quantum;\n", "        while (bytes < size) bytes += quantum;\n"),
    "slot_given_back_twice": (
        "unit/fit/runs_fit.cpp", "fit/runs_fit.hpp", "            if (!book_.has_slot(x, address)) return 0;\n", ""),
    "runs_round_by_eighths": (
        "unit/fit/runs_fit.cpp", "fit/runs_fit.hpp",
        "std::size_t{1} << (log2_floor(n - 1) - 2);\n        return align_up(n, step);",
        "std::size_t{1} << (log2_floor(n - 1) - 1);\n        return align_up(n, step);"),
    "class_of_a_doubling_halved": (
        "unit/chunk/block_classes.cpp", "chunk/block_classes.hpp", "if (n <= Unit * Parts)", "if (n < Unit * Parts / 2)"),
    "cache_beyond_its_budget": (
        "unit/chunk/chunk_arena.cpp", "chunk/block_cache.hpp", "n >= b.limit || bytes_now() + bytes > budget_", "n >= b.limit"),
    "last_large_block_kept_for_ever": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_core.hpp", "        if (std::byte* const last = cache.take_last()) heap_.give(&last, 1);\n", ""),
    "last_large_block_of_any_class": (
        "unit/chunk/block_cache.cpp", "chunk/block_cache.hpp",
        "kept_of_.load(std::memory_order_relaxed) == c ? take_last()", "kept_of_.load(std::memory_order_relaxed) != none ? take_last()"),
    "large_block_shrinks_to_a_class": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_arena.hpp", "(chunk_bytes() >> arena().page_shift()) + 1);", "std::size_t{1});"),
    "chunks_only_by_halves": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_heap.hpp",
        "            if (chunk == least) break;\n", "            if (chunk / 2 < least) break;\n"),
    "new_chunk_is_anybodys": (
        "threads/chunk_arena.cpp", "chunk/chunk_heap.hpp",
        "            if (added) got = cut_held(c, align, out, many);\n            else", "            if (!added)",
        "        taken.end();\n        family_.settled();\n        return got;\n",
        "        taken.end();\n        " + wait(4, 20) + "\n        return cut(c, align, out, many);\n",
        "                if (got == 0) got = cut(c, align, out, many); // who was asked for pages may have made room here, too\n"
        "                if (chunk == least) break;\n",
        "                if (got == 0) break;\n",
        "while (got == 0 && short_of_pages.looks_again());", "while (false);",
        "#include <allot/sync/spin_lock.hpp>\n", "#include <allot/sync/spin_lock.hpp>\n#include <allot/sync/pause.hpp>\n"),
    "device_chunks_look_like_the_hosts": (
        "unit/buffer/device.cpp", "chunk/chunk_policies.hpp", "provided_by<answer<category::page>>::template has<property::host_accessible>", "true"),
    "driven_out_block_lost": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_core.hpp",
        "if (std::byte* const before = cache.keep_last(c, block)) out[n++] = before;", "cache.keep_last(c, block);"),
    "idle_threads_keep_their_blocks": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_core.hpp", "        if constexpr (Policies::per_thread) core.flush_threads();\n", ""),
    "owner_does_not_look_who_asks": (
        "unit/chunk/block_cache.cpp", "chunk/block_cache.hpp",
        "        if (ALLOT_LIKELY(!asked_.load(std::memory_order_acquire))) return true;\n", "        if (true) return true;\n"),
    "guests_come_in_without_asking": (
        "unit/chunk/block_cache.cpp", "chunk/block_cache.hpp",
        "return !inside_.exchange(true, std::memory_order_acquire);", "return inside_.store(true), true;"),
    "nobody_waits_for_the_owner": (
        "unit/chunk/block_cache.cpp", "chunk/block_cache.hpp", "        while (inside_.load(std::memory_order_acquire)) yield();\n", ""),
    "ended_threads_keep_their_blocks": (
        "threads/chunk_arena.cpp", "chunk/thread_blocks.hpp",
        "        core_.empty(cache_);\n        core_.keep_counts(cache_);", "        core_.keep_counts(cache_);"),
    "ended_threads_counted_nothing": (
        "unit/chunk/chunk_arena.cpp", "chunk/thread_blocks.hpp",
        "        core_.empty(cache_);\n        core_.keep_counts(cache_);", "        core_.empty(cache_);"),
    "chunk_held_by_one_block": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_heap.hpp",
        "give_back(forced, forced ? arena().page_bytes() : chunk_);", "give_back(forced, chunk_);"),
    "free_chunks_stay": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_heap.hpp",
        "excess_.store(true, std::memory_order_relaxed);", "excess_.store(false, std::memory_order_relaxed);"),
    "pool_starves_large_requests": (
        "conform/chunks.cpp", "chunk/chunk_heap.hpp",
        "return give_back(forced, forced ? arena().page_bytes() : chunk_);", "return forced ? 0 : give_back(false, chunk_);"),
    "released_block_looks_live": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_arena.hpp", "        core_.map().set(at, map::cached(c));\n", ""),
    "large_pages_uncharged": (
        "conform/chunks.cpp", "chunk/chunk_heap.hpp", "        large_pages_.fetch_sub(pages, std::memory_order_relaxed);\n", ""),
    "pages_grown_past_the_limit": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_heap.hpp",
        "        if (!family_.grow(p, now, pages, taken)) return false;\n        taken.end();\n",
        "        if (!arena().grow_up(p, now, pages)) return false;\n"),
    "resized_block_keeps_its_class": (
        "unit/chunk/chunk_arena.cpp", "chunk/chunk_arena.hpp",
        "            if (now != from) core_.map().set(at, map::live(now));\n            else if", "            if"),
    "request_for_blocks_looks_once": (
        "threads/chunk_arena.cpp", "chunk/chunk_heap.hpp", "while (got == 0 && short_of_pages.looks_again());", "while (false);"),
    "request_for_pages_looks_once": (
        "threads/chunk_arena.cpp", "chunk/chunk_heap.hpp", "while (p == nullptr && short_of_pages.looks_again());", "while (false);"),
    "requests_look_once_and_pages_go_slowly": (
        "threads/chunk_arena.cpp", "chunk/chunk_heap.hpp", "while (got == 0 && short_of_pages.looks_again());", "while (false);",
        "            family_.give(first, n, [&]", "            " + wait(7, 30) + "\n            family_.give(first, n, [&]"),
    "pages_given_back_unseen": (
        "threads/chunk_arena.cpp", "chunk/chunk_heap.hpp",
        "                    given.begin();\n", "", "family_.give(first, n, [&] { given.end(); });", "family_.give(first, n);"),
    "pages_seen_once_they_are_charged": (
        "threads/chunk_arena.cpp", "heap/family.hpp",
        "        if constexpr (!calls_listeners) move.begin();\n", "",
        "            if constexpr (!calls_listeners) move.end();\n            return {};", "            return {};",
        "        if constexpr (calls_listeners) move.begin();\n        const auto got = get();\n        if (got) return ledger_.confirm(bytes), got;\n"
        "        if constexpr (calls_listeners) move.end(); // they hear of it\n        ledger_.cancel(bytes);\n",
        "        const auto got = get();\n        if (got) return ledger_.confirm(bytes), move.begin(), got;\n"
        "        ledger_.cancel(bytes);\n        move.begin();\n"),
    "charge_is_told_inside_a_move": (
        "threads/chunk_arena.cpp", "heap/family.hpp",
        "        if constexpr (!calls_listeners) move.begin();\n", "        move.begin();\n",
        "            if constexpr (!calls_listeners) move.end();\n", "            move.end();\n",
        "        if constexpr (calls_listeners) move.begin();\n", ""),
    "move_that_ended_meanwhile_forgotten": (
        "threads/chunk_arena.cpp", "chunk/pages_under_way.hpp", "r->moved_ = r->moved_ || r->thread_ != thread_;", "r->moved_ = false;"),
    "request_waits_for_its_own_move": (
        "threads/chunk_arena.cpp", "chunk/pages_under_way.hpp", "            if (m->thread_ == thread) return false;\n", ""),
    "who_is_asked_does_not_wait": (
        "threads/chunk_arena.cpp", "chunk/chunk_heap.hpp",
        "if (pages_under_way::request{under_way_}.wait()) pages += give_back(true, arena().page_bytes());", ""),
    "last_look_only_where_holders_gave": (
        "threads/chunk_arena.cpp", "heap/family.hpp", "        arena_.ask_holders(); // where", "        if (arena_.ask_holders() == 0) return nullptr; // where"),
}
