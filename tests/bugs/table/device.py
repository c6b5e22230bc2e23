"""Bugs of the simulated device: what it would no longer find."""

BUGS = {
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
        "unit/device/ordering.cpp", "device/simulator/order.hpp", "if (host_clock_.join(clock)) ++host_version_;", "host_clock_.join(clock);"),
    "third_reader_forgotten": (
        "unit/device/ordering.cpp", "device/simulator/uses.hpp", "            more.push_back(now);\n", ""),
    "readers_disturb_each_other": (
        "unit/device/ordering.cpp", "device/simulator/uses.hpp", "        if (what == intent::read) return;\n", ""),
    "use_taken_for_one_of_all_bytes": (
        "unit/device/ordering.cpp", "device/simulator/uses.hpp", "            if (it->second.end > end) it = std::prev(split(it, end));\n", ""),
    "old_handle_finds_the_new_object": (
        "unit/device/ordering.cpp", "device/simulator/handles.hpp", "s.used && s.generation == h.generation ?", "s.used ?"),
    "pieces_of_two_mappings_made_one": (
        "unit/device/virtual_memory.cpp", "device/simulator/uses.hpp", "before.of == it->second.of && ", ""),
    "freed_block_looks_used": (
        "unit/device/memory.cpp", "device/simulator/uses.hpp", "                if (what == intent::free) is = state::freed;\n", ""),
    "pool_hides_a_missing_wait": (
        "unit/device/memory.cpp", "device/simulator/store.hpp", "            if (!clock.knows(b.freed.who, b.freed.when)) continue;\n", ""),
    "peers_need_no_right": (
        "unit/device/memory.cpp", "device/simulator/memory.hpp", "(devices_[static_cast<std::size_t>(device)].peers >> r.device & 1) != 0", "true"),
    "unmap_asks_nobody": (
        "unit/device/virtual_memory.cpp", "device/simulator/memory.hpp", "if (told || host_clock_.knows(u.who, u.when)) return;", "return;"),
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
        "model/device_uses.cpp", "device/simulator/uses.hpp",
        "            if (it->first > at) {\n", "            if (it->first > at + bytes_unseen) {\n",
        "class use_map {\n", "inline constexpr std::size_t bytes_unseen = 32;\nclass use_map {\n"),
    "device_failed_access_stays_mapped": (
        "fault/device_allocator.cpp", "device/map_new.hpp", "    if (mapped && !done) (void)api.unmap(at, bytes);\n", ""),
}
