"""Bugs of inputs that leave memory."""
from .bug import bug

BUGS = {
    "halves_wait_for_far_memory_with_the_lock": bug(
        "unit/spill/spillable_buffer.cpp",
        "if (!away_ && there) leave_locked(std::move(there)); if (away_) {",
        "if (!away_) leave_locked(far_.allocate(size_)); if (away_) {"),
    "bytes_stay_behind_when_a_buffer_leaves": bug(
        "unit/spill/spillable_buffer.cpp",
        "std::memcpy(there.data(), data_.data(), size_);",
        ""),
    "bytes_stay_away_when_a_buffer_comes_back": bug(
        "unit/spill/spillable_buffer.cpp",
        "std::memcpy(other.data(), data_.data(), size_);",
        ""),
    "pinned_buffer_leaves": bug(
        "unit/spill/spillable_buffer.cpp",
        "if (!hold || away_ || pins_ != 0 || size_ == 0) return false;",
        "if (!hold || away_ || size_ == 0) return false;"),
    "first_pin_that_ends_lets_a_buffer_leave": bug(
        "unit/spill/spillable_buffer.cpp",
        "if (--pins_ != 0) return;",
        "pins_ = 0;"),
    "end_of_a_pin_wakes_nobody": bug(
        "unit/spill/spillable_buffer.cpp",
        "near_.by.notify_unused();",
        ""),
    "far_memory_is_not_returned": bug(
        "unit/spill/spillable_buffer.cpp",
        "std::swap(data_, other);",
        "new buffer(std::move(data_)); data_ = std::move(other);"),
    "pin_waits_for_memory_with_its_lock": bug(
        "unit/spill/spillable_buffer.cpp",
        "if (!away_) return void(++pins_); } other = near_.allocate(size_);",
        "if (!away_) return void(++pins_); other = near_.allocate(size_); }"),
    "far_memory_is_waited_for": bug(
        "unit/spill/spillable_buffer.cpp",
        "buffer there = far_.memory.try_allocate(far_.by, size_); if (!there) return false;",
        "buffer there = far_.allocate(size_);"),
    "pinned_bytes_are_called_spillable": bug(
        "unit/oom/waits.cpp",
        "return !hold || away_ || pins_ != 0 ? 0 : size_;",
        "return !hold || away_ ? 0 : size_;"),
    "halves_are_cut_inside_a_unit": bug(
        "unit/spill/spillable_halves.cpp",
        "handle_->cut(bytes() / 2 / unit * unit,",
        "handle_->cut(bytes() / 2,"),
    "pinned_buffer_is_cut": bug(
        "unit/spill/spillable_halves.cpp",
        "if (ALLOT_UNLIKELY(pins_ != 0)) return report(misuse::pinned_halves), false;",
        ""),
    "buffer_ends_unseen_under_a_pin": bug(
        "death/spill.cpp",
        "if (ALLOT_CHECKED != 0 && pins_ != 0) report(misuse::living_pin);",
        ""),
    "views_of_a_spillable_block_are_not_seen": bug(
        "death/spill.cpp",
        "if (b.is_shared()) report(misuse::other_views);",
        ""),
}
