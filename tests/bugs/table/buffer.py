"""Bugs of buffers: who is charged, views, reservations, vectors."""
from .windows import wait

BUGS = {
    "block_of_two_accounts_ends_without_the_lock": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp", " && !l.block->met_others", ""),
    "view_let_go_in_its_own_move_stays": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "    if (ALLOT_UNLIKELY(left)) end_ledger(l);\n", ""),
    "alone_while_the_charge_moves": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", " && !l.block->is_moving();", ";"),
    "buffer_heir_is_the_newest": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "if (found == nullptr && !l->passed) found = l;", "if (!l->passed) found = l;"),
    "buffer_relabelled_ledger_keeps_its_place": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp", "if (l.next != nullptr) b.remove(l), b.append(l);", ""),
    "buffer_charge_taken_by_who_has_it_not": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp",
        "if (b.charged != from.by || from.by == &to) return {};", "if (from.by == &to) return {};"),
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
        "threads/buffers.cpp", "buffer/buffer_block.hpp", "            l.by = &from;\n", "",
        "        hold.release();\n        status = begin_move", f"        hold.release();\n        {wait(3, 300)}\n        status = begin_move"),
    "buffer_relabels_where_others_may_come": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp",
        "    if (moves && (b.ledgers != &l || l.next != nullptr)) return false;\n", "",
        "        hold.release();\n        status = begin_move", f"        hold.release();\n        {wait(3, 300)}\n        status = begin_move"),
    "buffer_charge_stays_behind_with_who_is_gone": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp",
        "return found != nullptr ? found : ending;", "return found;",
        "    buffer_ledger* also = nullptr;\n    b.lock.lock();\n",
        "    buffer_ledger* also = nullptr;\n    " + wait(64, 20) + "\n    b.lock.lock();\n"),
    "buffer_heir_does_not_wait_for_its_charge": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp",
        "        if (b.moved_by_another()) {\n            breathe(b);\n            continue;\n        }\n",
        "        if (b.moved_by_another()) break;\n",
        "    charge_status s = account::transfer(from, to, b.memory.bytes);\n",
        "    charge_status s = account::transfer(from, to, b.memory.bytes);\n    " + wait(64, 20) + "\n"),
    "buffer_view_added_to_a_dead_ledger": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp",
        "        while (n != 0)\n            if (views", "        for (;;)\n            if (views",
        "    b.lock.lock();\n    while (b.charged == &mine) {",
        "    " + wait(8, 20) + "\n    b.lock.lock();\n    while (b.charged == &mine) {"),
    "buffer_passes_the_charge_to_a_closed_account_for_ever": (
        "unit/buffer/buffers.cpp", "buffer/buffer_block.hpp", "if (!s.charged()) next->passed = true;\n        else if", "if"),
    "buffer_charged_by_what_was_asked": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp",
        "    const charge_status s = by.try_charge(m.bytes);\n", "    const charge_status s = by.try_charge(bytes);\n"),
    "buffer_memory_kept_by_a_refused_request": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp",
        "        told(detail::no_memory(bytes));\n    }\n    give(m);\n", "        told(detail::no_memory(bytes));\n    }\n"),
    "buffer_large_request_takes_memory_first": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp", "    if (bytes >= large && !by.has_ahead(", "    if (false && !by.has_ahead("),
    "buffer_grows_over_others": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp",
        "if (ledger_ == nullptr || is_shared()) return size_;", "if (ledger_ == nullptr) return size_;"),
    "buffer_slice_bound_wraps": (
        "unit/buffer/value_vectors.cpp", "buffer/buffer_class.hpp",
        "if (ALLOT_UNLIKELY(bytes > size_ || offset > size_ - bytes)) return outside(offset);",
        "if (ALLOT_UNLIKELY(offset + bytes > size_)) return outside(offset);"),
    "foreign_memory_without_a_record_fits": (
        "fault/buffers.cpp", "buffer/buffer_make.hpp", "        if (why != nullptr) *why = detail::no_memory(bytes);\n", ""),
    "host_without_memory_is_a_closed_account": (
        "fault/buffers.cpp", "buffer/buffer_make.hpp", "    if (same_tree && to.is_open()) return detail::no_memory(block_bytes());\n", ""),
    "account_of_another_tree_is_closed": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp", "same_tree ? charge_outcome::closed : charge_outcome::misused", "charge_outcome::closed"),
    "foreign_memory_refused_and_released": (
        "unit/buffer/buffers.cpp", "buffer/buffer_make.hpp",
        "    if (!s) return {};\n    const memory_block m{",
        "    if (!s) return release(context, static_cast<std::byte*>(address), bytes), buffer{};\n    const memory_block m{"),
    "reservation_gives_back_twice": (
        "unit/buffer/buffers.cpp", "buffer/buffer_reservation.hpp",
        "            if (s) by_->refund(more), s = detail", "            by_->refund(charged_), s = detail"),
    "heir_of_a_closed_account_is_passed_over": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp",
        "    if (ALLOT_UNLIKELY(!s.charged()) && from.has_given_back()) s = to.force_charge(b.memory.bytes);\n", ""),
    "reservation_forgets_the_rest": (
        "unit/buffer/buffers.cpp", "buffer/buffer_reservation.hpp", "        if (back != 0) by.refund(back);\n", ""),
    "number_turned_on_the_wrong_machine": (
        "unit/buffer/buffers.cpp", "buffer/little_endian.hpp", "Machine == std::endian::little ||", "Machine == std::endian::big ||"),
    "vector_slice_forgets_the_bit": (
        "unit/buffer/value_vectors.cpp", "buffer/value_vector.hpp",
        "return {bits_.slice(first / 8, bytes_of_bits(first, n)), first % 8};",
        "return {bits_.slice(first / 8, bytes_of_bits(first, n)), 0};"),
    "vector_slice_is_a_byte_of_bits_short": (
        "unit/buffer/value_vectors.cpp", "buffer/validity.hpp", "(first + n - 1) / 8 - first / 8 + 1;", "(n + 7) / 8;"),
    "bits_counted_to_the_end_of_a_word": (
        "unit/buffer/value_vectors.cpp", "buffer/validity.hpp", "for (; end - i >= 64; i += 64)", "for (; i + 8 < end; i += 64)"),
    "strings_of_a_slice_begin_at_zero": (
        "unit/buffer/value_vectors.cpp", "buffer/bytes_vector.hpp", "        v.base_ = offset(from);\n", "        v.base_ = base_;\n"),
    "string_appended_beyond_the_data": (
        "unit/buffer/value_vectors.cpp", "buffer/bytes_vector.hpp",
        "if (value.size() > data_.size() - (at - base_)) return false;", "if (value.size() > data_.size()) return false;"),
    "vector_given_up_to_a_closed_account": (
        "unit/buffer/value_vectors.cpp", "buffer/value_vector.hpp",
        "        if (ALLOT_UNLIKELY(s.outcome == charge_outcome::closed)) return {{}, s};", "       "),
    "vector_asks_for_each_part_whether_the_account_is_open": (
        "unit/buffer/value_vectors.cpp", "buffer/value_vector.hpp",
        "part.ledger_ != nullptr ? detail::hand_over(*part.ledger_, to) : charge_status{};", "part.transfer(to).status;"),
    "vector_of_no_values_keeps_its_account": (
        "unit/buffer/value_vectors.cpp", "buffer/value_vector.hpp", "if (!first || &to", "if (mine.empty() || &to"),
    "vector_moved_from_has_a_size": (
        "unit/buffer/value_vectors.cpp", "buffer/value_vector.hpp",
        "moved_number(moved_number&& other) noexcept : value_(std::exchange(other.value_, T{0})) {}",
        "moved_number(moved_number&& other) noexcept : value_(other.value_) {}"),
    "vector_assigned_from_has_a_size": (
        "unit/buffer/value_vectors.cpp", "buffer/value_vector.hpp",
        "return value_ = std::exchange(other.value_, T{0}), *this;", "return value_ = other.value_, *this;"),
    "vector_reads_beyond_itself_in_its_buffer": (
        "death/buffers.cpp", "buffer/value_vector.hpp", "return check(i), values_.", "return values_."),
    "vector_writes_beyond_itself_in_its_buffer": (
        "death/buffers.cpp", "buffer/value_vector.hpp", "        check(i);\n        values_.", "        values_."),
    "vector_retained_with_the_room_of_another": (
        "unit/buffer/value_vectors.cpp", "buffer/bytes_vector.hpp", "return view_for(by, size_);", "return view_for(by, most_);"),
    "vector_loses_its_room_on_the_way": (
        "unit/buffer/value_vectors.cpp", "buffer/bytes_vector.hpp", "return view_for(to, most_);", "return view_for(to, size_);"),
    "buffer_counts_down_with_its_lock_held": (
        "unit/buffer/owners.cpp", "buffer/buffer_block.hpp",
        "    } else {\n        hold.unlock();\n    }\n", "    }\n"),
    "buffer_comes_to_an_account_that_has_ended": (
        "threads/buffers.cpp", "buffer/buffer_block.hpp",
        "    if (!by.count_if_open(counted::buffers)) return delete fresh, nullptr; // before",
        "    " + wait(3, 30) + "\n    by.count(counted::buffers, 1); // before"),
}
