"""Bugs of rows: links, seals, huge rows, rows in flight, managers and their threads."""
from .bug import bug, wait

BUGS = {
    "type_index_forgets_when_it_grows": bug(
        "unit/row/row_types.cpp",
        "if (old[i] != 0) *find_entry(*(*this)[old[i]]) = old[i];",
        ";"),
    "manager_ends_under_its_handles": bug(
        "death/rows.cpp",
        "spare_bins().close_all(); core_.check_handles();",
        "spare_bins().close_all();"),
    "double_release_not_seen": bug(
        "death/rows.cpp",
        "if (!is_row(was)) return drop_result::was_free;",
        ""),
    "last_holder_forgets_the_destructor": bug(
        "unit/row/row_manager.cpp",
        "if ((was & flags) != 0) { word.store(was, std::memory_order_relaxed); return drop_result::needs_destroy; }",
        ""),
    "last_of_many_ends_nothing": bug(
        "threads/rows.cpp",
        "if (ALLOT_LIKELY(word.fetch_sub(1, std::memory_order_acq_rel) != sole_link)) return true;",
        wait(3, 20) + "word.fetch_sub(1, std::memory_order_acq_rel); return true;"),
    "seal_not_looked_at": bug(
        "unit/row/row_seal.cpp",
        "if ((was & flags) != 0) {",
        "if ((was & constructed) != 0) {"),
    "page_of_a_row_by_its_header_alone": bug(
        "conform/wrong_addresses.cpp",
        "if (ALLOT_UNLIKELY(owner == nullptr)) return none();",
        ""),
    "links_run_over": bug(
        "unit/row/link_count.cpp",
        "if (ALLOT_UNLIKELY(was - sole_link >= saturated - 2)) return false;",
        ""),
    "saturated_row_is_counted_down": bug(
        "unit/row/link_count.cpp",
        "if ((was & link_bits) >= saturated) return drop_result::still_linked;",
        ""),
    "holder_linked_in_two_steps": bug(
        "threads/rows.cpp",
        "word.fetch_add(1, std::memory_order_relaxed);",
        "const std::uint32_t now = load();" + wait(512, 20) + "word.store(now + 1);"),
    "huge_entry_handed_out_twice": bug(
        "threads/huge_rows.cpp",
        "if (entry == free_) free_ = entry->free_link.load(std::memory_order_relaxed);",
        ";"),
    "lent_rows_released_before_the_kernel_is_done": bug(
        "unit/row/rows_in_flight.cpp",
        "if (!done || !*done) {",
        "if (!done) {"),
    "overrun_not_looked_for": bug(
        "death/rows.cpp",
        "if (!is_intact(p, row)) heap_of(p).guard_row(row); if constexpr (guard::waits != 0) {",
        "if constexpr (guard::waits != 0) {"),
    "handle_keeps_no_slots_of_others": bug(
        "unit/row/page_map.cpp",
        "if (own_ == nullptr || index == heap_config::no_index) return false;",
        "if (own_ == nullptr || own_->bins[index]->tag != tag) return false;"),
    "spare_bin_taken_twice": bug(
        "threads/spare_bins.cpp",
        "if (!at_[index].compare_exchange_strong(is, next, std::memory_order_acq_rel) || is == nothing) return nullptr;",
        wait(1, 3) + "at_[index].store(next, std::memory_order_release); if (is == nothing) return nullptr;"),
    "spare_bin_outlives_its_manager": bug(
        "death/rows.cpp",
        "core_.close_threads(); core_.buckets().spare_bins().close_all();",
        "core_.close_threads();"),
    "trace_without_samples_costs_each_row": bug(
        "codegen/off_costs_nothing.py",
        "if constexpr (policies::watch::every_nth_row != 0)",
        "if constexpr (policies::watch::events != 0) asm volatile(\"nop\"); if constexpr (policies::watch::every_nth_row != 0)"),
}
