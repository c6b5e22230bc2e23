"""Bugs of arenas of pages, of the host's memory and of a device's."""
from .bug import bug, wait

BUGS = {
    "device_trim_unmaps_beside_rows": bug(
        "unit/row/device_rows.cpp",
        "(pages & unit) != 0 && (taken & unit) == 0",
        "(pages & unit) != 0"),
    "used_part_of_a_huge_page_goes_alone": bug(
        "unit/page/huge_os_pages.cpp",
        "if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) != 0) wide |= unit;",
        "if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) == ~at) wide |= unit;"),
    "pages_given_in_two_steps": bug(
        "threads/arena.cpp",
        "ok = (words_[w].fetch_and(~mask) & mask) == mask && ok;",
        "const std::uint64_t was = words_[w].load();" + wait(512, 20) + "words_[w].store(was & ~mask); ok = (was & mask) == mask && ok;"),
    "holders_asked_with_the_lock": bug(
        "unit/chunk/chunk_accounts.cpp",
        "walk here(*this); while (Node* const node = here.step()) visit(*node);",
        "static spin_lock one; const detail::lock_guard hold(one); walk here(*this); while (Node* const node = here.step()) visit(*node);"),
    "holder_waits_for_its_own_thread": bug(
        "threads/arena.cpp",
        "w->current == &node && w->thread != sys::thread_token()",
        "w->current == &node"),
    "idle_memory_is_returned_in_a_listener": bug(
        "unit/page/retain.cpp",
        "if (detail::steps_are_barred != 0) return; ask_idle_clients();",
        "ask_idle_clients();"),
    "quarantine_is_emptied_by_requests_of_others": bug(
        "unit/page/retain.cpp",
        "if (!when_idle_) return;",
        ""),
    "objects_that_work_are_emptied_too": bug(
        "unit/page/retain.cpp",
        "held_before_.exchange(now, std::memory_order_relaxed) == now && now != 0",
        "now != 0"),
    "objects_that_sit_idle_keep_pages": bug(
        "unit/page/retain.cpp",
        "ask_idle_clients(); if (owner_ != nullptr)",
        "if (owner_ != nullptr)"),
    "arenas_that_sit_idle_keep_pages": bug(
        "unit/page/retain.cpp",
        "return_some_of_others(*owner_, 1)",
        "return_some_of_others(*owner_, 0)"),
    "devices_that_sit_idle_keep_pieces": bug(
        "unit/device_allocator/idle.cpp",
        "return_some_of_others(among_idle_, SIZE_MAX) == 0",
        "return_some_of_others(among_idle_, 0) == 0"),
    "idle_owner_ends_while_it_is_called": bug(
        "unit/account/idle_owners.cpp",
        "while (is_called(o)) yield();",
        ""),
    "pages_go_back_when_they_are_given": bug(
        "unit/page/retain.cpp",
        "confirmed_.fetch_sub(pages, std::memory_order_relaxed); put_back(page, pages);",
        "confirmed_.fetch_sub(pages, std::memory_order_relaxed); put_back(page, pages); static_cast<void>(trim());"),
    "full_arena_is_called_fragmented": bug(
        "unit/page/arena.cpp",
        "f.free > f.largest_free_run ?",
        "f.free >= f.largest_free_run ?"),
    "reservations_do_not_shrink": bug(
        "unit/page/address_space.cpp",
        "max(left / 2 / (now.arenas + 1), least)",
        "max(left, least)"),
    "ended_arenas_stay_counted": bug(
        "unit/page/address_space.cpp",
        "count(arena.mapping_, std::size_t{0} - 1);",
        ""),
    "full_range_is_called_a_limit": bug(
        "unit/page/address_space.cpp",
        "range_is_limit_ = limit_bytes >> shift_ > pages;",
        "range_is_limit_ = false;"),
}
