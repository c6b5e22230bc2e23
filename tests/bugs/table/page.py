"""Bugs of arenas of pages, of the host's memory and of a device's."""
from .bug import bug, wait

BUGS = {
    "pages_given_in_two_steps": bug(
        "threads/arena.cpp",
        "ok = (words_[w].fetch_and(~mask) & mask) == mask && ok;",
        "const std::uint64_t was = words_[w].load();" + wait(512, 20) + "words_[w].store(was & ~mask); ok = (was & mask) == mask && ok;",
        law=2, smoke=True),
    "holders_asked_with_the_lock": bug(
        "unit/chunk/chunk_accounts.cpp",
        "std::size_t bytes = 0; level_.each_tenant(",
        "static detail::spin_lock one; const detail::lock_guard hold(one); std::size_t bytes = 0; level_.each_tenant(",
        law=5),
    "pages_go_back_when_they_are_given": bug(
        "unit/page/retain.cpp",
        "limit_.unconfirm(n); put_back(first, n, n);",
        "limit_.unconfirm(n); put_back(first, n, n); static_cast<void>(trim());",
        law=3),
    "rest_is_free_before_its_huge_page_is_there": bug(
        "model/pages_in_steps.cpp",
        "if (is_right && has_low) is_right = settle(of.first);",
        "if (of.rest != 0) free_rest(got, of, all && is_right); if (is_right && has_low) is_right = settle(of.first);",
        "if (of.rest != 0) free_rest(got, of, all && is_right);",
        "",
        law=1),
    "full_arena_is_called_fragmented": bug(
        "unit/page/arena.cpp",
        "f.free > f.largest_free_run ?",
        "f.free >= f.largest_free_run ?",
        law=8, smoke=True),
    "ended_arenas_stay_counted": bug(
        "unit/page/address_space.cpp",
        "count(mapping_of(arena), std::size_t{0} - 1);",
        "",
        law=10, smoke=True),
}
