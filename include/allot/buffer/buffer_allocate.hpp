// Allocates buffers: from a memory, over foreign memory, and larger ones. Part of buffer.hpp.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {

inline buffer buffer::over(const memory_block& m, std::size_t bytes, account& by, const detail::buffer_source& from,
                           bool foreign, bool host) noexcept {
    void* const record = detail::buffer_records::take();
    if (record == nullptr) return {};
    auto* const b = ::new (record) detail::buffer_block(m, by, from, foreign, host);
    return {&b->first, m.address, bytes};
}
inline buffer buffer::of_foreign(account& by, void* address, std::size_t bytes, foreign_release release, void* context,
                                 bool host_access, charge_status* why) noexcept {
    if (why != nullptr) *why = {};
    if (bytes == 0) return {};
    const charge_status s = by.try_charge(bytes);
    if (why != nullptr) *why = s;
    if (!s) return {};
    const memory_block m{static_cast<std::byte*>(address), bytes};
    buffer b = over(m, bytes, by, detail::foreign_memory{release, context}, true, host_access);
    if (ALLOT_UNLIKELY(!b)) {
        by.refund(bytes);
        if (why != nullptr) *why = detail::no_memory(bytes);
    }
    return b;
}
// Past what the source has at hand. Where its arena refuses, the reclaimers of the account's tree may help.
ALLOT_NOINLINE inline memory_block buffer_memory::take_or_reclaim(account& by, std::size_t bytes,
                                                                  charge_status& why) const noexcept {
    detail::memory_request asked{bytes};
    memory_block m = take_slow(bytes, asked.why);
    if (m.address == nullptr) by.request_again(asked, [&] { return (m = take(bytes, &asked.why)).address != nullptr; });
    why = asked.why;
    return m;
}
ALLOT_COLD inline void buffer_memory::undo_take(memory_block m, const charge_status& refused) const noexcept {
    const detail::undoing mine{detail::refuser_in(refused)};
    give(m);
}
// Takes the memory first, since only then the size to charge is known, and returns it if the account refuses. Asks the
// account before a large block, too, so that a request beyond its limits takes no memory from others.
inline buffer buffer_memory::try_allocate(account& by, std::size_t bytes, charge_status* why) const noexcept {
    constexpr std::size_t large = std::size_t{64} << 10;
    const auto report_status = [why](const charge_status& s) {
        if (why != nullptr) *why = s;
    };
    report_status({});
    if (bytes == 0) return {};
    if (bytes >= large &&
        !by.has_credit(bytes < SIZE_MAX / 2 ? 2 * bytes : SIZE_MAX)) { // a block is rarely more than twice the request
        const std::size_t least = bytes <= static_cast<std::size_t>(PTRDIFF_MAX) ? capacity_for(bytes) : bytes;
        if (!by.fits(least)) { // a request calls listeners and reclaimers, which may free memory
            detail::memory_request asked{least};
            const auto again = [&] { return (asked.why = by.try_hold(least)).charged(); };
            if (!again() && !by.request_again(asked, again)) return report_status(asked.why), buffer{};
            by.cancel(least);
        }
    }
    memory_block m = take_cached(bytes);
    if (ALLOT_UNLIKELY(m.address == nullptr)) {
        charge_status none;
        m = take_or_reclaim(by, bytes, none);
        if (m.address == nullptr) return report_status(none), buffer{};
    }
    const charge_status s = by.try_charge(m.bytes);
    if (ALLOT_UNLIKELY(!s.fitted())) report_status(s);
    if (s) {
        if (buffer b = buffer::over(m, bytes, by, *this, false, host_access())) return b;
        by.refund(m.bytes);
        report_status(detail::no_memory(bytes));
    }
    return undo_take(m, s), buffer{};
}
inline buffer buffer_memory::allocate_for(account& by, std::size_t bytes, const wait_limit& wait,
                                          charge_status* why) const noexcept {
    detail::memory_request asked{bytes};
    asked.wait = &wait;
    asked.charges_others = true;
    buffer b;
    const auto again = [&] { return bool(b = try_allocate(by, bytes, &asked.why)); };
    if (!again() && !asked.why) by.wait_for(asked, again);
    if (why != nullptr) *why = asked.why;
    return b;
}
inline buffer buffer_memory::allocate(account& by, std::size_t bytes) const {
    detail::memory_request asked{bytes};
    asked.judged = true;
    asked.charges_others = true;
    buffer b;
    const auto again = [&] { return bool(b = try_allocate(by, bytes, &asked.why)); };
    if (ALLOT_LIKELY(again() || bytes == 0)) return b;
    if (by.wait_for(asked, again)) return b;
    const charge_status& s = asked.why;
    by.raise_verdict(s);
    char line[out_of_memory::line_bytes];
    const auto write_refusal = [&](text_writer& out) {
        out.put("a buffer of ").bytes(bytes).put(" for account ").put(by.name()).put(": ");
        write(out, s);
    };
    text_writer text{line};
    text.put("allot: out of memory: ");
    write_refusal(text);
    raise(out_of_memory(
        text.view(),
        [&](text_writer& out) {
            out.put("out of memory: ");
            write_refusal(out);
            out.newline();
            write_top_holders(out, by.root(), s);
            write_top_holders(out, by.root());
        },
        s));
}
inline std::size_t buffer::capacity() const noexcept {
    if (ledger_ == nullptr || is_shared()) return size_;
    const memory_block& m = ledger_->block->memory;
    return m.bytes - static_cast<std::size_t>(data_ - m.address);
}
inline bool buffer::reallocate_if_needed(std::size_t bytes, charge_status* why) noexcept {
    if (why != nullptr) *why = {};
    if (bytes <= size_) return true;
    const auto misused = [&] {
        if (why != nullptr) *why = {.outcome = charge_outcome::misused, .requested = bytes};
        return false;
    };
    if (ledger_ == nullptr) return misused(); // the empty buffer
    if (bytes <= capacity()) {
        size_ = bytes;
        return true;
    }
    if (ledger_->block->is_foreign) return misused();
    buffer fresh = ledger_->block->source.memory.try_allocate(*ledger_->by, bytes, why);
    if (!fresh) return false;
    swap(fresh);
    return true;
}

} // namespace allot::inline ALLOT_ABI
