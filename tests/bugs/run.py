#!/usr/bin/env python3
"""Puts named bugs back into a copy of the headers and asks that a test goes red: a test that would not notice is none.

    run.py            a few bugs, for every run of the tests (the same as --smoke)
    run.py --all      all of them
    run.py NAME...    these
    run.py --list     tells their names

A bug is a replacement or two in one header; the text must be there exactly once, so a bug that no longer fits the code is
told. Weaker orders, which no processor of this kind shows, are put into the models of the lock-free parts instead. Every test that is asked must be green with the headers as they are. A test is red when it fails, crashes, or does
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
# The same, seldom and short: where the step is taken very often.
MOMENT = """{
            static std::atomic<unsigned> turn{0};
            if (turn.fetch_add(1) % 512 == 0)
                for (int i = 0; i < 20; ++i) yield();
        }"""
YIELDS = "#include <allot/sync/full_fence.hpp>\n", "#include <allot/sync/full_fence.hpp>\n#include <allot/sync/pause.hpp>\n"

# name: (test, header, what stands there, what stands there with the bug, and so on in pairs)
BUGS = {
    # rows in a device's memory: tests/unit/row/device_rows.cpp, where a touch of a row ends the program
    "device_pages_keep_room_for_a_header": (
        "unit/row/device_rows.cpp", "heap/heaplet.hpp",
        "if constexpr (Place::aside) return allot::cut(page_bytes, 0,", "if constexpr (Place::aside) return allot::cut(page_bytes, sizeof(heaplet),"),
    "device_header_written_into_its_page": (
        "unit/row/device_rows.cpp", "heap/fixed_heap.hpp", "if constexpr (Place::aside) p = reinterpret_cast<page*>(taken);\n        else p =", "p ="),
    "device_page_told_by_its_heap": (
        "unit/row/device_rows.cpp", "heap/fixed_heap.hpp",
        "if constexpr (Place::aside) family_.arena().set_owner(p->base(), static_cast<page_header*>(p));\n        else family_.arena().set_owner(taken, this);\n", "        family_.arena().set_owner(p->base(), this);\n"),
    "device_header_looked_for_in_the_page": (
        "unit/row/device_rows.cpp", "page/arena_base.hpp",
        "range.headers_aside ? reinterpret_cast<const word*>(aside) : bitmap_.words()", "bitmap_.words()"),
    "device_huge_row_counts_in_front": (
        "unit/row/device_rows.cpp", "row/huge_rows.hpp",
        "if constexpr (Place::aside) return reinterpret_cast<std::byte*>(static_cast<huge_header_aside&>(h).type_and_count + 2);\n        else return row;",
        "return row;"),
    "device_huge_row_stays_known": (
        "unit/row/device_rows.cpp", "row/huge_rows.hpp", "        family_.arena().set_owner(run, nullptr);\n        h.ops = nullptr;\n", ""),
    "huge_row_is_nobodys": (
        "unit/row/row_heap.cpp", "row/huge_rows.hpp",
        "        family_.arena().set_owner(base, static_cast<page_header*>(h)); // no page of rows is nobody's\n", ""),
    "device_trim_unmaps_beside_rows": (
        "unit/row/device_rows.cpp", "page/arena_base.hpp", "(pages & unit) != 0 && (taken & unit) == 0", "(pages & unit) != 0"),
    "device_trim_never_ends": (
        "unit/row/device_rows.cpp", "page/arena_base.hpp", "if (backing_ != nullptr) break;", ""),
    "device_units_stay_after_a_failure": (
        "unit/row/device_rows.cpp", "page/device_range.hpp", "if (state_of(u) == fresh) static_cast<void>(unmap(u));", ""),
    "device_unit_not_said_to_be_unmapped": (
        "unit/row/device_rows.cpp", "page/device_range.hpp", "        states_[unit].store(unmapped, std::memory_order_relaxed);\n", ""),
    "device_handle_kept_where_mapping_failed": (
        "unit/row/device_rows.cpp", "page/device_range.hpp",
        "            static_cast<void>(api_.release(*memory));\n            return false;", "            return false;"),
    "device_trim_does_not_wait": (
        "unit/row/rows_in_flight.cpp", "page/device_range.hpp", "if (!api_.synchronize(device_)) return false;", ""),
    "lent_rows_released_before_the_kernel_is_done": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "if (!done || !*done) {", "if (!done) {"),
    "lent_rows_filed_under_a_handle": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "        if (!id || *id != b.id) return false;\n", ""),
    "lent_rows_each_with_an_event": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "static constexpr std::size_t most = 60;", "static constexpr std::size_t most = 1;"),
    "lent_rows_forgotten_without_an_event": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "            if (!made) return false;\n", "            if (!made) return true;\n"),
    "lent_list_kept_where_the_copy_failed": (
        "unit/row/rows_in_flight.cpp", "row/rows_in_flight.hpp", "            rows_.release(list);\n            return copied.error();", "            return copied.error();"),
    "lanes_led_by_the_first_of_all": (
        "threads/lanes.cpp", "sync/aggregated_bump.hpp", "leader = leader_of(group);", "leader = 0;"),
    "lanes_numbered_from_one": (
        "threads/lanes.cpp", "sync/lanes.hpp", "((lane_mask{1} << lane) - 1)", "((lane_mask{2} << lane) - 1)"),
    "lanes_of_all_counters_counted": (
        "threads/lanes.cpp", "sync/aggregated_bump.hpp",
        "lanes.match(lanes.active(), reinterpret_cast<std::uintptr_t>(&counter));", "lanes.active();"),
    "lanes_each_count_alone": (
        "threads/lanes.cpp", "sync/aggregated_bump.hpp", "if (lanes.lane() == leader) first", "first"),
    "lanes_go_on_before_all_have_read": (
        "threads/lanes.cpp", "sync/lanes_simulated.hpp", "        arrive(lane, group, false); // all have read\n", ""),
    "lanes_meet_whoever_comes": (
        "threads/lanes.cpp", "sync/lanes_simulated.hpp", "return its - mine < 1U << 31;", "return its != 0 || mine == 0;"),
    "scoped_min_takes_unsigned": (
        "unit/sync/scoped_atomic.cpp", "sync/scoped_atomic.hpp",
        "return change([=](T was) { return value < was ? value : was; }, order);",
        "return change([=](T was) { return bits(value) < bits(was) ? value : was; }, order);"),
    "scoped_exchange_keeps_what_was_expected": (
        "unit/sync/scoped_atomic.cpp", "sync/scoped_atomic.hpp",
        "(same ? *word_ : expected) = same ? value : *word_;", "if (same) *word_ = value;"),
    "face_hands_out_without_the_wait": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp",
        "if (p == nullptr || d.api().synchronize(stream)) return p;", "return p;"),
    "face_keeps_what_it_could_not_wait_for": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp",
        "        give_to(d, p, bytes, stream);\n        return nullptr;", "        return nullptr;"),
    "face_asks_for_no_bytes": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp",
        "return bytes == 0 ? nullptr : d.try_allocate(bytes, align, stream);", "return d.try_allocate(bytes, align, stream);"),
    "face_gives_null_back": (
        "cuda/memory_resource.cpp", "adapt/device_memory.hpp",
        "    if (p == nullptr) return;\n    if constexpr (requires { d.deallocate(p, bytes, stream); })",
        "    if constexpr (requires { d.deallocate(p, bytes, stream); })"),
    "face_frees_on_another_stream": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp",
        "detail::give_to(*memory_, p, bytes, stream.get());", "detail::give_to(*memory_, p, bytes, without_stream_);"),
    "face_takes_for_one_stream_only": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp", "detail::take_for_all(", "detail::take_from("),
    "face_returns_null_when_full": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp", "if (ALLOT_UNLIKELY(p == nullptr && bytes != 0))", "if (false && bytes != 0)"),
    "face_equal_to_itself_alone": (
        "cuda/memory_resource.cpp", "adapt/cuda_mr.hpp", "return a.memory_ == b.memory_;", "return &a == &b;"),
    "thrust_resources_are_all_equal": (
        "cuda/thrust.cpp", "adapt/thrust_mr.hpp", "return a.memory_ == b.memory_;", "return a.without_stream_ == b.without_stream_;"),
    "thrust_blocks_are_not_given_back": (
        "cuda/thrust.cpp", "adapt/thrust_mr.hpp",
        "detail::give_from_all(*memory_, thrust::raw_pointer_cast(p), bytes, without_stream_);", "static_cast<void>(p), static_cast<void>(bytes);"),
    # buffers: who is charged, views, reservations, vectors
    "block_of_two_accounts_ends_without_the_lock": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp", " && !l.block->met_others", ""),
    "view_let_go_in_its_own_move_stays": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "    if (ALLOT_UNLIKELY(left)) end_ledger(l);\n", ""),
    "alone_while_the_charge_moves": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", " && !l.block->is_moving();", ";"),
    "buffer_heir_is_the_newest": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "if (found == nullptr && !l->passed) found = l;", "if (!l->passed) found = l;"),
    "buffer_relabelled_ledger_keeps_its_place": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "if (b.ledgers != &l || l.next != nullptr) b.remove(l), b.append(l);", ""),
    "buffer_charge_taken_by_who_has_it_not": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "if (b.charged != from.by || from.by == &to) return {};", "if (from.by == &to) return {};"),
    "buffer_relabels_a_shared_ledger": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp",
        "if (l.views.load(std::memory_order_acquire) != 1 || b.is_moving()) return false;", "if (b.is_moving()) return false;"),
    "buffer_account_has_two_ledgers": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "if (x->by == &to && x->alive()) return false;", "if (false) return false;"),
    "buffer_heir_that_left_is_forgotten": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "else if (next->left) also = next;", ""),
    "buffer_ledger_is_not_counted_down": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp",
        "    mine.count(counted::buffers, -1); // the account may end with it, or, if it is charged, with its last refund\n", ""),
    "buffer_heir_passed_over_for_its_former_account": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "    l.passed = false;\n", ""),
    "buffer_of_a_closed_account_after_all": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp", "            l.by = &from;\n", ""),
    "account_ends_under_its_last_child": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp",
        "    if (above != nullptr) above->count_in(moves, 1); // it may wait for this child alone, and take the tree with it\n", "",
        "    if (above != nullptr) above->count_in(moves, -1); // the last access to the tree\n", "",
        "    { const hold tree(*this, false); } // what", "    { const hold tree(*this); } // what"),
    "account_of_one_thread_does_not_close": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp", "    if (one_thread_) shut_.store(true, std::memory_order_relaxed);\n    else take_back(true, false);\n}\ninline std::uint32_t",
        "    if (!one_thread_) take_back(true, false);\n}\ninline std::uint32_t"),
    "account_forgets_a_peak_whose_refund_waited": (
        "threads/accounts.cpp", "ledger/account_climb.hpp", "    note_peak(from.room() + want - bytes);\n", "",
        "    const bool open = mode != how::held && may_open();\n", "    " + MOMENT.replace("512", "16") + "\n    const bool open = mode != how::held && may_open();\n"),
    "account_has_more_room_than_charges": (
        "threads/accounts.cpp", "ledger/account_climb.hpp", "while (ALLOT_UNLIKELY(w.room() > own()))", "while (false)"),
    "account_holder_in_a_call_waits_for_who_waits": (
        "threads/accounts.cpp", "ledger/account_climb.hpp", "if (mode == how::held && !tree.root.is_inside_a_call(sys::thread_token()))", "if (mode == how::held)"),
    "buffer_charge_stays_behind_with_who_is_gone": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp", "return found != nullptr ? found : ending;", "return found;",
        "    buffer_ledger* also = nullptr;\n    b.lock.lock();\n", "    buffer_ledger* also = nullptr;\n    " + MOMENT.replace("512", "64") + "\n    b.lock.lock();\n"),
    "buffer_heir_does_not_wait_for_its_charge": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp",
        "        if (b.moved_by_another()) {\n            breathe(b);\n            continue;\n        }\n", "        if (b.moved_by_another()) break;\n",
        "    const charge_status s = account::transfer(from, to, b.memory.bytes);\n",
        "    const charge_status s = account::transfer(from, to, b.memory.bytes);\n    " + MOMENT.replace("512", "64") + "\n"),
    "buffer_view_added_to_a_dead_ledger": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp", "        while (n != 0)\n            if (views", "        for (;;)\n            if (views",
        "    b.lock.lock();\n    while (b.charged == &mine) {", "    " + MOMENT.replace("512", "8") + "\n    b.lock.lock();\n    while (b.charged == &mine) {"),
    "buffer_passes_the_charge_to_a_closed_account_for_ever": (
        "unit/buffer/buffers.cpp", "buffer/buffer_block.hpp", "if (!s.charged()) next->passed = true;\n        else if", "if"),
    "buffer_charged_by_what_was_asked": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp", "    const charge_status s = by.try_charge(m.bytes);\n", "    const charge_status s = by.try_charge(bytes);\n"),
    "buffer_memory_kept_by_a_refused_request": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp", "        by.refund(m.bytes);\n    }\n    give(m);\n", "        by.refund(m.bytes);\n    }\n"),
    "buffer_large_request_takes_memory_first": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp", "    if (bytes >= large) {", "    if (false) {"),
    "buffer_grows_over_others": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp", "if (ledger_ == nullptr || is_shared()) return size_;", "if (ledger_ == nullptr) return size_;"),
    "buffer_slice_bound_wraps": (
        "unit/buffer/value_vectors.cpp", "buffer/buffer_class.hpp",
        "if (ALLOT_UNLIKELY(bytes > size_ || offset > size_ - bytes)) return outside(offset);", "if (ALLOT_UNLIKELY(offset + bytes > size_)) return outside(offset);"),
    "foreign_memory_refused_and_released": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp", "    if (!s) return {};\n    const memory_block m{", "    if (!s) return release(context, static_cast<std::byte*>(address), bytes), buffer{};\n    const memory_block m{"),
    "reservation_gives_back_twice": (
        "unit/buffer/buffers.cpp", "buffer/buffer_reservation.hpp", "            if (s) by_->refund(more);\n", "            by_->refund(charged_);\n"),
    "reservation_forgets_the_rest": (
        "unit/buffer/buffers.cpp", "buffer/buffer_reservation.hpp", "        if (back != 0) by.refund(back);\n", ""),
    "number_turned_on_the_wrong_machine": (
        "unit/buffer/buffers.cpp", "buffer/little_endian.hpp", "Machine == std::endian::little ||", "Machine == std::endian::big ||"),
    "vector_slice_forgets_the_bit": (
        "unit/buffer/value_vectors.cpp", "buffer/value_vector.hpp", "return {bits_.slice(first / 8, bytes_of_bits(first, n)), first % 8};",
        "return {bits_.slice(first / 8, bytes_of_bits(first, n)), 0};"),
    "vector_slice_is_a_byte_of_bits_short": (
        "unit/buffer/value_vectors.cpp", "buffer/validity.hpp", "(first + n - 1) / 8 - first / 8 + 1;", "(n + 7) / 8;"),
    "bits_counted_to_the_end_of_a_word": (
        "unit/buffer/value_vectors.cpp", "buffer/validity.hpp", "for (; end - i >= 64; i += 64)", "for (; i + 8 < end; i += 64)"),
    "strings_of_a_slice_begin_at_zero": (
        "unit/buffer/value_vectors.cpp", "buffer/bytes_vector.hpp", "        v.base_ = offset(from);\n", "        v.base_ = base_;\n"),
    "string_appended_beyond_the_data": (
        "unit/buffer/value_vectors.cpp", "buffer/bytes_vector.hpp", "if (value.size() > data_.size() - (at - base_)) return false;", "if (value.size() > data_.size()) return false;"),
    "fit_takes_what_it_meets_first": (
        "unit/heap/best_fit.cpp", "heap/size_tree.hpp", "best = fits ? t : best;", "if (fits) return t;"),
    "fit_orders_by_size_alone": (
        "unit/heap/best_fit_model.cpp", "heap/size_tree.hpp",
        "(a.units < units) | ((a.units == units) & (a.address < address))", "a.units < units"),
    "fit_skips_its_own_bin": (
        "unit/heap/best_fit.cpp", "heap/size_index.hpp",
        "if (const std::uint32_t x = tree::fitting(n, roots_[bin], units); x != 0) return x;\n        return first_from",
        "return first_from"),
    "fit_bin_not_forgotten": (
        "unit/heap/best_fit.cpp", "heap/size_index.hpp",
        "words_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);\n", ""),
    "fit_run_stays_in_a_shared_bin": (
        "unit/heap/best_fit_model.cpp", "heap/size_index.hpp", " && tree::is_alone(n, roots_[bin], x);", ";"),
    "fit_ranks_do_not_count": (
        "unit/heap/best_fit.cpp", "heap/size_tree.hpp", "x * 0x9E3779B1U;", "~x;"),
    "fit_joins_whatever_the_tags": (
        "unit/heap/best_fit_tags.cpp", "heap/best_fit.hpp", "other.is_free() && Tag::may_join(other.tag, tag) &&", "other.is_free() &&"),
    "fit_keeps_the_earlier_ticket": (
        "unit/heap/best_fit_tags.cpp", "heap/best_fit.hpp",
        "            tag = Tag::join(n[behind].tag, tag);\n", "            tag = n[behind].tag;\n"),
    "fit_rest_loses_its_tag": (
        "unit/heap/best_fit_tags.cpp", "heap/fit_space.hpp", "x, n[x].next, {0, 0}, node::live_mark, n[x].tag};",
        "x, n[x].next, {0, 0}, node::live_mark, Tag{}};"),
    "fit_joins_beyond_what_a_node_counts": (
        "unit/heap/best_fit.cpp", "heap/best_fit.hpp", " && units <= most_units - other.units;", ";"),
    "fit_changes_before_it_has_metadata": (
        "unit/heap/best_fit.cpp", "heap/best_fit.hpp", "if (!space_.prepare(1)) return false;\n        live_units_ -= nodes()[x].units - units;",
        "live_units_ -= nodes()[x].units - units;\n        if (!space_.prepare(1)) return false;"),
    "fit_aligned_run_without_room": (
        "unit/heap/best_fit_model.cpp", "heap/best_fit.hpp", "x = of.best(n, units + room);", "x = of.best(n, units + room / 2);"),
    "fit_unites_whatever_the_segment": (
        "unit/heap/best_fit.cpp", "heap/fit_space.hpp", "if (a.end != b.begin || a.segment != b.segment) return;", "if (a.end != b.begin) return;"),
    "fit_gathers_past_the_joined_run": (
        "unit/heap/best_fit_model.cpp", "heap/best_fit.hpp", "            return make_free(x, tag);\n", "            make_free(x, tag);\n            return x;\n"),
    "fit_any_takes_the_first_key": (
        "unit/heap/best_fit_model.cpp", "heap/best_fit.hpp", "if (x == 0 || (best != 0 && !is_before(n[x], n[best]))) continue;",
        "if (x == 0 || best != 0) continue;"),
    "fit_forgets_an_address_of_its_chain": (
        "unit/heap/best_fit_model.cpp", "heap/address_hash.hpp", "        *link = n[x].child[0];\n", "        *link = 0;\n"),
    "stream_steals_without_waiting": (
        "traces/device_allocator.cpp", "stream/stream_book.hpp", "        if (!api_.wait(handle, entries_[s].event)) return false;\n", ""),
    "stream_steals_behind_an_old_event": (
        "traces/device_allocator.cpp", "stream/stream_book.hpp", "(entries_[s].recorded < run.ticket() && !record(s))",
        "(entries_[s].recorded == 0 && !record(s))"),
    "stream_that_freed_waits": (
        "traces/device_allocator.cpp", "stream/stream_book.hpp", "api_.wait(handle, entries_[s].event)", "api_.wait(entries_[s].handle, entries_[s].event)"),
    "stream_event_recorded_elsewhere": (
        "traces/device_allocator.cpp", "stream/stream_book.hpp", "if (!api_.record(e.event, e.handle)) return false;",
        "if (!api_.record(e.event, entries_[n_ - 1].handle)) return false;"),
    "stream_tags_join_with_the_earlier_ticket": (
        "traces/device_allocator.cpp", "stream/stream_tag.hpp", "return a.bits < b.bits ? b : a;", "return a.bits < b.bits ? a : b;"),
    "stream_runs_of_others_are_joined": (
        "traces/device_allocator.cpp", "stream/stream_tag.hpp", "return a.key() == b.key();",
        "return a.key() != held && b.key() != held;"),
    "stream_rest_of_a_split_is_clean": (
        "traces/device_allocator.cpp", "heap/fit_space.hpp", "x, n[x].next, {0, 0}, node::live_mark, n[x].tag};",
        "x, n[x].next, {0, 0}, node::live_mark, Tag{}};"),
    "stream_free_without_a_ticket": (
        "traces/device_allocator.cpp", "stream/stream_book.hpp", "return stream_tag::of(k, ++entries_[k].freed);", "return stream_tag::of(k, entries_[k].freed);"),
    "stream_knows_more_than_it_waited_for": (
        "traces/device_allocator.cpp", "stream/stream_book.hpp", "know(t, s, entries_[s].recorded);", "know(t, s, entries_[s].recorded + 1);"),
    "stream_inherits_what_another_knew": (
        "unit/stream/ordering.cpp", "stream/stream_book.hpp", "for (key_type i = 0; i != e.knows; ++i) e.known[i] = 0;", "{}"),
    "stream_leaves_without_an_event": (
        "traces/device_allocator.cpp", "stream/stream_book.hpp", "entries_[k].recorded == entries_[k].freed || record(k);",
        "entries_[k].recorded == entries_[k].freed || (entries_[k].has_event && (entries_[k].recorded = entries_[k].freed, true)) || record(k);"),
    "stream_joins_what_it_did_not_wait_for": (
        "traces/device_allocator.cpp", "stream/device_growth.hpp", "if (!book_.order_after(key, who.stream, best->runs[i].tag)) return {};", "(void)i;"),
    "stream_joins_without_a_new_ticket": (
        "unit/stream/ordering.cpp", "stream/device_growth.hpp", "const stream_tag tag = book_.gathered(key);",
        "const stream_tag tag = stream_tag::of(key, book_[key].freed);"),
    "stream_joins_across_a_live_block": (
        "unit/stream/ordering.cpp", "stream/free_spans.hpp", "if (!free || !follows || now_.n == now_.most || !reachable(r.tag)) start(r.address);",
        "if (now_.n == now_.most || !reachable(r.tag)) start(r.address);"),
    "stream_memory_goes_back_unwaited": (
        "traces/device_allocator.cpp", "stream/device_growth.hpp", "const auto done = api_.synchronize(event);", "const device::result<> done{};"),
    "capture_frees_for_everybody": (
        "traces/device_allocator.cpp", "stream/device_allocator.hpp", "known && who.state != uses::captured ? key_of(who)", "known ? key_of(who)"),
    "capture_takes_what_its_stream_freed": (
        "traces/device_allocator.cpp", "stream/device_books.hpp",
        "        if (ALLOT_UNLIKELY(who.state == uses::captured)) return counted(free_for_all(bytes, align));\n", ""),
    "capture_gets_an_event_of_the_allocator": (
        "unit/stream/capture.cpp", "stream/stream_book.hpp",
        "        if (!captured || *captured != device::capture_state::none) return false;\n        return e.records = true;",
        "        return e.records = true;"),
    "capture_meets_forbidden_calls": (
        "traces/device_allocator.cpp", "stream/relaxed_capture.hpp",
        "before_{api.exchange_capture_mode(device::capture_mode::relaxed)}", "before_{api.exchange_capture_mode(device::capture_mode::global)}"),
    "idle_piece_goes_back_at_the_first_look": (
        "unit/stream/idle.cpp", "stream/device_growth.hpp", "give_back(stream_tag::resting, SIZE_MAX, pieces)", "give_back(stream_tag::clean, SIZE_MAX, pieces)"),
    "idle_piece_rests_before_its_work_is_done": (
        "unit/stream/idle.cpp", "stream/stream_book.hpp", "        if (!done || !*done) return false;\n        waited", "        if (!done) return false;\n        waited"),
    "idle_rest_is_not_joined": (
        "unit/stream/idle.cpp", "stream/device_books.hpp",
        "        runs_.gather(stream_tag::of(stream_tag::clean), [](const stream_tag& t) { return t.key() == stream_tag::resting; });\n", ""),
    "plain_segment_without_room_for_the_alignment": (
        "unit/stream/memory.cpp", "stream/device_growth.hpp", "        if (!lies_well(need)) need = align_up(bytes + align, step);\n", ""),
    "idle_capture_looks": (
        "unit/stream/idle.cpp", "stream/device_allocator.hpp", "if (ALLOT_UNLIKELY(idle_.due()) && who.state == uses::all)", "if (ALLOT_UNLIKELY(idle_.due()))"),
    "idle_looks_never_end": (
        "unit/stream/idle.cpp", "stream/device_growth.hpp", "        idle_.looked();\n", ""),
    "device_range_grows_where_unmapping_failed": (
        "fault/device_allocator.cpp", "stream/device_segments.hpp", "        if (!done) full_ = true;\n", ""),
    "device_stream_that_cannot_be_asked_is_no_capture": (
        "fault/device_allocator.cpp", "stream/device_books.hpp",
        "captured.kind() == device::failure::not_permitted_in_capture ? uses::no_events : uses::captured", "captured ? uses::captured : uses::no_events"),
    "device_refused_charge_is_kept": (
        "fault/device_allocator.cpp", "stream/device_growth.hpp", "            ledger_.cancel(want);\n", ""),
    "device_failed_access_stays_mapped": (
        "fault/device_allocator.cpp", "stream/device_segments.hpp", "if (!done) (void)api_.unmap(at(address), bytes);", ""),
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
    "huge_row_of_nobody": (
        "unit/row/page_owners.cpp", "row/huge_rows.hpp",
        "        family_.arena().set_owner(base, static_cast<page_header*>(h)); // no page of rows is nobody's\n", ""),
    "page_given_with_its_owner": (
        "unit/row/page_owners.cpp", "heap/fixed_heap.hpp",
        "        family_.arena().set_owner(memory, nullptr);\n", ""),
    "page_given_without_refund": (
        "model/rows.cpp", "heap/family.hpp",
        "        arena_.give(first, pages);\n        ledger_.refund(pages << arena_.page_shift());",
        "        arena_.give(first, pages);"),
    # accounts
    "account_asks_no_level_above": (
        "model/accounts.cpp", "ledger/account_climb.hpp",
        "    for (const account* a = at; a != end && more != 0; a = a->parent_) {", "    for (const account* a = at; a != end && more != 0; a = end) {"),
    "account_room_taken_in_two_steps": (
        "threads/accounts.cpp", "ledger/account_class.hpp",
        "        while (ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, word{now}.taken(bytes).bits, std::memory_order_relaxed)));",
        f"        while (false);\n        {MOMENT}\n        word_.store(word{{now}}.taken(bytes).bits, std::memory_order_relaxed);"),
    "account_calls_nothing_in": (
        "unit/ledger/account.cpp", "ledger/account_climb.hpp", "            if (tree.root.call_in(*s.at, false) != 0) continue;\n        }\n        if (!s.fitted() && found", "        }\n        if (!s.fitted() && found"),
    "account_peak_knows_what_is_held": (
        "unit/ledger/account.cpp", "ledger/account_class.hpp", "return total_ - pending_; }", "return total_; }"),
    "account_refused_for_what_is_held": (
        "threads/accounts.cpp", "ledger/account_climb.hpp", "        if (!s.fitted() && found.only_pending() && mine.wait()) {\n            called_in = 0;\n            continue;\n        }\n        if (s.outcome == charge_outcome::over_limit && mode == how::forced && !found.absurd) s.outcome = charge_outcome::forced;\n        account* const at = const_cast<account*>(s.at);\n        if (!s.charged()) return ++at->refused_, s;\n        if (!grant", "        if (s.outcome == charge_outcome::over_limit && mode == how::forced && !found.absurd) s.outcome = charge_outcome::forced;\n        account* const at = const_cast<account*>(s.at);\n        if (!s.charged()) return ++at->refused_, s;\n        if (!grant"),
    "account_keeps_room_beyond_its_limit": (
        "unit/ledger/account.cpp", "ledger/account_climb.hpp", "    if (total_ > bytes) tree.root.call_in(*this, true);", ""),
    "account_transfer_asks_nobody_above": (
        "model/accounts.cpp", "ledger/account_climb.hpp", "        if (found.status.charged() && up > down)", "        if (false)"),
    "account_transfer_climbs_twice": (
        "unit/ledger/account.cpp", "ledger/account_climb.hpp",
        "            net.all += c.all, net.met += c.met;\n", "            climb(top, c, nullptr);\n",
        "        apply(from, -by);\n        apply(to, by);\n", "        apply(to, by);\n        apply(from, -by);\n"),
    "account_least_room_forgotten": (
        "unit/ledger/account.cpp", "ledger/room_word.hpp",
        "    constexpr room_word anew() const noexcept { return of(room(), open()); }", "    constexpr room_word anew() const noexcept { return *this; }"),
    "account_claims_without_its_reservation": (
        "model/accounts.cpp", "ledger/account_class.hpp",
        "    std::size_t claim() const noexcept { return total_ > reserved_ ? total_ : reserved_; }", "    std::size_t claim() const noexcept { return total_; }"),
    "listener_called_inside_a_call": (
        "unit/ledger/listeners.cpp", "ledger/account_hold.hpp", "        if ((quiet = root.calls_on(thread))) return;\n", ""),
    "listener_removed_under_its_caller": (
        "unit/ledger/listeners.cpp", "ledger/account_calls.hpp", "        if (listener.running_ == 0) return forget(listener), true;", "        return forget(listener), true;"),
    "chunk_arena_charges_no_account": (
        "unit/heap/chunk_accounts.cpp", "heap/chunk_arena.hpp",
        "value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_, values...), family_", "value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_), family_"),
    "chunk_arena_names_no_holders": (
        "unit/heap/chunk_accounts.cpp", "heap/chunk_arena.hpp", "        if constexpr (policies::in_tree) ledger_.report(out);\n", ""),
    "chunk_arena_tells_the_tree_nothing": (
        "unit/heap/chunk_accounts.cpp", "heap/chunk_arena.hpp", "if constexpr (policies::in_tree) ledger_.tells(this, &tell_account);", ""),
    "account_ends_under_a_refund": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "    inside_.fetch_add(1, std::memory_order_seq_cst);\n", "",
        "                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n                inside_.fetch_sub(1, std::memory_order_release); // the last access\n",
        f"                {PAUSE}\n                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n",
        "    inside_.fetch_sub(1, std::memory_order_release); // before the bytes go: until then nobody ends the account\n", ""),
    "account_refund_counts_itself_out_early": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n                inside_.fetch_sub(1, std::memory_order_release); // the last access\n",
        f"                inside_.fetch_sub(1, std::memory_order_release);\n                {PAUSE}\n                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);\n"),
    "account_transfer_refused_for_what_is_held": (
        "threads/accounts.cpp", "ledger/account_climb.hpp",
        "call_in(*s.at, false) != 0) continue;\n        if (!s.fitted() && found.only_pending() && mine.wait()) {", "call_in(*s.at, false) != 0) continue;\n        if (false) {"),
    "account_waits_for_itself_in_a_call": (
        "unit/ledger/listeners.cpp", "ledger/account_hold.hpp", "        if (tree_.root.is_inside_a_call(sys::thread_token())) return false;\n", ""),
    "account_ends_before_its_views": (
        "unit/ledger/closing.cpp", "ledger/account_class.hpp", "items_.empty() && all_counted_down(); }", "items_.empty(); }"),
    "account_views_do_not_end_it": (
        "unit/buffer/owners.cpp", "ledger/account_close.hpp",
        "    left_[at] += static_cast<std::uint32_t>(by);\n    end_if_drained();\n", "    left_[at] += static_cast<std::uint32_t>(by);\n"),
    "account_counts_are_not_taken_over": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp",
        "        left_[at] = open_[at].exchange(counts_left + counts_left / 2, std::memory_order_acquire);\n",
        "        left_[at] = open_[at].load(std::memory_order_acquire);\n"),
    "account_touched_behind_a_transfer": (
        "unit/ledger/closing.cpp", "ledger/account_calls.hpp",
        "    from.count_in(moves, 1); // what is told comes after its last bytes\n", "",
        "    from.count_in(moves, -1);\n", ""),
    "buffer_counts_down_with_its_lock_held": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp",
"        hold.unlock();\n        to.count(counted::buffers, 1);\n", "        to.count(counted::buffers, 1);\n"),
    "account_ends_without_its_children": (
        "unit/ledger/closing.cpp", "ledger/account_close.hpp", "        c->parent_ = parent_;\n", ""),
    "account_refund_not_noted": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp", "        if (!l.noted($).exchange(true, mo_acq_rel)) place_of", "        if (false) place_of"),
    "account_granted_by_a_store": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "        if (!l.word($).compare_exchange_strong(w.bits, room_word::of(w.room() + want - n, l.steps && !held).bits, mo_relaxed)) {\n            l.own -= want;\n            return false;\n        }\n",
        "        l.word($).store(room_word::of(w.room() + want - n, l.steps && !held).bits, mo_relaxed);\n"),
    "account_undone_after_it_was_refused": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "        while (held && waiting != 0) breathe();\n",
        "        while (held && waiting != 0) breathe();\n        if (!l.steps) {\n            const auto by = static_cast<std::ptrdiff_t>(n);\n            l.own += n, climb(l.parent, shift(l, {by, by}));\n            unlock(), wait_lock();\n            l.own -= n, climb(l.parent, shift(l, {-by, -by}));\n        }\n"),
    "account_held_bytes_refuse_others": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp", "if (f.at->pending != 0 &&", "if (false &&"),
    "account_held_bytes_in_a_peak": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp", "return total - pending;", "return total;"),
    "account_reservation_is_not_kept": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "more = std::max(l->total + more, l->reserved) - l->claim();", "more = std::max(l->total + more, l->reserved) - l->claim() + (l->reserved != 0 ? more : 0);"),
    "account_cancel_keeps_its_claim": (
        "model/relacy_accounts.cpp", "model/relacy_accounts.cpp",
        "climb(l.parent, shift(l, {-static_cast<std::ptrdiff_t>(n), 0}));", "shift(l, {-static_cast<std::ptrdiff_t>(n), 0});"),
    "account_of_one_thread_used_by_two": (
        "death/accounts.cpp", "ledger/account_class.hpp",
        "    ALLOT_ALWAYS_INLINE bool give_room(std::size_t bytes) noexcept {\n        by_its_thread();\n",
        "    ALLOT_ALWAYS_INLINE bool give_room(std::size_t bytes) noexcept {\n"),
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
        "bugs/soak.cpp", "slots/state.hpp",
        "now |= (list ? listed : 0) | (note ? noted : 0);", "now |= (list ? listed : 0);"),
    "empty_pages_never_noted": (
        "unit/row/row_heap.cpp", "slots/state.hpp",
        "const bool note = (was & noted) == 0 && count(now) >= static_cast<std::int64_t>(whole);",
        "const bool note = false;"),
    "retires_without_draining": (
        "bugs/soak.cpp", "heap/page_lists.hpp",
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
        "        gone.add(p);\n        if constexpr (!Place::aside) sys::unpoison(memory, family_.page_bytes());\n        family_.give(memory, 1);",
        "        gone.add(p);\n        if constexpr (!Place::aside) sys::unpoison(memory, family_.page_bytes());\n        family_.arena().give(memory, 1);"),
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
    "held_bits_not_counted": (
        "conform/slots.cpp", "slots/bitmap.hpp",
        "            held_count_ += static_cast<std::uint32_t>(std::popcount(bits));\n", ""),
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
    # ---- threads and their managers ------------------------------------------------------------------------
    "thread_has_caches_from_its_first_row": (
        "threads/per_thread.cpp", "heap/thread_places.hpp", "enough = 32;", "enough = 1;"),
    "manager_leaves_its_threads_caches": (
        "threads/per_thread.cpp", "heap/thread_places.hpp",
        "            for (entry* e = home->entries_.first(); e != nullptr; e = home->entries_.after(*e)) e->part.close();\n", ""),
    "home_dies_under_its_threads": (
        "threads/per_thread.cpp", "heap/thread_places.hpp",
        "        if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;", "        delete this;"),
    "releases_past_the_threads_caches": (
        "process/locked_operations.cpp", "heap/thread_places.hpp",
        "return ALLOT_LIKELY(last.home == this) ? last.part : look();", "return last.home == this ? nullptr : nullptr;"),
    # ---- chunk arenas ----------------------------------------------------------------------------------------
    "buddy_forgets_to_join": (
        "conform/fit.cpp", "heap/buddy_fit.hpp", "while (p.order != t.top && is_free(t, p.order, p.index ^ 1)) {", "while (false && is_free(t, p.order, p.index ^ 1)) {"),
    "buddy_joins_with_the_next": (
        "conform/fit.cpp", "heap/buddy_fit.hpp", "while (p.order != t.top && is_free(t, p.order, p.index ^ 1)) {",
        "while (p.order != t.top && is_free(t, p.order, p.index | 1)) {"),
    "buddy_cuts_the_largest": (
        "unit/heap/buddy_fit.cpp", "heap/buddy_fit.hpp", "const auto from = static_cast<unsigned>(std::countr_zero(orders));\n            for (number t = with_free_[from]; t != nobody; t = trees_[t].next[from])\n                if",
        "const auto from = static_cast<unsigned>(std::bit_width(orders_) - 1);\n            for (number t = with_free_[from]; t != nobody; t = trees_[t].next[from])\n                if"),
    "buddy_gives_a_range_in_use": (
        "unit/heap/buddy_fit.cpp", "heap/buddy_fit.hpp", "        if (!is_free(trees_[t], trees_[t].top, 0)) return false;\n", ""),
    "slab_stays_when_empty": (
        "unit/heap/runs_fit.cpp", "heap/runs_fit.hpp", "            if (book_.give_slot(x, address)) {", "            if (book_.give_slot(x, address) && false) {"),
    "slab_of_one_quantum": (
        "unit/heap/runs_fit.cpp", "heap/runs_fit.hpp", "        while (bytes % size != 0) bytes += quantum;\n", "        while (bytes < size) bytes += quantum;\n"),
    "slot_given_back_twice": (
        "unit/heap/runs_fit.cpp", "heap/runs_fit.hpp", "            if (!book_.has_slot(x, address)) return 0;\n", ""),
    "runs_round_by_eighths": (
        "unit/heap/runs_fit.cpp", "heap/runs_fit.hpp", "std::size_t{1} << (log2_floor(n - 1) - 2);\n        return align_up(n, step);",
        "std::size_t{1} << (log2_floor(n - 1) - 1);\n        return align_up(n, step);"),
    "class_of_a_doubling_halved": (
        "unit/heap/block_classes.cpp", "heap/block_classes.hpp", "if (n <= Unit * Parts)", "if (n < Unit * Parts / 2)"),
    "cache_beyond_its_budget": (
        "unit/heap/chunk_arena.cpp", "heap/block_cache.hpp", "n >= b.limit || bytes_now() + bytes > budget_", "n >= b.limit"),
    "last_large_block_kept_for_ever": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_core.hpp", "        if (std::byte* const last = cache.take_last()) heap_.give(&last, 1);\n", ""),
    "last_large_block_of_any_class": (
        "unit/heap/block_cache.cpp", "heap/block_cache.hpp", "kept_of_.load(std::memory_order_relaxed) == c ? take_last()", "kept_of_.load(std::memory_order_relaxed) != none ? take_last()"),
    "large_block_shrinks_to_a_class": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_arena.hpp", "(chunk_bytes() >> arena().page_shift()) + 1);", "std::size_t{1});"),
    "chunks_only_by_halves": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_heap.hpp", "            if (chunk == least) break;\n", "            if (chunk / 2 < least) break;\n"),
    "new_chunk_is_anybodys": (
        "threads/chunk_arena.cpp", "heap/chunk_heap.hpp", "            if (added) got = cut_held(c, align, out, many);\n            else", "            if (!added)",
        "        if (added) family_.settled();\n", "        if (added) {\n            " + MOMENT.replace("512", "4") + "\n            return std::max(cut(c, align, out, many), 0U);\n        }\n",
        "            if (got == 0) got = cut(c, align, out, many); // who was asked for pages may have made room here, too\n            if (chunk == least) break;\n",
        "            if (got == 0) break;\n",
        "#include <allot/sync/spin_lock.hpp>\n", "#include <allot/sync/spin_lock.hpp>\n#include <allot/sync/pause.hpp>\n"),
    "device_chunks_look_like_the_hosts": (
        "unit/buffer/device.cpp", "heap/chunk_policies.hpp", "provided_by<answer<category::page>>::template has<property::host_accessible>", "true"),
    "records_without_end": (
        "unit/heap/chunk_arena.cpp", "heap/thread_blocks.hpp", "kept_ == most_records", "kept_ == 2 * most_records"),
    "driven_out_block_lost": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_core.hpp", "if (std::byte* const before = cache.keep_last(c, block)) out[n++] = before;", "cache.keep_last(c, block);"),
    "idle_threads_keep_their_blocks": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_core.hpp", "        if constexpr (Policies::per_thread) core.flush_threads();\n", ""),
    "owner_does_not_look_who_asks": (
        "unit/heap/block_cache.cpp", "heap/block_cache.hpp", "        if (ALLOT_LIKELY(!asked_.load(std::memory_order_acquire))) return true;\n", "        if (true) return true;\n"),
    "guests_come_in_without_asking": (
        "unit/heap/block_cache.cpp", "heap/block_cache.hpp", "return !inside_.exchange(true, std::memory_order_acquire);", "return inside_.store(true), true;"),
    "nobody_waits_for_the_owner": (
        "unit/heap/block_cache.cpp", "heap/block_cache.hpp", "        while (inside_.load(std::memory_order_acquire)) yield();\n", ""),
    "ended_threads_keep_their_blocks": (
        "threads/chunk_arena.cpp", "heap/thread_blocks.hpp", "        core_.empty(cache_);\n        core_.keep_counts(cache_);", "        core_.keep_counts(cache_);"),
    "ended_threads_counted_nothing": (
        "unit/heap/chunk_arena.cpp", "heap/thread_blocks.hpp", "        core_.empty(cache_);\n        core_.keep_counts(cache_);", "        core_.empty(cache_);"),
    "chunk_held_by_one_block": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_heap.hpp", "give_back(forced, forced ? arena().page_bytes() : chunk_);", "give_back(forced, chunk_);"),
    "free_chunks_stay": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_heap.hpp", "excess_.store(true, std::memory_order_relaxed);", "excess_.store(false, std::memory_order_relaxed);"),
    "pool_starves_large_requests": (
        "conform/chunks.cpp", "heap/chunk_heap.hpp", "return give_back(forced, forced ? arena().page_bytes() : chunk_);", "return forced ? 0 : give_back(false, chunk_);"),
    "released_block_looks_live": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_arena.hpp", "        core_.map().set(at, map::cached(c));\n", ""),
    "large_pages_uncharged": (
        "conform/chunks.cpp", "heap/chunk_heap.hpp", "        large_pages_.fetch_sub(pages, std::memory_order_relaxed);\n", ""),
    "pages_grown_past_the_limit": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_heap.hpp", "        if (!family_.ledger().try_charge(more)) return false;\n", ""),
    "resized_block_keeps_its_class": (
        "unit/heap/chunk_arena.cpp", "heap/chunk_arena.hpp", "            if (now != from) core_.map().set(at, map::live(now));\n            else if", "            if"),
    # ---- lock-free steps that are no longer one (docs/lock-free.md) ----------------------------------------
    "lock_taken_in_two_steps": (
        "threads/sync.cpp", "sync/spin_lock.hpp",
        "held_.exchange(1, std::memory_order_acquire) == 0;",
        f"([] {MOMENT}(), held_.store(1, std::memory_order_relaxed), true);"),
    "stack_pushed_in_two_steps": (
        "threads/sync.cpp", "sync/mpsc_stack.hpp",
        "#include <allot/config.hpp>\n", "#include <allot/config.hpp>\n#include <allot/sync/pause.hpp>\n",
        "while (!head_.compare_exchange_weak(head, node, std::memory_order_release, std::memory_order_relaxed));",
        f"while (false);\n        {MOMENT}\n        head_.store(node);"),
    "given_back_in_two_steps": (
        "threads/rows.cpp", "slots/state.hpp",
        "            if (word_.compare_exchange_weak(was, now, std::memory_order_acq_rel, std::memory_order_acquire))\n",
        "            word_.store(now);\n"),
    "holder_linked_in_two_steps": (
        "threads/rows.cpp", "row/link_count.hpp",
        "#include <allot/config.hpp>\n", "#include <allot/config.hpp>\n#include <allot/sync/pause.hpp>\n",
        "word.fetch_add(1, std::memory_order_relaxed);",
        f"const std::uint32_t now = load(); {MOMENT} word.store(now + 1);"),
    "pages_given_in_two_steps": (
        "threads/arena.cpp", "page/page_bitmap.hpp",
        "#include <allot/config.hpp>\n", "#include <allot/config.hpp>\n#include <allot/sync/pause.hpp>\n",
        "good = (words_[w].fetch_and(~mask) & mask) == mask && good;",
        f"const std::uint64_t was = words_[w].load();\n            {MOMENT}\n            words_[w].store(was & ~mask);\n"
        "            good = (was & mask) == mask && good;"),
    "huge_place_taken_in_two_steps": (
        "threads/huge_rows.cpp", "row/huge_rows.hpp",
        "                    place.row.compare_exchange_strong(expected, reserved(), std::memory_order_acq_rel))",
        f"                    ([] {MOMENT}(), place.row.store(reserved()), expected == nullptr))"),
    "row_waits_in_two_steps": (
        "threads/guards.cpp", "heap/heap_guard.hpp",
        "        return places_[at].exchange(row, std::memory_order_acq_rel);",
        f"        std::byte* const was = places_[at].load();\n        {PAUSE}\n"
        "        places_[at].store(row);\n        return was;"),
    "damage_noted_without_the_lock": (
        "threads/guards.cpp", "heap/heap_guard.hpp",
        "        const std::lock_guard hold(lock_);\n        if (n_ < notes_.size()) notes_[n_++] = {kind, row, type};",
        f"        const std::size_t at = n_;\n        {PAUSE}\n"
        "        if (at < notes_.size()) notes_[at] = {kind, row, type};\n        n_ = at + 1;"),
    # ---- the simulated device: what it would no longer find ------------------------------------------------
    "event_stands_for_nothing": (
        "unit/device/ordering.cpp", "device/simulator/streams.hpp", "        e->clock = s->clock;\n", ""),
    "wait_learns_nothing": (
        "unit/device/ordering.cpp", "device/simulator/streams.hpp", "        s->clock.join(e->clock);\n", ""),
    "waiting_host_learns_too_much": (
        "unit/device/ordering.cpp", "device/simulator/order.hpp",
        "        each_implied(s, [this](stream_state& one) {\n            drain(one);",
        "        join_implied(s);\n        each_implied(s, [this](stream_state& one) {\n            drain(one);"),
    "legacy_stream_waits_for_nobody": (
        "unit/device/ordering.cpp", "device/simulator/order.hpp",
        "if (streams_[i].kind == stream_kind::blocking) s.clock.join(streams_[i].clock);", ";"),
    "legacy_stream_waits_for_non_blocking_ones": (
        "unit/device/ordering.cpp", "device/simulator/order.hpp",
        "if (streams_[i].kind == stream_kind::blocking) s.clock.join(streams_[i].clock);", "s.clock.join(streams_[i].clock);"),
    "nobody_waits_for_the_legacy_stream": (
        "unit/device/ordering.cpp", "device/simulator/order.hpp", "            s.clock.join(legacy.clock);\n", ""),
    "destroyed_stream_forgotten": (
        "unit/device/ordering.cpp", "device/simulator/order.hpp", "            s.clock.join(d.gone_blocking);\n", ""),
    "host_does_not_tell_what_it_learnt": (
        "unit/device/ordering.cpp", "device/simulator/order.hpp",
        "if (host_clock_.join(clock)) ++host_version_;", "host_clock_.join(clock);"),
    "third_reader_forgotten": (
        "unit/device/ordering.cpp", "device/simulator/uses.hpp", "            more.push_back(now);\n", ""),
    "readers_disturb_each_other": (
        "unit/device/ordering.cpp", "device/simulator/uses.hpp", "        if (what == intent::read) return;\n", ""),
    "use_taken_for_one_of_all_bytes": (
        "unit/device/ordering.cpp", "device/simulator/uses.hpp",
        "            if (it->second.end > end) it = std::prev(split(it, end));\n", ""),
    "old_handle_finds_the_new_object": (
        "unit/device/ordering.cpp", "device/simulator/handles.hpp", "s.used && s.generation == h.generation ?", "s.used ?"),
    "pieces_of_two_mappings_made_one": (
        "unit/device/virtual_memory.cpp", "device/simulator/uses.hpp", "before.of == it->second.of && ", ""),
    "freed_block_looks_used": (
        "unit/device/memory.cpp", "device/simulator/uses.hpp", "                if (what == intent::free) is = state::freed;\n", ""),
    "pool_hides_a_missing_wait": (
        "unit/device/memory.cpp", "device/simulator/store.hpp",
        "            if (!clock.knows(b.freed.who, b.freed.when)) continue;\n", ""),
    "peers_need_no_right": (
        "unit/device/memory.cpp", "device/simulator/memory.hpp",
        "(devices_[static_cast<std::size_t>(device)].peers >> r.device & 1) != 0", "true"),
    "unmap_asks_nobody": (
        "unit/device/virtual_memory.cpp", "device/simulator/memory.hpp",
        "if (told || host_clock_.knows(u.who, u.when)) return;", "return;"),
    "map_over_a_mapping": (
        "unit/device/virtual_memory.cpp", "device/simulator/virtual_memory.hpp",
        "!is_reserved(at(p), bytes) || overlaps(at(p), bytes))", "!is_reserved(at(p), bytes))"),
    "half_a_mapping_unmapped": (
        "unit/device/virtual_memory.cpp", "device/simulator/virtual_memory.hpp",
        "return bytes != 0 && start == end;", "return bytes != 0 && start >= end;"),
    "released_handle_dies_under_its_mapping": (
        "unit/device/virtual_memory.cpp", "device/simulator/virtual_memory.hpp",
        "if (!m.released || m.mapped != 0) return;", "if (!m.released) return;"),
    "refused_call_leaves_the_capture_valid": (
        "unit/device/capture.cpp", "device/simulator/captures.hpp", "c.invalid = refused = true;", "refused = true;"),
    "capture_of_one_thread_refuses_all": (
        "unit/device/capture.cpp", "device/simulator/captures.hpp",
        "            if (c.thread != thread && (c.mode != capture_mode::global || mode != capture_mode::global)) return;\n", ""),
    "capture_ends_with_a_stream_unjoined": (
        "conform/device.cpp", "device/simulator/operations.hpp", "code = 904;", "code = 0;"),
    "failure_comes_one_call_late": (
        "unit/device/faults.cpp", "device/simulator/faults.hpp", "if (e.plan.nth > 1) --e.plan.nth;", "if (e.plan.nth-- > 0) ;"),
    "sticky_failure_passes": (
        "unit/device/faults.cpp", "device/simulator/machine.hpp", "lost_ = found != failure::none && sticky;", ""),
    "delayed_work_does_not_wait": (
        "unit/device/execution.cpp", "device/simulator/work.hpp", "            if (!passed(m)) return false;\n", "            (void)passed(m);\n"),
    "every_seed_is_the_same": (
        "unit/device/execution.cpp", "device/simulator/machine.hpp", "random_{options.seed}", "random_{1}"),
    "poison_out_of_order": (
        "unit/device/execution.cpp", "device/simulator/memory.hpp",
        "submit(s, [p, bytes] { std::memset(p, poison_byte, bytes); });", "(void)s, std::memset(p, poison_byte, bytes);"),
    "copy_reads_the_host_too_late": (
        "conform/device.cpp", "device/simulator/operations.hpp", "            from = staged.get();\n", ""),
    "waits_without_work_forgotten": (
        "model/device.cpp", "device/simulator/work.hpp", "        settle();\n        return queued_;", "        return queued_;"),
    "legacy_stream_looked_at_once": (
        "model/device.cpp", "device/simulator/order.hpp", "            ++d.legacy_version;\n", "            d.legacy_version = 1;\n"),
    "reader_replaces_one_nobody_waited_for": (
        "model/device.cpp", "device/simulator/uses.hpp", "if (!was_read || clock.knows(read.who, read.when)) {", "if (!was_read || more.empty()) {"),
    "one_host_wait_is_enough": (
        "model/device.cpp", "device/simulator/order.hpp", "        if (s.host_seen != host_version_) {", "        if (s.host_seen == 0) {"),
    "pieces_of_two_states_made_one": (
        "model/device_uses.cpp", "device/simulator/uses.hpp", " && before.is == it->second.is;", ";"),
    "gap_between_regions_not_seen": (
        "model/device_uses.cpp", "device/simulator/uses.hpp", "            if (it->first > at) {\n", "            if (it->first > at + bytes_unseen) {\n",
        "class use_map {\n", "inline constexpr std::size_t bytes_unseen = 32;\nclass use_map {\n"),
    # ---- weaker orders, in the models ----------------------------------------------------------------------
    "stack_push_relaxed": (
        "model/relacy_stack.cpp", "model/relacy_common.hpp",
        "compare_exchange_weak(was, node, mo_release, mo_relaxed)",
        "compare_exchange_weak(was, node, mo_relaxed, mo_relaxed)"),
    "stack_take_relaxed": (
        "model/relacy_stack.cpp", "model/relacy_common.hpp",
        "exchange(nullptr, mo_acquire)",
        "exchange(nullptr, mo_relaxed)"),
    "only_holder_read_relaxed": (
        "model/relacy_links.cpp", "model/relacy_links.cpp",
        "if (word($).load(mo_acquire) == 1) {",
        "if (word($).load(mo_relaxed) == 1) {"),
    "holder_dropped_without_release": (
        "model/relacy_links.cpp", "model/relacy_links.cpp",
        "if (was > 1) was = word($).fetch_sub(1, mo_acq_rel);",
        "if (was > 1) was = word($).fetch_sub(1, mo_acquire);"),
    "shared_holder_dropped_relaxed": (
        "model/relacy_links.cpp", "model/relacy_links.cpp",
        "if (word($).fetch_sub(1, mo_acq_rel) != 1) return;",
        "if (word($).fetch_sub(1, mo_relaxed) != 1) return;"),
    "place_taken_relaxed": (
        "model/relacy_caches.cpp", "model/relacy_caches.cpp",
        "if (places[at].taken($).exchange(1, mo_acquire) == 0)",
        "if (places[at].taken($).exchange(1, mo_relaxed) == 0)"),
    "place_given_relaxed": (
        "model/relacy_caches.cpp", "model/relacy_caches.cpp",
        "p->slots($) + 1;\n        RL_ASSERT(--p->users == 0);\n        p->taken($).store(0, mo_release);",
        "p->slots($) + 1;\n        RL_ASSERT(--p->users == 0);\n        p->taken($).store(0, mo_relaxed);"),
    "owner_enters_unfenced": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp",
        "        rl::atomic_thread_fence(mo_seq_cst, $); // full_fence, or the other's in this thread\n", ""),
    "asker_looks_unfenced": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp",
        "        rl::atomic_thread_fence(mo_seq_cst, $); // process_fence\n", ""),
    "owner_leaves_relaxed": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp",
        "inside($).store(0, mo_release); // leave", "inside($).store(0, mo_relaxed); // leave"),
    "asker_dismisses_relaxed": (
        "model/relacy_owned_cache.cpp", "model/relacy_owned_cache.cpp",
        "asked($).store(0, mo_release); // dismiss", "asked($).store(0, mo_relaxed); // dismiss"),
    "given_back_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.hpp",
        "compare_exchange_weak(was, now, mo_acq_rel, mo_acquire)",
        "compare_exchange_weak(was, now, mo_relaxed, mo_relaxed)"),
    "empty_read_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.hpp",
        "bool empty_or_unnote() {\n        std::uint64_t was = page.word($).load(mo_acquire);",
        "bool empty_or_unnote() {\n        std::uint64_t was = page.word($).load(mo_relaxed);"),
    "chain_put_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp",
        "compare_exchange_weak(was, slots[0] + 1, mo_release, mo_relaxed)",
        "compare_exchange_weak(was, slots[0] + 1, mo_relaxed, mo_relaxed)"),
    "chain_taken_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp",
        "head($).exchange(0, mo_acquire)",
        "head($).exchange(0, mo_relaxed)"),
    "bits_put_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp",
        "words[at]($).fetch_or(bits, mo_seq_cst)",
        "words[at]($).fetch_or(bits, mo_relaxed)"),
    "bits_taken_relaxed": (
        "model/relacy_heaplet.cpp", "model/relacy_heaplet.cpp",
        "words[at]($).exchange(0, mo_seq_cst)",
        "words[at]($).exchange(0, mo_relaxed)"),
    "mark_stored_relaxed": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp",
        ".store(1, mo_release)",
        ".store(1, mo_relaxed)"),
    "mark_loaded_relaxed": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp",
        "if (marks[at]($).load(mo_seq_cst) != 0)",
        "if (marks[at]($).load(mo_relaxed) != 0)"),
    "mark_unfenced": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp",
        "rl::atomic_thread_fence(mo_seq_cst, $); // full_fence",
        ""),
    "hint_cleared_unfenced": (
        "model/relacy_marks.cpp", "model/relacy_marks.cpp",
        "            rl::atomic_thread_fence(mo_seq_cst, $);\n            got +=",
        "            got +="),
    "page_does_not_say_that_it_owes": (
        "model/relacy_held.cpp", "model/relacy_held.cpp",
        "            word($).fetch_or(owed, mo_acq_rel);\n", ""),
    "owing_page_not_noted": (
        "model/relacy_held.cpp", "model/relacy_held.cpp",
        "if (c.note || (c.owes && !noted($).load(mo_relaxed))) note();", "if (c.note) note();"),
    "held_slots_collected_without_telling": (
        "model/relacy_held.cpp", "model/relacy_held.cpp",
        "        if (owing($)) settle();\n        if (empties", "        if (empties"),
    "told_without_looking_what_is_due": (
        "model/relacy_held.cpp", "model/relacy_held.cpp",
        "due ? give_back(0) : change{};", "change{};"),
    "told_by_a_load_and_a_store": (
        "model/relacy_held.cpp", "model/relacy_held.cpp",
        "const std::uint64_t now = word($).fetch_sub(owed - n, mo_acq_rel) - (owed - n);",
        "const std::uint64_t now = word($).load(mo_acquire) - (owed - n);\n        word($).store(now, mo_release);"),
    "note_found_relaxed": (
        "model/relacy_noted.cpp", "model/relacy_noted.cpp",
        "h.noted($).exchange(1, mo_acq_rel)",
        "h.noted($).exchange(1, mo_relaxed)"),
    "note_taken_off_by_a_store": (
        "model/relacy_noted.cpp", "model/relacy_noted.cpp",
        "one->noted($).exchange(0, mo_acq_rel);",
        "one->noted($).store(0, mo_release);"),
    "busy_heap_not_noted": (
        "model/relacy_noted.cpp", "model/relacy_noted.cpp",
        "if (!try_lock()) return note();",
        "if (!try_lock()) return;"),
    "event_stored_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp",
        "e.first($).store(number + 1, mo_release)",
        "e.first($).store(number + 1, mo_relaxed)"),
    "event_loaded_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp",
        "first = e.first($).load(mo_acquire)",
        "first = e.first($).load(mo_relaxed)"),
    "event_turn_stored_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp",
        "e.turn($).store(2 * number + 2, mo_release)",
        "e.turn($).store(2 * number + 2, mo_relaxed)"),
    "event_turn_read_relaxed": (
        "model/relacy_ring.cpp", "model/relacy_ring.cpp",
        "if (e.turn($).load(mo_acquire) != 2",
        "if (e.turn($).load(mo_relaxed) != 2"),
    "page_hint_cleared_first": (
        "model/relacy_pages.cpp", "model/relacy_pages.cpp",
        "        words[page]($).fetch_and(0, mo_seq_cst);\n        full($).fetch_and(~(1u << page), mo_seq_cst);",
        "        full($).fetch_and(~(1u << page), mo_seq_cst);\n        words[page]($).fetch_and(0, mo_seq_cst);"),
    "page_hint_not_looked_at_again": (
        "model/relacy_pages.cpp", "model/relacy_pages.cpp",
        "        if (words[w]($).load(mo_seq_cst) == 0) full($).fetch_and(~(1u << w), mo_seq_cst);\n",
        ""),
}
SMOKE = ["ledger_adds_then_checks", "summary_bit_not_set_again", "cut_one_slot_too_many"]
CHECKED = {"death/accounts.cpp", "death/rows.cpp"}
# For tests of cuda/: a toolkit with CCCL.
CUDA = next((p for p in map(pathlib.Path, (os.environ.get("CUDA_HOME", "/usr/local/cuda"), "/usr/local/cuda", "/opt/cuda"))
             if (p / "include/cccl/cuda/memory_resource").exists()), None)


def red(test, include, folder, tests=TESTS):
    """True when the test, compiled with these headers, fails; with what it said last."""
    program = folder / "program"
    command = [CXX, "-std=c++20", "-O1", "-w", "-pthread", f"-DALLOT_CHECKED={int(test in CHECKED)}", f"-I{include}",
               f"-I{TESTS / 'bugs' / 'mini'}", f"-I{TESTS}", f"-I{TESTS.parent / 'bench'}", str(tests / test), "-o", str(program)]
    if is_cuda(test):
        command += ["-isystem", CUDA / "include", "-isystem", CUDA / "include/cccl", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"]
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
    _, file, *edits = BUGS[bug]
    text = (TESTS / file if is_model(file) else INCLUDE / "allot" / file).read_text()
    return all(text.count(before) == 1 for before in edits[::2])


def is_model(file):
    return file.startswith("model/")


def is_cuda(test):
    return test.startswith("cuda/")


def main(arguments):
    if any(a in ("-h", "--help") for a in arguments):
        print(__doc__)
        return 0
    if "--list" in arguments:
        print("\n".join(BUGS))
        return 0
    unknown = [a for a in arguments if a not in BUGS and a not in ("--all", "--smoke")]
    if unknown:
        print(f"run.py: no bug or option: {' '.join(unknown)}", file=sys.stderr)
        return 2
    names = list(BUGS) if "--all" in arguments else [a for a in arguments if a in BUGS] or SMOKE
    relacy = any(pathlib.Path(at, "relacy/relacy.hpp").exists() for at in ("/usr/include", "/usr/local/include"))
    if not relacy:
        print("no relacy: bugs of the models are left out")
        names = [bug for bug in names if not is_model(BUGS[bug][1])]
    if CUDA is None:
        print("no CUDA toolkit with CCCL: bugs of cuda::mr and Thrust are left out")
        names = [bug for bug in names if not is_cuda(BUGS[bug][0])]
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
            copy = folder / "copy"
            if is_model(header):
                shutil.copytree(TESTS / "model", copy / "model")
                target, include, tests = copy / header, INCLUDE, copy
            else:
                shutil.copytree(INCLUDE, copy)
                target, include, tests = copy / "allot" / header, copy, TESTS
            text = target.read_text()
            if not stands(bug):
                print(f"{bug}: {header} has changed; the bug's texts no longer stand there")
                failed.append(bug)
            else:
                for before, after in zip(edits[::2], edits[1::2]):
                    text = text.replace(before, after)
                target.write_text(text)
                bad, said = red(test, include, folder, tests)
                print(f"{bug}: {'found by' if bad else 'NOT FOUND by'} {test}" + (f" ({said})" if bad else ""), flush=True)
                if not bad:
                    failed.append(bug)
            shutil.rmtree(copy)
    print(f"{len(names) - len(failed) + len(stale)} of {len(names)} bugs found, of {len(BUGS)} known")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
