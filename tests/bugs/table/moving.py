"""Bugs of rows that move: compaction, resize, row arrays."""
from .bug import bug, wait

BUGS = {
    "flags_are_lost_when_a_row_moves": bug(
        "unit/row/compaction.cpp",
        "counting::word(into, to).word.store(state, std::memory_order_relaxed);",
        "counting::word(into, to).start();"),
    "row_moves_while_shared": bug(
        "unit/row/compaction.cpp",
        "if ((now & link_word::link_bits) != 1) return row_moves::shared;",
        ""),
    "span_keeps_the_old_address": bug(
        "unit/row/compaction.cpp",
        "row = to; ++done_.moved;",
        "++done_.moved;"),
    "pinned_type_moves": bug(
        "unit/row/compaction.cpp",
        "return moves ? row_moves::yes : row_moves::pinned;",
        "return row_moves::yes;"),
    "slots_that_no_row_took_are_lost": bug(
        "unit/row/compaction.cpp",
        "b.of->exchange(b.slots + b.next, b.n - b.next, nullptr, 0);",
        ""),
    "rows_move_onto_pages_that_are_emptied": bug(
        "unit/row/compaction.cpp",
        "if (p.is_emptied.load(std::memory_order_relaxed) || p.is_broken()) continue;",
        ""),
    "pages_with_slots_that_stay_are_emptied": bug(
        "unit/row/compaction.cpp",
        "if (n != p.marked || p.is_broken()) ++pinned; else ++pages[degree_of(p)];",
        "++pages[degree_of(p)];"),
    "emptied_pages_are_not_listed_again": bug(
        "unit/row/compaction.cpp",
        "if (p.is_emptied.exchange(false, std::memory_order_relaxed)) make_ready(p);",
        "p.is_emptied.exchange(false, std::memory_order_relaxed);"),
    "budget_of_rows_is_not_kept": bug(
        "unit/row/compaction.cpp",
        "--done_.kept; --left_;",
        "--done_.kept;"),
    "type_is_lost_when_a_row_moves": bug(
        "unit/row/compaction.cpp",
        "std::atomic_ref(*counting::type_number(into, to)).store(number, std::memory_order_relaxed);",
        ";"),
    "rows_of_other_managers_move": bug(
        "unit/row/compaction.cpp",
        "if (context_of(p).manager != manager || !is_start(p, row)) return row_moves::not_live;",
        "if (!is_start(p, row)) return row_moves::not_live;"),
    "damaged_row_moves": bug(
        "unit/row/compaction.cpp",
        "if (!heap_of(p).is_intact(row)) return true; const row_type* const type",
        "const row_type* const type"),
    "changed_sealed_object_moves": bug(
        "unit/row/compaction.cpp",
        "return type != nullptr && !type->moves_as_bytes() && !is_seal_intact(p, row);",
        "return false;"),
    "pages_that_a_waiting_request_returns_are_not_counted": bug(
        "threads/moving.cpp",
        "if (done.pages_after < done.pages_before) emptied = max(emptied, done.pages_before - done.pages_after);",
        ""),
    "resize_tells_damage_twice": bug(
        "unit/row/resized_contents.cpp",
        "if (!heap_of(p).is_intact(row)) heap_of(p).guard_row(row); // the resize has reported it",
        ""),
    "capacity_for_a_row_that_cannot_be": bug(
        "unit/row/resize.cpp",
        "return has == 0 || has - check > static_cast<std::size_t>(PTRDIFF_MAX) ? 0 : has - check;",
        "return has == 0 ? 0 : has - check;"),
    "array_leaves_the_last_pages": bug(
        "unit/row/row_array.cpp",
        "resize(capacity_ + capacity_ / 32 + 1) || resize(capacity_ + 1);",
        "resize(capacity_ + capacity_ / 4 + 1);"),
    "array_is_in_two_compactors": bug(
        "unit/row/row_array.cpp",
        "if (rows.home_ != nullptr) return; rows.home_ = this;",
        "rows.home_ = this;"),
    "array_that_ends_in_a_compactor_is_not_told": bug(
        "death/moving.cpp",
        "if (home_ != nullptr) report_misuse({.kind = misuse::living_array, .manager = rows_.name()});",
        ""),
    "compactor_that_ends_with_arrays_is_not_told": bug(
        "death/moving.cpp",
        "if (!arrays_.empty()) report_misuse({.kind = misuse::living_array, .manager = rows_.name()});",
        ""),
    "view_takes_more_rows_than_there_are": bug(
        "death/moving.cpp",
        "report_misuse({.kind = misuse::out_of_bounds, .manager = array_.rows_.name()}); n = rows_.size();",
        "n = rows_.size();"),
    "row_of_another_manager_is_taken_for_dead": bug(
        "death/moving.cpp",
        "if (s.is_of_other) return is_misuse(misuse::foreign_pointer);",
        ""),
    "object_is_moved_as_bytes": bug(
        "unit/row/compaction.cpp",
        "if (is_object) type->relocate(to, row);",
        ""),
    "resized_object_is_not_destroyed": bug(
        "unit/row/resized_contents.cpp",
        "if (constructed_) allot::finalize(larger);",
        ""),
    "resized_row_is_destroyed_twice": bug(
        "unit/row/resized_contents.cpp",
        "if constexpr (counting::counts) counting::word(p, row).start(); release(h, row);",
        "release(h, row);"),
    "resize_keeps_half_of_a_row": bug(
        "unit/row/resize.cpp",
        "std::memcpy(larger, row_, min(keep_, had_));",
        "std::memcpy(larger, row_, min(keep_, had_) / 2);"),
    "resize_moves_a_shared_row": bug(
        "unit/row/resize.cpp",
        "if (is_shared_) return refuse(\"a row with several links is not resized\");",
        ""),
    "resize_moves_a_pinned_row": bug(
        "unit/row/resized_contents.cpp",
        "if (!may_move_) return refuse(\"a row of this type does not move\");",
        ""),
    "huge_row_of_a_pinned_type_moves": bug(
        "unit/row/resized_contents.cpp",
        "const run_to_grow from{to.old, h.pages, type.can_move(), type.moves_as_bytes()};",
        "const run_to_grow from{to.old, h.pages, true, type.moves_as_bytes()};"),
    "pages_go_before_the_capacity_is_published": bug(
        "unit/row/resize.cpp",
        "to.row->pages = to.pages;",
        "to.row->pages = to.pages; if (to.pages < to.old_pages) give(page_at(to.old, to.pages), to.old_pages - to.pages);"),
    "old_row_goes_before_the_new_one_is_published": bug(
        "unit/row/resize.cpp",
        "moved = true;",
        "moved = true; page_->ops->leave(*page_, row_);"),
    "declined_resize_keeps_its_pages": bug(
        "unit/row/resize.cpp",
        "moved != nullptr ? huge.drop_old(to) : huge.give_up(to);",
        "if (moved != nullptr) huge.drop_old(to);"),
    "declined_resize_keeps_its_row": bug(
        "unit/row/resize.cpp",
        "moved ? page_->ops->leave(*page_, row_) : core_.release(larger);",
        "if (moved) page_->ops->leave(*page_, row_);"),
    "resized_row_stays_sealed": bug(
        "unit/row/resized_contents.cpp",
        "word(*to.row, from).unseal();",
        ""),
    "damage_unseen_where_a_row_is_resized": bug(
        "unit/row/resized_contents.cpp",
        "void report_damage() noexcept { static_cast<void>(page_->ops->check(*page_, row_)); }",
        "void report_damage() noexcept {}"),
    "canary_stays_where_a_row_ended": bug(
        "unit/row/resized_contents.cpp",
        "canary_.write(row, has + Guard::row_bytes, arena_offset(row));",
        ""),
    "gained_bytes_are_not_wiped": bug(
        "unit/row/resized_contents.cpp",
        "if (kept < has) sys::wipe(row + kept, has - kept);",
        ""),
    "moved_row_is_found_at_its_old_page": bug(
        "unit/row/resize.cpp",
        "provider_.arena().set_owner(to.run.first, static_cast<page_header*>(to.row));",
        ""),
    "old_pages_still_have_an_owner": bug(
        "unit/row/resize.cpp",
        "provider_.arena().set_owner(to.old, nullptr);",
        ""),
    "reclaimers_are_asked_by_the_wrong_refusal": bug(
        "unit/row/resize.cpp",
        "detail::note_refusal(why);",
        ""),
    "room_to_grow_leaves_none_to_others": bug(
        "unit/row/resize.cpp",
        "return free > others ? (free - others) / 2 : 0;",
        "return free / 2;"),
    "grown_row_has_no_room": bug(
        "unit/row/resize.cpp",
        "return free > others ? (free - others) / 2 : 0;",
        "return others & free & 0;"),
    "row_slides_by_what_it_gains": bug(
        "unit/row/resize.cpp",
        "by = more + room_for(new_pages, free - more);",
        "by = more;"),
    "slid_pages_are_lost": bug(
        "unit/row/resize.cpp",
        "provider_.arena().give_slid(first, n);",
        "static_cast<void>(first);"),
    "uncounted_row_loses_its_alignment": bug(
        "unit/row/resized_contents.cpp",
        "bytes_of_row_.align = s.align > 8 ? s.align : 0;",
        "bytes_of_row_.align = 0;"),
    "bytes_behind_an_object_stay": bug(
        "unit/row/resized_contents.cpp",
        "std::memcpy(larger, row_, min(keep_, had_)); if (type_->moves_as_object(constructed_)) type_->relocate(larger, row_);",
        "if (type_->moves_as_object(constructed_)) type_->relocate(larger, row_); else std::memcpy(larger, row_, min(keep_, had_));"),
    "little_time_moves_no_row": bug(
        "unit/row/compaction.cpp",
        "if (begun_ == 0) begun_ = now;",
        "if (begun_ == 0) begun_ = now - 2;"),
    "second_move_of_a_resize_counts_again": bug(
        "unit/row/resize.cpp",
        "if (moved == nullptr) moved = huge.adopt(to, keep_);",
        "moved = huge.adopt(to, keep_);"),
    "checksum_becomes_contents": bug(
        "unit/row/resized_contents.cpp",
        "std::size_t kept = had - (Counts ? type.check_bytes() : 0);",
        "std::size_t kept = had;"),
    "dead_address_in_a_span_is_reported": bug(
        "death/moving.cpp",
        "return page_of_row(arena_, row, []() noexcept -> page_header* { return nullptr; });",
        "return page_of_row(arena_, row);"),
    "inside_of_a_huge_row_is_taken_for_it": bug(
        "death/moving.cpp",
        "header(p).context->manager == manager && row == row_of(header(p));",
        "header(p).context->manager == manager;"),
    "capacity_forgets_the_alignment": bug(
        "unit/row/resize.cpp",
        "return align_up(classes_.slot_bytes(index), plan.align) - header;",
        "return classes_.slot_bytes(index) - header;"),
    "room_is_counted_a_page_short": bug(
        "unit/page/page_bitmap.cpp",
        "const std::size_t last = page - n - 1, in_word = last % 64 + 1;",
        "const std::size_t last = page - n - 1, in_word = last % 64 == 0 ? 2 : last % 64 + 1;"),
    "array_evicts_rows_to_hold_more": bug(
        "unit/row/row_array.cpp",
        "if (grower_.load(std::memory_order_relaxed) == sys::thread_token()) return exclusive_view(*this, {});",
        ""),
    "array_grows_at_any_cost": bug(
        "unit/row/row_array.cpp",
        "const cost_cap cap(growth_cost_);",
        ""),
    "slots_of_taken_rows_are_lost_at_the_limit": bug(
        "unit/row/row_array.cpp",
        "return resize(detail::max(capacity_ + more, least_slots)) || slide(1) ||",
        "return resize(detail::max(capacity_ + more, least_slots)) ||"),
    "array_grows_by_a_slot": bug(
        "unit/row/row_array.cpp",
        "const std::size_t more = capacity_ < max_doubled ? capacity_ : capacity_ / 4;",
        "const std::size_t more = 1;"),
    "array_counts_a_row_before_it_is_there": bug(
        "threads/moving.cpp",
        "slots_[at] = row; end_.store(at + 1, std::memory_order_release);",
        "end_.store(at + 1, std::memory_order_release); " + wait(64, 20) + "slots_[at] = row;"),
    "slots_move_under_readers": bug(
        "threads/moving.cpp",
        "const std::unique_lock hold(lock_); adopt(move());",
        "const auto now = move(); std::memset(slots_, 0, used); " + wait(1, 50) + "adopt(now);"),
    "sparse_pages_are_not_packed": bug(
        "unit/row/row_array.cpp",
        "if (sparse == 0 || (sparse < s.missing() && !s.critical)) return false;",
        "return false;"),
    "device_rows_are_free_before_their_copies": bug(
        "unit/row/device_compaction.cpp",
        "if (can_wait) add(*id, unused);",
        "if (can_wait && !copied) add(*id, unused);"),
    "copies_that_failed_are_taken_for_done": bug(
        "unit/row/device_compaction.cpp",
        "if (!copy_rows(some.to, some.from, some.bytes, n)) return left_ = 0, false;",
        "static_cast<void>(copy_rows(some.to, some.from, some.bytes, n));"),
    "device_row_moves_by_a_hook": bug(
        "unit/row/device_compaction.cpp",
        "(type->can_move() && (!Place::out_of_band || type->moves_as_bytes()))",
        "type->can_move()"),
}
