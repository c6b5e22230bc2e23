"""Bugs of chunk arenas: classes, slabs, buddies, caches of threads, chunks."""
from .bug import bug

BUGS = {
    "released_block_looks_live": bug(
        "unit/chunk/chunk_arena.cpp",
        "core_.map().set(at, map::cached(c));",
        "",
        law=7),
    "pages_grown_past_the_limit": bug(
        "unit/chunk/chunk_arena.cpp",
        "pages.charged(more, asked, move, [&](auto& budget) { return arena.grow_up(old_first_, old_pages_, pages_, budget, asked); })",
        "(move.begin(), arena.grow_up(old_first_, old_pages_, pages_))",
        law=1),
    "owner_does_not_look_who_asks": bug(
        "unit/sync/owner_entry.cpp",
        "if (ALLOT_LIKELY(!is_blocked())) return true;",
        "if (true) return true;",
        law=2),
    "ended_threads_keep_their_blocks": bug(
        "threads/chunk_arena.cpp",
        "core_.empty(*this); core_.keep_counts(*this);",
        "core_.keep_counts(*this);",
        law=10),
    "request_waits_for_its_own_move": bug(
        "threads/chunk_pages.cpp",
        "if (m->thread_ == thread) return false;",
        "",
        law=4),
    "pages_given_back_unseen": bug(
        "threads/chunk_pages.cpp",
        "map_.set_words(page_of(first), n, 0); given.begin();",
        "map_.set_words(page_of(first), n, 0);",
        "pages_.give(first, n, [&] { given.end(); });",
        "pages_.give(first, n);",
        law=2),
}
