"""Bugs of rows: links, seals, huge rows, rows in flight, managers and their threads."""
from .bug import bug, wait

BUGS = {
    "manager_ends_under_its_handles": bug(
        "death/rows.cpp",
        "spare_bins().close_all(); check_handles();",
        "spare_bins().close_all();",
        law=7),
    "double_release_not_seen": bug(
        "death/rows.cpp",
        "if (!is_row(was)) return drop_result::was_free;",
        "",
        law=7),
    "last_of_many_ends_nothing": bug(
        "threads/rows.cpp",
        "if (ALLOT_LIKELY(word.fetch_sub(1, std::memory_order_acq_rel) != sole_link)) return true;",
        wait(3, 20) + "word.fetch_sub(1, std::memory_order_acq_rel); return true;",
        law=3),
    "page_of_a_row_by_its_header_alone": bug(
        "conform/wrong_addresses.cpp",
        "if (ALLOT_UNLIKELY(owner == nullptr)) return none();",
        "",
        law=3),
    "saturated_row_is_counted_down": bug(
        "unit/row/link_count.cpp",
        "if ((was & link_bits) >= saturated) return drop_result::still_linked;",
        "",
        law=3),
    "holder_linked_in_two_steps": bug(
        "threads/rows.cpp",
        "word.fetch_add(1, std::memory_order_relaxed);",
        "const std::uint32_t now = load();" + wait(512, 20) + "word.store(now + 1);",
        law=3),
    "huge_entry_handed_out_twice": bug(
        "threads/huge_rows.cpp",
        "if (entry == free_) free_ = entry->free_link.load(std::memory_order_relaxed);",
        ";",
        law=2),
    "overrun_not_looked_for": bug(
        "death/rows.cpp",
        "if (!is_intact(p, row)) heap_of(p).guard_row(row);",
        "",
        law=7),
    "spare_bin_taken_twice": bug(
        "threads/spare_bins.cpp",
        "if (!at_[index].compare_exchange_strong(is, next, std::memory_order_acq_rel) || is == nothing) return nullptr;",
        wait(1, 3) + "at_[index].store(next, std::memory_order_release); if (is == nothing) return nullptr;",
        law=2),
}
