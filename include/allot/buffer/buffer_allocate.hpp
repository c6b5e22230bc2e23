// Makes new blocks that an account is charged for, and views of them and of foreign memory. A block is taken from its
// source first, since only then the size to charge is known, and is returned if the account refuses.
//
// `Source` is a block_source, or has its calls take_cached(), take_slow(), take(), give(), and capacity_for().
// Threads: any. Use: buffer_memory.hpp, charged_blocks.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_path.hpp>
#include <allot/account/account_transfer.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/buffer/block_source.hpp>
#include <allot/buffer/buffer_block.hpp>
#include <allot/buffer/buffer_records.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/sys/fork_gate.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A view of memory that is allocated and charged. Empty, with no effect: the host has no memory for its record.
ALLOT_ALWAYS_INLINE raw_view view_of(const memory_block& m, std::size_t bytes, account& by, const buffer_source& from,
                                     block_origin origin, bool host) noexcept {
    void* const record = buffer_records::take();
    if (record == nullptr) return {};
    auto* const b = ::new (record) buffer_block(m, by, from, origin, host);
    return {&b->first, m.address, bytes};
}
// A view of foreign memory. Empty where it is refused: `why`, if it is not null.
ALLOT_ALWAYS_INLINE raw_view foreign_view(account& by, const memory_block& m, const foreign_memory& from,
                                          bool host_access, charge_status* why) noexcept {
    const std::size_t bytes = m.bytes;
    if (why != nullptr) *why = {};
    if (bytes == 0) return {};
    const charge_status s = by.try_charge(bytes);
    if (why != nullptr) *why = s;
    if (!s) return {};
    const raw_view v = view_of(m, bytes, by, from, block_origin::foreign, host_access);
    if (ALLOT_UNLIKELY(v.ledger == nullptr)) {
        by.refund(bytes);
        if (why != nullptr) *why = no_memory(bytes);
    }
    return v;
}

// Past what the source has at hand. Where its arena refuses, the reclaimers of the account's tree may help.
template <class Source>
ALLOT_NOINLINE memory_block take_or_reclaim(const Source& from, account& by, std::size_t bytes, charge_status& why,
                                            promised_pages* promised = nullptr) noexcept {
    memory_request asked{bytes};
    memory_block m = from.take_slow(bytes, asked.why, promised);
    if (m.address == nullptr)
        request_again(by.node(), asked,
                      [&] { return (m = from.take(bytes, &asked.why, promised)).address != nullptr; });
    why = asked.why;
    return m;
}
template <class Source>
ALLOT_COLD void undo_take(const Source& from, memory_block m, const charge_status& refused) noexcept {
    const undoing mine{refuser_in(refused)};
    from.give(m);
}
// Asks the account whether it may be charged a block of that size. Called before a large block is taken, so that a
// request beyond its limits takes no memory from others; and before a pool takes pages for one that goes behind a due
// one. Calls listeners and reclaimers, which may free memory.
template <class Source>
charge_status try_limits(const Source& from, account* lender, account& by, std::size_t bytes,
                         const charge_wait& most) noexcept {
    const std::size_t least = bytes <= static_cast<std::size_t>(PTRDIFF_MAX) ? from.capacity_for(bytes) : bytes;
    if (lender != nullptr) {
        const auto once = [&] { return may_lend(lender->node(), by.node(), least, most); };
        const charge_status s = once();
        return s.charged() ? s : charge_refused(by.node(), least, s, most, once);
    }
    if (by.fits(least)) return {};
    const sys::section inside; // bytes that are held have an end
    memory_request asked{least};
    const auto again = [&] { return (asked.why = by.try_hold(least)).charged(); };
    if (!again() && !request_again(by.node(), asked, again)) return asked.why;
    by.cancel(least);
    return {};
}
// Charges the account for a block that was taken. Where it refuses, the block is returned; none, and `why`, if it is
// not null.
template <class Source>
ALLOT_ALWAYS_INLINE memory_block charge_block(const Source& from, memory_block m, account* lender, account& by,
                                              charge_status* why, const charge_wait& most) noexcept {
    const charge_status s = lender == nullptr ? try_charge(by.node(), m.bytes, most)
                                              : charge_from(lender->node(), by.node(), m.bytes, most);
    if (ALLOT_UNLIKELY(!s.fitted()) && why != nullptr) *why = s;
    if (ALLOT_LIKELY(s.charged())) return m;
    return undo_take(from, m, s), memory_block{};
}
// The same for a block of a pool that may need a page, which what `by` has reserved may pay for.
template <class Source>
ALLOT_NOINLINE memory_block lend_block(const Source& from, account& lender, account& by, std::size_t bytes,
                                       charge_status* why, const charge_wait& most) noexcept {
    promised_pages promised{by.node()};
    charge_status refusal;
    memory_block m = take_or_reclaim(from, by, bytes, refusal, &promised);
    if (m.address == nullptr) {
        promised.failed();
        if (why != nullptr) *why = refusal;
        return {};
    }
    // It is promised: it goes behind no request that is due.
    m = charge_block(from, m, &lender, by, why, promised.is_used() ? never_waits : most);
    if (m.address != nullptr) promised.lent(m.bytes);
    else promised.failed();
    return m;
}
// A new block that `by` is charged for. None where it is refused: `why`, if it is not null.
// `lender`: the account from which `by` takes the block over; null: none. `most`: how far the whole request goes, which
// waits elsewhere.
template <class Source>
ALLOT_ALWAYS_INLINE memory_block new_block(const Source& from, account* lender, account& by, std::size_t bytes,
                                           charge_status* why, const charge_wait& most) noexcept {
    constexpr std::size_t large = std::size_t{64} << 10;
    const auto report_status = [why](const charge_status& s) {
        if (why != nullptr) *why = s;
    };
    report_status({});
    const auto has_credit = [&] { // a block is rarely more than twice the request
        return by.has_credit(bytes < SIZE_MAX / 2 ? 2 * bytes : SIZE_MAX);
    };
    if ((bytes >= large && !has_credit()) || (lender != nullptr && by.node().tree().has_waiters()))
        if (const charge_status s = try_limits(from, lender, by, bytes, most); !s)
            return report_status(s), memory_block{};
    memory_block m = from.take_cached(bytes);
    if (ALLOT_UNLIKELY(m.address == nullptr)) {
        if (lender != nullptr) return lend_block(from, *lender, by, bytes, why, most);
        charge_status none;
        m = take_or_reclaim(from, by, bytes, none);
        if (m.address == nullptr) return report_status(none), memory_block{};
    }
    return charge_block(from, m, lender, by, why, most);
}
// The view of a new block; empty for 0 bytes, and as new_block().
ALLOT_ALWAYS_INLINE raw_view new_view(const block_source& from, account* lender, account& by, std::size_t bytes,
                                      charge_status* why, const charge_wait& most) noexcept {
    const memory_block m = bytes != 0 ? new_block(from, lender, by, bytes, why, most) : memory_block{};
    if (ALLOT_UNLIKELY(m.address == nullptr)) {
        if (bytes == 0 && why != nullptr) *why = {};
        return {};
    }
    const block_origin is = lender == nullptr ? block_origin::source : block_origin::pool;
    const raw_view v = view_of(m, bytes, by, from, is, from.host_access());
    if (ALLOT_LIKELY(v.ledger != nullptr)) return v;
    if (lender != nullptr) free_lent(from, m, *lender, by);
    else from.give(m), by.refund(m.bytes);
    if (why != nullptr) *why = no_memory(bytes);
    return {};
}

// What a request for a buffer throws that was refused.
[[noreturn]] ALLOT_COLD inline void raise_no_block(const char* what, const account& by, std::size_t bytes,
                                                   const charge_status& why) {
    char line[out_of_memory::line_bytes];
    const account_path path = by.path();
    const auto write_refusal = [&](text_writer& out) {
        out.put("a ").put(what).put(" of ").bytes(bytes).put(" for account ").name(path.text()).put(": ");
        write(out, why, bytes);
    };
    text_writer text{line};
    text.put("allot: out of memory: ");
    write_refusal(text);
    by.write_failures(text, why);
    raise(out_of_memory(
        text.view(),
        [&](text_writer& out) {
            out.put("out of memory: ");
            write_refusal(out);
            out.newline();
            write_top_holders(out, by.root(), why);
            write_top_holders(out, by.root());
        },
        why));
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
