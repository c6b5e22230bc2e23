"""Bugs of rows: links, seals, huge rows, rows in flight, managers and their threads."""
from .windows import wait

BUGS = {
    "device_huge_row_counts_in_front": (
        "unit/row/device_rows.cpp", "row/huge_rows.hpp",
        "if constexpr (Place::aside) return reinterpret_cast<std::byte*>(static_cast<huge_header_aside&>(h).type_and_count + 2);\n        else return row;",
        "return row;"),
    "device_huge_row_stays_known": (
        "unit/row/device_rows.cpp", "row/huge_rows.hpp", "        family_.arena().set_owner(run, nullptr);\n        h.ops = nullptr;\n", ""),
    "huge_row_is_nobodys": (
        "unit/row/row_heap.cpp", "row/huge_rows.hpp",
        "        family_.arena().set_owner(base, static_cast<page_header*>(h)); // no page of rows is nobody's\n", ""),
    "lent_rows_released_before_the_kernel_is_done": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "if (!done || !*done) {", "if (!done) {"),
    "lent_rows_filed_under_a_handle": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "        if (!id || *id != b.id) return false;\n", ""),
    "lent_rows_each_with_an_event": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "static constexpr std::size_t most = 60;", "static constexpr std::size_t most = 1;"),
    "lent_rows_forgotten_without_an_event": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "            if (!made) return false;\n", "            if (!made) return true;\n"),
    "lent_list_kept_where_the_copy_failed": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp",
        "            rows_.release(list);\n            return copied.error();", "            return copied.error();"),
    "limited_heap_forgets_who_left": (
        "unit/row/shared_by.cpp", "row/row_manager.hpp", "if (heap.close()) heap.reclaim(true);", "heap.reclaim(true);"),
    "huge_row_of_nobody": (
        "unit/row/page_owners.cpp", "row/huge_rows.hpp",
        "        family_.arena().set_owner(base, static_cast<page_header*>(h)); // no page of rows is nobody's\n", ""),
    "double_release_not_seen": (
        "death/rows.cpp", "row/link_count.hpp", "        if ((was & holders) == 0) return fate::was_free;\n", ""),
    "release_all_destroys_nothing": (
        "unit/row/row_heap.cpp", "row/row_heap.hpp",
        "                if (type_->destroy != nullptr || type_->check_bytes() != 0)\n                    rows::for_each_live",
        "                if (false)\n                    rows::for_each_live"),
    "last_holder_forgets_the_destructor": (
        "unit/row/row_manager.cpp", "row/link_count.hpp", "        if ((was & (constructed | sealed)) != 0) return fate::destroyed;\n", ""),
    "last_of_many_ends_nothing": (
        "threads/rows.cpp", "row/link_count.hpp",
        "        if (ALLOT_LIKELY(word.fetch_sub(1, std::memory_order_acq_rel) != 1)) return true;\n",
        f"        {wait(3, 20)}\n        word.fetch_sub(1, std::memory_order_acq_rel);\n        return true;\n"),
    "shared_row_freed_at_once": (
        "model/rows.cpp", "row/link_count.hpp",
        "        if (ALLOT_UNLIKELY(load() != alone)) return false;", "        if (ALLOT_UNLIKELY(load() == 0)) return false;"),
    "mark_taken_for_a_holder": (
        "unit/row/scanned_rows.cpp", "row/link_count.hpp",
        "static constexpr std::uint32_t holders = sealed - 1;", "static constexpr std::uint32_t holders = constructed - 1;"),
    "overrun_not_looked_for": (
        "conform/guards.cpp", "row/slot_rows.hpp", "        if (!is_intact(p, row)) heap_of(p).guard_row(row);\n", ""),
    "canary_stays_broken": (
        "conform/guards.cpp", "row/slot_rows.hpp",
        "        if (!is_intact(p, row)) heap_of(p).guard_row(row);\n", "        static_cast<void>(is_intact(p, row));\n"),
    "link_left_in_a_zeroed_row": (
        "conform/guards.cpp", "row/slot_rows.hpp", "            std::memset(row, 0, Slots::min_row_bytes);", "            std::memset(row, 0, 0);"),
    "seal_not_looked_at": (
        "unit/row/row_seal.cpp", "row/link_count.hpp",
        "        if ((was & (constructed | sealed)) != 0) return fate::destroyed;",
        "        if ((was & constructed) != 0) return fate::destroyed;"),
    "check_in_the_capacity": (
        "unit/row/row_seal.cpp", "row/slot_rows.hpp", "return room(p.cut) - type_of(p, row)->check_bytes();", "return room(p.cut);"),
    "holder_linked_in_two_steps": (
        "threads/rows.cpp", "row/link_count.hpp",
        "#include <allot/config.hpp>\n", "#include <allot/config.hpp>\n#include <allot/sync/pause.hpp>\n",
        "word.fetch_add(1, std::memory_order_relaxed);", f"const std::uint32_t now = load(); {wait(512, 20)} word.store(now + 1);"),
    "huge_place_taken_in_two_steps": (
        "threads/huge_rows.cpp", "row/huge_rows.hpp",
        "                    place.row.compare_exchange_strong(expected, reserved(), std::memory_order_acq_rel))",
        f"                    ([] {wait(512, 20)}(), place.row.store(reserved()), expected == nullptr))"),
}
