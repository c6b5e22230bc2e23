"""Bugs of inputs that leave memory."""
from .bug import bug

BUGS = {
    "pinned_buffer_leaves": bug(
        "unit/spill/spillable_buffer.cpp",
        "if (!hold || away_ || pins_ != 0 || size_ == 0) return false;",
        "if (!hold || away_ || size_ == 0) return false;",
        law=11, smoke=True),
    "pin_waits_for_memory_with_its_lock": bug(
        "unit/spill/spillable_buffer.cpp",
        "other = near_.memory.try_allocate(near_.by, size_);",
        "other = near_.allocate(size_);",
        law=4),
    "refused_pin_does_not_look_again": bug(
        "unit/spill/spillable_buffer.cpp",
        "if (!done()) throw; return;",
        "throw;",
        law=2),
}
