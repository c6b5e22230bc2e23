"""Bugs of free slots of a page: bitmaps, lists, scanning, tallies, the state of a page."""
from .windows import YIELDS, wait

BUGS = {
    "given_back_without_listed_flag": (
        "model/rows.cpp", "slots/state.hpp", "now |= (list ? listed : 0) | (note ? noted : 0);", "now |= (note ? noted : 0);"),
    "given_back_without_noted_flag": (
        "bugs/soak.cpp", "slots/state.hpp", "now |= (list ? listed : 0) | (note ? noted : 0);", "now |= (list ? listed : 0);"),
    "empty_pages_never_noted": (
        "unit/row/row_heap.cpp", "slots/state.hpp",
        "const bool note = (was & noted) == 0 && count(now) >= static_cast<std::int64_t>(whole);", "const bool note = false;"),
    "retires_a_page_with_rows": (
        "model/rows.cpp", "slots/state.hpp",
        "            if (count(was) >= static_cast<std::int64_t>(whole)) return true;",
        "            if (count(was) + 1 >= static_cast<std::int64_t>(whole)) return true;"),
    "summary_bit_not_set_again": (
        "conform/slots.cpp", "slots/bitmap.hpp", "                    if (bits != 0) hold(at, bits);\n", ""),
    "held_bits_not_counted": (
        "conform/slots.cpp", "slots/bitmap.hpp", "            held_count_ += static_cast<std::uint32_t>(std::popcount(bits));\n", ""),
    "chain_linked_to_itself": (
        "conform/slots.cpp", "slots/linked.hpp",
        "set_link(code, rows[i], offset(page, rows[i + 1]));", "set_link(code, rows[i], offset(page, rows[i]));"),
    "cut_one_slot_too_many": (
        "unit/slots/geometry.cpp", "slots/geometry.hpp",
        "return first_for(n) - header + n * stride <= page_bytes;", "return first_for(n) - header + n * stride <= page_bytes + stride;"),
    "hint_cleared_after_the_look": (
        "conform/slots.cpp", "slots/scanning.hpp",
        *YIELDS,
        "                hints_[cursor_].fetch_and(~(some & (0 - some)));\n", "",
        "                got += look(page, cut, at_ + group, out + got, n - got);\n",
        "                got += look(page, cut, at_ + group, out + got, n - got);\n"
        f"                {wait(3, 300)}\n"
        "                hints_[cursor_].fetch_and(~(some & (0 - some)));\n"),
    "hint_looked_at_before_the_mark": (
        "conform/slots.cpp", "slots/scanning.hpp",
        *YIELDS,
        "            for (std::size_t i = 0; i < n; ++i) mark.set(rows[i], index(page, cut, rows[i]));\n", "",
        "                if (at != last) hint(at);\n                last = at;\n            }\n",
        "                if (at != last) hint(at);\n                last = at;\n            }\n"
        f"            {wait(3, 300)}\n"
        "            for (std::size_t i = 0; i < n; ++i) mark.set(rows[i], index(page, cut, rows[i]));\n"),
    "rest_of_a_group_forgotten": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp", "look(page, cut, group_end(at_), out, n); // the rest of the last group", "0;"),
    "looks_beyond_the_high_water_mark": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp", "            end = std::min(end, reach_);\n", ""),
    "looks_without_a_limit": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp", " && (got == 0 || looked_ < look_limit);", ";"),
    "hints_of_all_groups_set": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp",
        "            looked_ = 0;\n            std::size_t got",
        "            looked_ = 0;\n            for (std::uint32_t i = 0; i < cut.capacity / group; ++i) hint(i);\n"
        "            std::size_t got"),
    "mark_left_on_a_claimed_slot": (
        "unit/slots/scanning.cpp", "slots/mark.hpp", "count_word(row).store(0, std::memory_order_relaxed);", "static_cast<void>(row);"),
    "cached_slot_taken_for_a_free_one": (
        "unit/row/scanned_rows.cpp", "slots/mark.hpp", "(count_word(row).load() & bit) != 0", "(count_word(row).load() & (bit - 1)) == 0"),
    "marks_aside_not_cleared": (
        "unit/row/scanned_rows.cpp", "slots/mark.hpp", "::new (bytes_ + i) byte_word{0};", "static_cast<void>(i);"),
    "tally_forgets_the_displaced": (
        "unit/slots/tally.cpp", "slots/tally.hpp",
        "            tell_one(place, tell);\n            place = address;", "            place = address;"),
    "soak_meets_a_page_retired_with_rows": (
        "bugs/soak.cpp", "slots/state.hpp",
        "            if (count(was) >= static_cast<std::int64_t>(whole)) return true;",
        "            if (count(was) + 1 >= static_cast<std::int64_t>(whole)) return true;"),
    "broken_link_followed": (
        "conform/guards.cpp", "slots/link_code.hpp",
        "        return index < cut.capacity || next == 0;", "        return index < ~std::uint32_t{0} || next == 0;"),
    "link_coded_without_spreading": (
        "conform/guards.cpp", "slots/link_code.hpp",
        "    static constexpr std::uint32_t factor = 0x9E3779B1u;", "    static constexpr std::uint32_t factor = 1;"),
    "given_back_in_two_steps": (
        "threads/rows.cpp", "slots/state.hpp",
        "#include <allot/config.hpp>\n", "#include <allot/config.hpp>\n#include <allot/sync/pause.hpp>\n",
        "            if (word_.compare_exchange_weak(was, now, std::memory_order_acq_rel, std::memory_order_acquire))\n",
        f"            {wait(512, 20)}\n            word_.store(now);\n"),
}
