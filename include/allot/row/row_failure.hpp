// The end of a request for a row that was refused; the out_of_memory of a row manager: what refused, who holds memory,
// and what was tried.
//
// Cost: a page of text per throw. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/watch/event_ring.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

// `what`: what the row is for.
template <class Core>
[[noreturn]] ALLOT_COLD void raise_no_row(Core& core, const memory_request& asked, const char* what) {
    using policies = typename Core::policies;
    core.pages().record(watch_event::out_of_memory, asked.bytes, what);
    const charge_status why = asked.refusal();
    const auto request = [&](text_writer& out) {
        out.put("out of memory: ").bytes(asked.bytes).put(" for ").brief(what);
    };
    const auto page = [&](text_writer& out) {
        if constexpr (policies::in_tree) write_top_holders(out, core.ledger().account().root(), why);
        core.report(out);
        out.put("  tried: empty pages of all heaps, the shared caches, single free slots");
        out.put(policies::per_thread ? ", the caches of all threads" : "").newline();
    };
    raise_refused(request, core.set_name(), core.name(), why, asked.bytes, page, [&](text_writer& out) {
        if constexpr (policies::in_tree) core.ledger().account().write_failures(out, why);
    });
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
