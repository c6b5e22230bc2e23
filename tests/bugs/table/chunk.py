"""Bugs of chunk arenas: classes, slabs, buddies, caches of threads, chunks."""
from .bug import bug

BUGS = {
    "chunk_arena_names_no_holders": bug(
        "unit/chunk/chunk_accounts.cpp",
        "if constexpr (policies::in_tree) ledger_.report(out);",
        "",
        within="chunk_arena"),
    "released_block_looks_live": bug(
        "unit/chunk/chunk_arena.cpp",
        "core_.map().set(at, map::cached(c));",
        ""),
    "pages_grown_past_the_limit": bug(
        "unit/chunk/chunk_arena.cpp",
        "pages_.grow(p, now, pages, taken)",
        "(taken.begin(), arena().grow_up(p, now, pages))"),
    "guests_come_in_without_asking": bug(
        "unit/chunk/block_cache.cpp",
        "return !inside_.exchange(true, std::memory_order_acquire);",
        "return inside_.store(true), true;"),
    "owner_does_not_look_who_asks": bug(
        "unit/sync/owner_entry.cpp",
        "if (ALLOT_LIKELY(!is_blocked())) return true;",
        "if (true) return true;"),
    "ended_threads_keep_their_blocks": bug(
        "threads/chunk_arena.cpp",
        "core_.empty(*this); core_.keep_counts(*this);",
        "core_.keep_counts(*this);"),
    "request_waits_for_its_own_move": bug(
        "threads/chunk_pages.cpp",
        "if (m->thread_ == thread) return false;",
        ""),
    "pages_given_back_unseen": bug(
        "threads/chunk_pages.cpp",
        "given.begin();",
        "",
        "pages_.give(first, n, [&] { given.end(); });",
        "pages_.give(first, n);"),
}
