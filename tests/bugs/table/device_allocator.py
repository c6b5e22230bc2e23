"""Bugs of the stream-ordered allocator: streams, captures, idle pieces, segments."""

BUGS = {
    "stream_steals_without_waiting": (
        "traces/device_allocator.cpp", "device_allocator/stream_book.hpp", "        if (!api_.wait(handle, entries_[s].event)) return false;\n", ""),
    "stream_steals_behind_an_old_event": (
        "traces/device_allocator.cpp", "device_allocator/stream_book.hpp",
        "(entries_[s].recorded < run.ticket() && !record(s))", "(entries_[s].recorded == 0 && !record(s))"),
    "stream_that_freed_waits": (
        "traces/device_allocator.cpp", "device_allocator/stream_book.hpp",
        "api_.wait(handle, entries_[s].event)", "api_.wait(entries_[s].handle, entries_[s].event)"),
    "stream_event_recorded_elsewhere": (
        "traces/device_allocator.cpp", "device_allocator/stream_book.hpp",
        "if (!api_.record(e.event, e.handle)) return false;", "if (!api_.record(e.event, entries_[n_ - 1].handle)) return false;"),
    "stream_tags_join_with_the_earlier_ticket": (
        "traces/device_allocator.cpp", "device_allocator/stream_tag.hpp", "return a.bits < b.bits ? b : a;", "return a.bits < b.bits ? a : b;"),
    "stream_runs_of_others_are_joined": (
        "traces/device_allocator.cpp", "device_allocator/stream_tag.hpp", "return a.key() == b.key();", "return a.key() != held && b.key() != held;"),
    "stream_free_without_a_ticket": (
        "traces/device_allocator.cpp", "device_allocator/stream_book.hpp",
        "return stream_tag::of(k, ++entries_[k].freed);", "return stream_tag::of(k, entries_[k].freed);"),
    "stream_knows_more_than_it_waited_for": (
        "traces/device_allocator.cpp", "device_allocator/stream_book.hpp", "know(t, s, entries_[s].recorded);", "know(t, s, entries_[s].recorded + 1);"),
    "stream_inherits_what_another_knew": (
        "unit/device_allocator/ordering.cpp", "device_allocator/stream_book.hpp", "for (key_type i = 0; i != e.knows; ++i) e.known[i] = 0;", "{}"),
    "stream_leaves_without_an_event": (
        "traces/device_allocator.cpp", "device_allocator/stream_book.hpp",
        "entries_[k].recorded == entries_[k].freed || record(k);",
        "entries_[k].recorded == entries_[k].freed || (entries_[k].has_event && (entries_[k].recorded = entries_[k].freed, true)) || record(k);"),
    "stream_joins_what_it_did_not_wait_for": (
        "traces/device_allocator.cpp", "device_allocator/device_growth.hpp",
        "if (!book_.order_after(key, who.stream, best->runs[i].tag)) return {};", "(void)i;"),
    "stream_joins_without_a_new_ticket": (
        "unit/device_allocator/ordering.cpp", "device_allocator/device_growth.hpp",
        "const stream_tag tag = book_.gathered(key);", "const stream_tag tag = stream_tag::of(key, book_[key].freed);"),
    "stream_joins_across_a_live_block": (
        "unit/device_allocator/ordering.cpp", "device_allocator/free_spans.hpp",
        "if (!free || !follows || now_.n == now_.most || !reachable(r.tag)) start();",
        "if (now_.n == now_.most || !reachable(r.tag)) start();"),
    "stream_memory_goes_back_unwaited": (
        "traces/device_allocator.cpp", "device_allocator/device_growth.hpp", "const auto done = api_.synchronize(event);", "const device::result<> done{};"),
    "capture_frees_for_everybody": (
        "traces/device_allocator.cpp", "device_allocator/device_allocator.hpp", "known && who.state != uses::captured ? key_of(who)", "known ? key_of(who)"),
    "capture_takes_what_its_stream_freed": (
        "traces/device_allocator.cpp", "device_allocator/device_books.hpp",
        "        if (ALLOT_UNLIKELY(who.state == uses::captured)) return counted(free_for_all(bytes, align));\n", ""),
    "capture_gets_an_event_of_the_allocator": (
        "unit/device_allocator/capture.cpp", "device_allocator/stream_book.hpp",
        "        if (!captured || *captured != device::capture_state::none) return false;\n        return e.records = true;",
        "        return e.records = true;"),
    "capture_meets_forbidden_calls": (
        "traces/device_allocator.cpp", "device_allocator/relaxed_capture.hpp",
        "before_{api.exchange_capture_mode(device::capture_mode::relaxed)}",
        "before_{api.exchange_capture_mode(device::capture_mode::global)}"),
    "idle_piece_goes_back_at_the_first_look": (
        "unit/device_allocator/idle.cpp", "device_allocator/device_growth.hpp",
        "give_back(stream_tag::resting, SIZE_MAX, pieces, mine)", "give_back(stream_tag::clean, SIZE_MAX, pieces, mine)"),
    "idle_piece_rests_before_its_work_is_done": (
        "unit/device_allocator/idle.cpp", "device_allocator/stream_book.hpp",
        "        if (!done || !*done) return false;\n        waited", "        if (!done) return false;\n        waited"),
    "idle_rest_is_not_joined": (
        "unit/device_allocator/idle.cpp", "device_allocator/device_books.hpp",
        "        runs_.gather(stream_tag::of(stream_tag::clean), [](const stream_tag& t) { return t.key() == stream_tag::resting; });\n",
        ""),
    "plain_segment_without_room_for_the_alignment": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp", "return lies_well(need, align) ? need : align_up(bytes + align, step);", "return need;"),
    "idle_capture_looks": (
        "unit/device_allocator/idle.cpp", "device_allocator/device_allocator.hpp",
        "if (ALLOT_UNLIKELY(idle_.due()) && who.state == uses::all)", "if (ALLOT_UNLIKELY(idle_.due()))"),
    "idle_looks_never_end": (
        "unit/device_allocator/idle.cpp", "device_allocator/device_growth.hpp", "        idle_.looked();\n", ""),
    "device_range_grows_where_unmapping_failed": (
        "fault/device_allocator.cpp", "device_allocator/device_segments.hpp", "        if (!done) full_ = true;\n", ""),
    "device_stream_that_cannot_be_asked_is_no_capture": (
        "fault/device_allocator.cpp", "device_allocator/device_books.hpp",
        "captured.kind() == device::failure::not_permitted_in_capture ? uses::no_events : uses::captured",
        "captured ? uses::captured : uses::no_events"),
    "device_refused_charge_is_kept": (
        "fault/device_allocator.cpp", "device_allocator/device_turn.hpp", "        if (held_ != 0) ledger_.cancel(std::exchange(held_, 0));\n", "        held_ = 0;\n"),
    "device_charge_is_asked_for_under_a_lock": (
        "unit/device_allocator/accounts.cpp", "device_allocator/device_turn.hpp",
        "        if constexpr (calls) end();\n        settle_held(); //", "        settle_held(); //",
        "        if constexpr (calls) begin();\n", ""),
    "device_refund_is_made_under_a_lock": (
        "unit/device_allocator/accounts.cpp", "device_allocator/device_turn.hpp",
        "        if constexpr (calls) end();\n        settle();", "        settle();"),
    "device_given_back_is_charged_again": (
        "unit/device_allocator/accounts.cpp", "device_allocator/device_turn.hpp",
        "const std::size_t more = bytes - given_back_;", "const std::size_t more = bytes;"),
    "device_refusal_says_something_of_less_alignment": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp", " && align >= fruitless_.align", ""),
    "device_refusal_in_a_capture_is_remembered": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp", "then.hopeless = all && runs_.prepare();", "then.hopeless = runs_.prepare();"),
    "device_refusal_for_host_memory_is_remembered": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp", "then.hopeless = all && runs_.prepare();", "then.hopeless = all;"),
    "device_pieces_go_back_without_room_for_the_alignment": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp",
        "give_back(stream_tag::clean, piece_for(bytes, align), pieces, mine)", "give_back(stream_tag::clean, bytes, pieces, mine)"),
    "stream_joins_only_with_room_for_any_address": (
        "unit/device_allocator/memory.cpp", "device_allocator/free_spans.hpp",
        "return at <= end && end - at >= bytes_;", "return at != 0 && end - begin >= bytes_ + align_ - 256;"),
    "stream_span_counts_what_it_cannot_reach": (
        "unit/device_allocator/ordering.cpp", "device_allocator/free_spans.hpp",
        "                if (now_.n == 0) now_.begin = r.address;\n", "",
        "|| !reachable(r.tag)) start();", "|| !reachable(r.tag)) start(), now_.begin = r.address;"),
    "stream_inherits_what_another_recorded": (
        "unit/device_allocator/idle.cpp", "device_allocator/stream_book.hpp", "        e.done = e.recorded = e.freed;", "       "),
    "stream_place_is_given_away_while_the_host_waits": (
        "unit/device_allocator/ordering.cpp", "device_allocator/stream_book.hpp", " && i != waited_for_", ""),
    "stream_of_a_thread_by_a_null_handle_is_not_seen": (
        "unit/device_allocator/ordering.cpp", "device_allocator/stream_book.hpp", "        return own && *own == id;", "        return false;"),
    "stream_legacy_is_taken_for_a_thread_s": (
        "unit/device_allocator/ordering.cpp", "device_allocator/stream_book.hpp", "        return own && *own == id;", "        return true;"),
    "stream_joined_span_is_left_to_the_fit": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp",
        "return cut_from({best->begin, best->bytes()}, key, bytes, align);", "return {};"),
    "device_grows_in_vain": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp", "return cut_from(*made, stream_tag::clean, bytes, align);", "return {};"),
    "device_free_without_a_place_is_dropped": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_books.hpp",
        "key = book_.open(who.id, who.stream, [this](key_type k) { return runs_.free_runs(k) == 0; });",
        "if (key = book_.open(who.id, who.stream, [this](key_type k) { return runs_.free_runs(k) == 0; }); key == book_type::none || !runs_.open(key)) return key = book_type::none;",
        "if (ALLOT_UNLIKELY(key == book_type::none || !runs_.open(key))) return", "if (ALLOT_UNLIKELY(key == book_type::none)) return"),
    "device_grows_without_a_place_for_captures": (
        "unit/device_allocator/memory.cpp", "device_allocator/device_growth.hpp", "if (runs_.open(stream_tag::held) && runs_.add", "if (runs_.add"),
}
