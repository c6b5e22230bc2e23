"""Bugs of chunk arenas: classes, slabs, buddies, caches of threads, chunks."""
from .bug import bug

BUGS = {
    "pages_kept_are_found_by_no_number": bug(
        "unit/chunk/page_block_cache.cpp",
        "if (word == 0 || (pages != 0 && (word & most) != pages)) return false;",
        "if (word == 0) return false;"),
    "pages_kept_while_memory_is_short": bug(
        "unit/chunk/chunk_arena.cpp",
        "while (const std::size_t kept = blocks_.drop_kept()) pages += kept;",
        ""),
    "aligned_pages_keep_those_behind": bug(
        "unit/chunk/chunk_arena.cpp",
        "if (before != more) pages_.give(p + (pages << shift()), more - before);",
        ";"),
    "little_takes_a_whole_chunk": bug(
        "unit/chunk/chunk_arena.cpp",
        "return min(max(part, least), chunk_);",
        "return max(part, chunk_);"),
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
        "map_.set_words(page_of(first), n, 0); given.begin();",
        "map_.set_words(page_of(first), n, 0);",
        "pages_.give(first, n, [&] { given.end(); });",
        "pages_.give(first, n);"),
}
