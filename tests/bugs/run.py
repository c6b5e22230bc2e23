#!/usr/bin/env python3
"""Puts named bugs back into a copy of the headers and asks that a test goes red: a test that would not notice is none.

    run.py            a few bugs, for every run of the tests (the same as --smoke)
    run.py --all      all of them
    run.py NAME...    these

A bug is a replacement or two in one header; the text must be there exactly once, so a bug that no longer fits the code is
told. Every test that is asked must be green with the headers as they are. A test is red when it fails, crashes, or does
not end. The compiler is CXX, the headers are in ALLOT_INCLUDE, or beside tests/.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = pathlib.Path(os.environ.get("ALLOT_INCLUDE", TESTS.parent / "include"))
CXX = os.environ.get("CXX", "g++")
# Widens the window of a race that is put back: one caller of three waits long.
PAUSE = """{
            static std::atomic<unsigned> turn{0};
            if (turn.fetch_add(1) % 3 == 0)
                for (int i = 0; i < 300; ++i) yield();
        }"""
YIELDS = "#include <allot/sync/full_fence.hpp>\n", "#include <allot/sync/full_fence.hpp>\n#include <allot/sync/pause.hpp>\n"

# name: (test, header, what stands there, what stands there with the bug, and so on in pairs)
BUGS = {
    "high_water_mark_off_by_one": (
        "model/rows.cpp", "heap/fixed_heap.hpp",
        "p.fresh.store(fresh + k, std::memory_order_relaxed);",
        "p.fresh.store(fresh + k - (k > 1), std::memory_order_relaxed);"),
    "idle_pages_not_marked_when_given": (
        "unit/page/retain.cpp", "page/arena_base.hpp",
        "        if (ALLOT_UNLIKELY(idle_ != nullptr)) idle_->used(page, pages);\n", ""),
    "idle_walk_begins_too_early": (
        "unit/page/retain.cpp", "page/idle_pages.hpp", "next_ = now_() + after_;", "next_ = now_() + after_ / 2;"),
    "used_part_of_a_huge_page_goes_alone": (
        "unit/page/huge_os_pages.cpp", "page/arena_base.hpp",
        "if (const std::uint64_t unit = mask(at, each); (pages & unit) != 0) wide |= unit;",
        "if (const std::uint64_t unit = mask(at, each); (pages & unit) == ~at) wide |= unit;"),
    "trace_reader_does_not_look_again": (
        "unit/report/trace.cpp", "watch/event_ring.hpp",
        "#include <allot/sys/thread.hpp>\n", "#include <allot/sys/thread.hpp>\n#include <allot/sync/pause.hpp>\n",
        "            event.held = e.held.load", f"            {PAUSE}\n            event.held = e.held.load",
        "if (e.turn.load(std::memory_order_relaxed) == 2 * number + 2) visit(event);", "visit(event);"),
    "trace_writer_takes_an_entry_in_use": (
        "unit/report/trace.cpp", "watch/event_ring.hpp",
        "#include <allot/sys/thread.hpp>\n", "#include <allot/sys/thread.hpp>\n#include <allot/sync/pause.hpp>\n",
        "        e.held.store(held,", f"        {PAUSE}\n        e.held.store(held,",
        "turn % 2 != 0 || turn > 2 * number ||", "(turn & 0) != 0 ||"),
    "peak_snapshot_never_renewed": (
        "unit/row/by_type.cpp", "watch/peak_recorder.hpp", "next_.store(held + held / 16", "next_.store(held * 16"),
    "census_forgets_where_it_was": (
        "unit/row/by_type.cpp", "heap/page_lists.hpp",
        "        if (walk_at_ == &p) walk_at_ = all_.after(p);\n", ""),
    "limited_heap_lets_one_more_in": (
        "unit/row/shared_by.cpp", "heap/fixed_heap.hpp",
        "handles_.load(std::memory_order_relaxed) < plan_.users", "handles_.load(std::memory_order_relaxed) <= plan_.users"),
    "limited_heap_forgets_who_left": (
        "unit/row/shared_by.cpp", "row/row_manager.hpp", "if (heap.close()) heap.reclaim(true);", "heap.reclaim(true);"),
    "page_given_without_refund": (
        "model/rows.cpp", "heap/family.hpp",
        "        arena_.give(first, pages);\n        ledger_.refund(pages << arena_.page_shift());",
        "        arena_.give(first, pages);"),
    "ledger_adds_then_checks": (
        "conform/ledger.cpp", "ledger/page_ledger.hpp",
        "        std::size_t used = used_.load(std::memory_order_relaxed);\n        do {",
        "        std::size_t used = used_.fetch_add(bytes, std::memory_order_relaxed);\n"
        "        if (used + bytes <= limit_.load(std::memory_order_relaxed)) return true;\n"
        "        used_.fetch_sub(bytes, std::memory_order_relaxed);\n"
        "        return false;\n        do {"),
    "counts_before_the_slot_is_put": (
        "bugs/releasers_and_collector.cpp", "heap/fixed_heap.hpp",
        "        p.slots.put(p.base(), cut_, &row, 1);\n        count(p, 1);",
        f"        count(p, 1);\n        {PAUSE}\n        p.slots.put(p.base(), cut_, &row, 1);"),
    "given_back_without_listed_flag": (
        "model/rows.cpp", "slots/state.hpp",
        "now |= (list ? listed : 0) | (note ? noted : 0);", "now |= (note ? noted : 0);"),
    "given_back_without_noted_flag": (
        "model/rows.cpp", "slots/state.hpp",
        "now |= (list ? listed : 0) | (note ? noted : 0);", "now |= (list ? listed : 0);"),
    "empty_pages_never_noted": (
        "unit/row/row_heap.cpp", "slots/state.hpp",
        "const bool note = (was & noted) == 0 && count(now) >= static_cast<std::int64_t>(whole);",
        "const bool note = false;"),
    "retires_without_draining": (
        "model/rows.cpp", "heap/page_lists.hpp",
        "        drain_space();\n        std::size_t given = 0;", "        std::size_t given = 0;"),
    "retires_with_a_releaser_inside": (
        "bugs/releasers_and_collector.cpp", "heap/page_lists.hpp",
        "        if (change.list) space_.push(&p);\n", f"        {PAUSE}\n        if (change.list) space_.push(&p);\n",
        "                const bool in_flight = p != current_ && !p->is_ready;", "                const bool in_flight = false;"),
    "retires_a_page_with_rows": (
        "model/rows.cpp", "slots/state.hpp",
        "            if (count(was) >= static_cast<std::int64_t>(whole)) return true;",
        "            if (count(was) + 1 >= static_cast<std::int64_t>(whole)) return true;"),
    "double_release_not_seen": (
        "death/rows.cpp", "row/link_count.hpp",
        "        if ((was & holders) == 0) return fate::was_free;\n", ""),
    "release_all_forgets_the_charge": (
        "unit/row/row_heap.cpp", "heap/fixed_heap.hpp",
        "        family_.give(p.base(), 1);", "        family_.arena().give(p.base(), 1);"),
    "release_all_destroys_nothing": (
        "unit/row/row_heap.cpp", "row/row_heap.hpp",
        "                if (type_->destroy != nullptr || type_->check_bytes() != 0)\n                    rows::for_each_live",
        "                if (false)\n                    rows::for_each_live"),
    "alignment_ignored": (
        "model/rows.cpp", "heap/heaplet.hpp",
        "allot::cut(page_bytes, sizeof(heaplet), row_bytes, align, header,",
        "allot::cut(page_bytes, sizeof(heaplet), row_bytes, 4, header,"),
    "summary_bit_not_set_again": (
        "conform/slots.cpp", "slots/bitmap.hpp",
        "                    if (bits != 0) hold(at, bits);\n", ""),
    "held_bits_without_the_lock": (
        "threads/rows.cpp", "heap/fixed_heap.hpp",
        "        if (lock_.try_lock()) {\n            const std::lock_guard hold(lock_, std::adopt_lock);",
        "        if (true) {"),
    "held_slots_told_twice": (
        "model/rows.cpp", "heap/page_lists.hpp",
        "std::exchange(p.held, {}).slots", "p.held.slots"),
    "held_slots_not_told_before_collecting": (
        "unit/heap/held_count.cpp", "heap/page_lists.hpp",
        "        if (!owing_.empty()) settle_all();\n", ""),
    "held_slots_not_told_when_none_are_found": (
        "unit/heap/held_count.cpp", "heap/page_lists.hpp",
        "if (owing_.empty()) return 0;", "if (size_ != 0 || owing_.empty()) return 0;"),
    "page_forgotten_when_too_many_owe": (
        "unit/heap/held_count.cpp", "heap/page_lists.hpp",
        "if (Page* const first = owing_.room()) settle(*first);", "static_cast<void>(owing_.room());"),
    "heap_not_noted_beside_held_slots": (
        "unit/heap/held_count.cpp", "heap/fixed_heap.hpp",
        "if (change.note || (change.owed && !noted.load(std::memory_order_relaxed)))", "if (change.note)"),
    "chain_linked_to_itself": (
        "conform/slots.cpp", "slots/linked.hpp",
        "set_link(code, rows[i], offset(page, rows[i + 1]));", "set_link(code, rows[i], offset(page, rows[i]));"),
    "cut_one_slot_too_many": (
        "unit/slots/geometry.cpp", "slots/geometry.hpp",
        "return first_for(n) - header + n * stride <= page_bytes;",
        "return first_for(n) - header + n * stride <= page_bytes + stride;"),
    "last_holder_forgets_the_destructor": (
        "unit/row/row_manager.cpp", "row/link_count.hpp",
        "        if ((was & (constructed | sealed)) != 0) return fate::destroyed;\n", ""),
    "last_of_many_ends_nothing": (
        "threads/rows.cpp", "row/link_count.hpp",
        "        if (ALLOT_LIKELY(word.fetch_sub(1, std::memory_order_acq_rel) != 1)) return true;\n",
        f"        {PAUSE}\n        word.fetch_sub(1, std::memory_order_acq_rel);\n        return true;\n"),
    "shared_row_freed_at_once": (
        "model/rows.cpp", "row/link_count.hpp",
        "        if (ALLOT_UNLIKELY(load() != alone)) return false;", "        if (ALLOT_UNLIKELY(load() == 0)) return false;"),
    "hint_cleared_after_the_look": (
        "conform/slots.cpp", "slots/scanning.hpp", *YIELDS,
        "                hints_[cursor_].fetch_and(~(some & (0 - some)));\n", "",
        "                got += look(page, cut, at_ + group, out + got, n - got);\n",
        "                got += look(page, cut, at_ + group, out + got, n - got);\n"
        f"                {PAUSE}\n"
        "                hints_[cursor_].fetch_and(~(some & (0 - some)));\n"),
    "hint_looked_at_before_the_mark": (
        "conform/slots.cpp", "slots/scanning.hpp", *YIELDS,
        "            for (std::size_t i = 0; i < n; ++i) mark.set(rows[i], index(page, cut, rows[i]));\n", "",
        "                if (at != last) hint(at);\n                last = at;\n            }\n",
        "                if (at != last) hint(at);\n                last = at;\n            }\n"
        f"            {PAUSE}\n"
        "            for (std::size_t i = 0; i < n; ++i) mark.set(rows[i], index(page, cut, rows[i]));\n"),
    "rest_of_a_group_forgotten": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp",
        "look(page, cut, group_end(at_), out, n); // the rest of the last group", "0;"),
    "looks_beyond_the_high_water_mark": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp",
        "            end = std::min(end, reach_);\n", ""),
    "looks_without_a_limit": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp",
        " && (got == 0 || looked_ < look_limit);", ";"),
    "hints_of_all_groups_set": (
        "unit/slots/scanning.cpp", "slots/scanning.hpp",
        "            looked_ = 0;\n            std::size_t got",
        "            looked_ = 0;\n            for (std::uint32_t i = 0; i < cut.capacity / group; ++i) hint(i);\n"
        "            std::size_t got"),
    "mark_left_on_a_claimed_slot": (
        "unit/slots/scanning.cpp", "slots/mark.hpp",
        "count_word(row).store(0, std::memory_order_relaxed);", "static_cast<void>(row);"),
    "mark_taken_for_a_holder": (
        "unit/row/scanned_rows.cpp", "row/link_count.hpp",
        "static constexpr std::uint32_t holders = sealed - 1;",
        "static constexpr std::uint32_t holders = constructed - 1;"),
    "cached_slot_taken_for_a_free_one": (
        "unit/row/scanned_rows.cpp", "slots/mark.hpp",
        "(count_word(row).load() & bit) != 0", "(count_word(row).load() & (bit - 1)) == 0"),
    "marks_aside_not_cleared": (
        "unit/row/scanned_rows.cpp", "slots/mark.hpp",
        "::new (bytes_ + i) byte_word{0};", "static_cast<void>(i);"),
    "tally_lost_at_leave": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp",
        "        spill(cache, cache.size());\n        cache.tally.settle(told());", "        spill(cache, cache.size());"),
    "tally_not_told_at_shortage": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp",
        "[&] { return cache.tally.settle(told()); }", "[] { return false; }"),
    "tally_outlives_its_pages": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp",
        "            shared.cache.tally.forget();\n", ""),
    "tally_never_swept": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp",
        "        tally.sweep(told());\n", ""),
    "tally_forgets_the_displaced": (
        "unit/slots/tally.cpp", "slots/tally.hpp",
        "            tell_one(place, tell);\n            place = address;", "            place = address;"),
    "tallied_slots_taken_for_rows": (
        "unit/heap/delayed_counts.cpp", "heap/fixed_heap.hpp",
        " + tally(*c).pending();", ";"),
    "borrowed_without_asking": (
        "threads/rows.cpp", "heap/shared_caches.hpp",
        "            if (!places_[at].taken.exchange(true, std::memory_order_acquire)) return borrowed(&places_[at]);",
        "            if (places_[at & 0].taken.exchange(true, std::memory_order_acquire) || true) return borrowed(&places_[0]);"),
    "soak_meets_a_cache_lent_twice": (
        "bugs/soak.cpp", "heap/shared_caches.hpp",
        "            if (!places_[at].taken.exchange(true, std::memory_order_acquire)) return borrowed(&places_[at]);",
        "            if (places_[at].taken.exchange(true, std::memory_order_acquire) || true) return borrowed(&places_[at]);"),
    "soak_meets_a_page_retired_with_rows": (
        "bugs/soak.cpp", "slots/state.hpp",
        "            if (count(was) >= static_cast<std::int64_t>(whole)) return true;",
        "            if (count(was) + 1 >= static_cast<std::int64_t>(whole)) return true;"),
    "overrun_not_looked_for": (
        "conform/guards.cpp", "row/slot_rows.hpp",
        "        if (!is_intact(p, row)) heap_of(p).guard_row(row);\n", ""),
    "canary_stays_broken": (
        "conform/guards.cpp", "row/slot_rows.hpp",
        "        if (!is_intact(p, row)) heap_of(p).guard_row(row);\n", "        static_cast<void>(is_intact(p, row));\n"),
    "broken_link_followed": (
        "conform/guards.cpp", "slots/link_code.hpp",
        "        return index < cut.capacity || next == 0;", "        return index < ~std::uint32_t{0} || next == 0;"),
    "link_coded_without_spreading": (
        "conform/guards.cpp", "slots/link_code.hpp",
        "    static constexpr std::uint32_t factor = 0x9E3779B1u;", "    static constexpr std::uint32_t factor = 1;"),
    "broken_page_used_again": (
        "conform/guards.cpp", "heap/page_lists.hpp",
        "if (!p.is_broken() && !p.state.unlist", "if (!p.state.unlist"),
    "broken_page_never_given_back": (
        "conform/guards.cpp", "heap/page_lists.hpp",
        "(in_flight && !p->is_broken())", "in_flight"),
    "waiting_rows_not_drained": (
        "conform/guards.cpp", "heap/fixed_heap.hpp",
        "        this->end_waiting([this](std::byte* row) { put_one(row); });\n", ""),
    "waiting_rows_not_looked_at": (
        "conform/guards.cpp", "heap/slot_guard.hpp",
        "        if (good) return;\n", "        if (good || true) return;\n"),
    "link_left_in_a_zeroed_row": (
        "conform/guards.cpp", "row/slot_rows.hpp",
        "            std::memset(row, 0, Slots::min_row_bytes);", "            std::memset(row, 0, 0);"),
    "untouched_memory_not_zeroed": (
        "conform/guards.cpp", "heap/slot_guard.hpp",
        "        if constexpr (Guard::wipes) sys::wipe(row, usable());\n        guard_row", "        guard_row"),
    "seal_not_looked_at": (
        "unit/row/row_seal.cpp", "row/link_count.hpp",
        "        if ((was & (constructed | sealed)) != 0) return fate::destroyed;",
        "        if ((was & constructed) != 0) return fate::destroyed;"),
    "check_in_the_capacity": (
        "unit/row/row_seal.cpp", "row/slot_rows.hpp",
        "return room(p.cut) - type_of(p, row)->check_bytes();", "return room(p.cut);"),
}
SMOKE = ["ledger_adds_then_checks", "summary_bit_not_set_again", "cut_one_slot_too_many"]
CHECKED = {"death/rows.cpp"}


def red(test, include, folder):
    """True when the test, compiled with these headers, fails; with what it said last."""
    program = folder / "program"
    command = [CXX, "-std=c++20", "-O1", "-w", "-pthread", f"-DALLOT_CHECKED={int(test in CHECKED)}", f"-I{include}",
               f"-I{TESTS / 'bugs' / 'mini'}", f"-I{TESTS}", str(TESTS / test), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{test} does not compile:\n{made.stderr[-3000:]}")
    try:
        ran = subprocess.run([program], capture_output=True, text=True, timeout=45, errors="replace")
    except subprocess.TimeoutExpired:
        return True, "did not end"
    said = ran.stdout.strip().splitlines()
    return ran.returncode != 0, said[-1] if said else f"exit code {ran.returncode}"


def stands(bug):
    """True when each text that the bug replaces stands in its header, once."""
    _, header, *edits = BUGS[bug]
    text = (INCLUDE / "allot" / header).read_text()
    return all(text.count(before) == 1 for before in edits[::2])


def main(arguments):
    names = list(BUGS) if "--all" in arguments else [a for a in arguments if not a.startswith("-")] or SMOKE
    stale = [bug for bug in BUGS if bug not in names and not stands(bug)]
    for bug in stale:
        print(f"{bug}: {BUGS[bug][1]} has changed; the bug's texts no longer stand there")
    failed = list(stale)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for test in sorted({BUGS[bug][0] for bug in names}):
            bad, said = red(test, INCLUDE, folder)
            if bad:
                sys.exit(f"{test} is red without any bug: {said}")
        for bug in names:
            test, header, *edits = BUGS[bug]
            copy = folder / "include"
            shutil.copytree(INCLUDE, copy)
            target = copy / "allot" / header
            text = target.read_text()
            if not stands(bug):
                print(f"{bug}: {header} has changed; the bug's texts no longer stand there")
                failed.append(bug)
            else:
                for before, after in zip(edits[::2], edits[1::2]):
                    text = text.replace(before, after)
                target.write_text(text)
                bad, said = red(test, copy, folder)
                print(f"{bug}: {'found by' if bad else 'NOT FOUND by'} {test}" + (f" ({said})" if bad else ""), flush=True)
                if not bad:
                    failed.append(bug)
            shutil.rmtree(copy)
    print(f"{len(names) - len(failed) + len(stale)} of {len(names)} bugs found, of {len(BUGS)} known")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
