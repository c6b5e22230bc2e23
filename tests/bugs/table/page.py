"""Bugs of arenas of pages, of the host's memory and of a device's."""
from .windows import wait

BUGS = {
    "device_header_looked_for_in_the_page": (
        "unit/row/device_rows.cpp", "page/arena_base.hpp",
        "range.headers_aside ? reinterpret_cast<const word*>(aside) : bitmap_.words()", "bitmap_.words()"),
    "device_trim_unmaps_beside_rows": (
        "unit/row/device_rows.cpp", "page/arena_base.hpp", "(pages & unit) != 0 && (taken & unit) == 0", "(pages & unit) != 0"),
    "device_trim_never_ends": (
        "unit/row/device_rows.cpp", "page/arena_base.hpp", "if (backing_ != nullptr) break;", ""),
    "device_units_stay_after_a_failure": (
        "unit/row/device_rows.cpp", "page/device_range.hpp", "if (state_of(u) == fresh) static_cast<void>(unmap(u));", ""),
    "device_unit_not_said_to_be_unmapped": (
        "unit/row/device_rows.cpp", "page/device_range.hpp", "        states_[unit].store(unmapped, std::memory_order_relaxed);\n", ""),
    "device_trim_does_not_wait": (
        "unit/row/rows_in_flight.cpp", "page/device_range.hpp", "if (!api_.synchronize(device_)) return false;", ""),
    "idle_pages_not_marked_when_given": (
        "unit/page/retain.cpp", "page/arena_base.hpp", "        if (ALLOT_UNLIKELY(idle_ != nullptr)) idle_->used(page, pages);\n", ""),
    "idle_walk_begins_too_early": (
        "unit/page/retain.cpp", "page/idle_pages.hpp", "next_ = now_() + after_;", "next_ = now_() + after_ / 2;"),
    "used_part_of_a_huge_page_goes_alone": (
        "unit/page/huge_os_pages.cpp", "page/system_pages.hpp",
        "if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) != 0) wide |= unit;",
        "if (const std::uint64_t unit = page_bitmap::run_mask(at, each); (pages & unit) == ~at) wide |= unit;"),
    "pages_given_in_two_steps": (
        "threads/arena.cpp", "page/page_bitmap.hpp",
        "#include <allot/config.hpp>\n", "#include <allot/config.hpp>\n#include <allot/sync/pause.hpp>\n",
        "good = (words_[w].fetch_and(~mask) & mask) == mask && good;",
        f"const std::uint64_t was = words_[w].load();\n            {wait(512, 20)}\n            words_[w].store(was & ~mask);\n"
        "            good = (was & mask) == mask && good;"),
    "holders_asked_with_the_lock": (
        "unit/chunk/chunk_accounts.cpp", "page/arena_holder.hpp",
        "        holders_lock_.unlock();\n        pages += walk.now->reclaim();\n        holders_lock_.lock();\n",
        "        pages += walk.now->reclaim();\n"),
    "holder_goes_while_it_is_asked": (
        "threads/arena.cpp", "page/arena_holder.hpp", "        while (is_asked()) yield();\n", ""),
    "holder_that_went_is_asked": (
        "threads/arena.cpp", "page/arena_holder.hpp", "                if (w->then == this) w->then = next_;\n", "                static_cast<void>(w);\n"),
    "holder_waits_for_its_own_thread": (
        "threads/arena.cpp", "page/arena_holder.hpp", "w->now == this && w->thread != sys::thread_token()", "w->now == this"),
}
