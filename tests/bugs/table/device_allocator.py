"""Bugs of the stream-ordered allocator: streams, captures, idle pieces, segments."""
from .bug import bug, wait

BUGS = {
    "stream_steals_without_waiting": bug(
        "traces/device_allocator.cpp",
        "if (!api_.wait(handle, entries_[s].event)) return false;",
        ""),
    "stream_place_is_given_away_while_the_host_waits": bug(
        "unit/device_allocator/ordering.cpp",
        "&& i != pinned_",
        ""),
    "capture_gets_an_event_of_the_allocator": bug(
        "unit/device_allocator/capture.cpp",
        "if (!captured || *captured != device::capture_state::none) return false; return e.recordable = true;",
        "return e.recordable = true;"),
    "idle_piece_goes_back_at_the_first_look": bug(
        "unit/device_allocator/idle.cpp",
        "return_segments(stream_tag::resting, SIZE_MAX, pieces, transaction)",
        "return_segments(stream_tag::clean, SIZE_MAX, pieces, transaction)",
        within="scan_idle"),
    "device_growth_asks_nobody": bug(
        "unit/device_allocator/accounts.cpp",
        "succeeded = succeeded || (asks && ledger_.serve_idle([&] { return ledger_.try_charge(more); }));",
        ";"),
    "device_returns_nothing_idle": bug(
        "unit/device_allocator/accounts.cpp",
        "{ const guard hold{state_lock_}; poll_frees(); } std::size_t pieces = SIZE_MAX, bytes",
        "return 0; std::size_t pieces = SIZE_MAX, bytes"),
    "device_refusal_in_a_capture_is_remembered": bug(
        "unit/device_allocator/memory.cpp",
        "cause.out_of_space = all && runs_.prepare();",
        "cause.out_of_space = runs_.prepare();"),
    "device_refused_charge_is_kept": bug(
        "fault/device_allocator.cpp",
        "if (pending_ != 0) ledger_.cancel(std::exchange(pending_, 0));",
        "pending_ = 0;"),
    "device_charge_is_asked_for_under_a_lock": bug(
        "unit/device_allocator/accounts.cpp",
        "if constexpr (calls_listeners) unlock(); settle_pending();",
        "settle_pending();",
        "if constexpr (calls_listeners) lock();",
        ""),
}
