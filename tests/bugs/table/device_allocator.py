"""Bugs of the stream-ordered allocator: streams, captures, segments."""
from .bug import bug, wait

BUGS = {
    "stream_steals_without_waiting": bug(
        "traces/device_allocator.cpp",
        "if (!api_.wait(handle, entries_[s].event)) return false;",
        "",
        law=2),
    "device_charge_is_asked_for_under_a_lock": bug(
        "unit/device_allocator/accounts.cpp",
        "if constexpr (calls_listeners) unlock(); pending_.settle(); promised_pages",
        "pending_.settle(); promised_pages",
        "if constexpr (calls_listeners) lock();",
        "",
        law=5),
}
