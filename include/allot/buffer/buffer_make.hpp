// How buffers are made, handed to other accounts, and grow.
//
// Everything here is part of buffer.hpp.
#pragma once

#include <allot/buffer/buffer.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

// ---- making ------------------------------------------------------------------------------------------------------

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
// The memory comes first, since it tells what it takes, and the account is asked for that; who is refused gives it
// back, and no account has seen anything. What is large is asked for before, so that a request beyond all limits takes
// no memory from others.
inline buffer buffer_memory::try_allocate(account& by, std::size_t bytes, charge_status* why) const noexcept {
    constexpr std::size_t large = std::size_t{64} << 10;
    const auto told = [why](const charge_status& s) {
        if (why != nullptr) *why = s;
    };
    told({});
    if (bytes == 0) return {};
    if (bytes >= large &&
        !by.has_ahead(bytes < SIZE_MAX / 2 ? 2 * bytes : SIZE_MAX)) { // a block is hardly more than twice as large
        const std::size_t least = bytes <= static_cast<std::size_t>(PTRDIFF_MAX) ? capacity_for(bytes) : bytes;
        if (!by.fits(least)) { // its listeners may make room
            const charge_status s = by.try_hold(least);
            if (!s) return told(s), buffer{};
            by.cancel(least);
        }
    }
    const memory_block m = take(bytes);
    if (m.address == nullptr) return told(detail::no_memory(bytes)), buffer{};
    const charge_status s = by.try_charge(m.bytes);
    if (ALLOT_UNLIKELY(!s.fitted())) told(s); // else it was not, and nothing is copied
    if (s) {
        if (buffer b = buffer::over(m, bytes, by, *this, false, host_access())) return b;
        by.refund(m.bytes);
        told(detail::no_memory(bytes));
    }
    give(m);
    return {};
}
inline buffer buffer_memory::allocate(account& by, std::size_t bytes) const {
    charge_status s;
    buffer b = try_allocate(by, bytes, &s);
    if (ALLOT_LIKELY(b || bytes == 0)) return b;
    char line[out_of_memory::line_bytes];
    const auto tell = [&](text_writer& out) {
        out.put("a buffer of ").bytes(bytes).put(" for account ").put(by.name()).put(": ");
        write(out, s);
    };
    text_writer text{line};
    text.put("allot: out of memory: ");
    tell(text);
    raise(out_of_memory(text.view(), [&](text_writer& out) {
        out.put("out of memory: ");
        tell(out);
        out.newline();
        write_top_holders(out, by.root());
    }));
}

// ---- other accounts ----------------------------------------------------------------------------------------------

inline bool buffer::may_have(const account& a) const noexcept {
    if (ALLOT_UNLIKELY(&a.root() != &ledger_->by->root())) {
        tell_misuse({.kind = misuse::other_tree, .heap = a.name(), .address = data_});
        return false;
    }
    return a.is_open();
}
inline buffer buffer::retain(account& by) const noexcept {
    if (ledger_ == nullptr) return {};
    if (&by == ledger_->by) return slice();
    if (!may_have(by)) return {};
    detail::buffer_ledger* const its = detail::retain_for(*ledger_->block, by);
    return its != nullptr ? buffer{its, data_, size_} : buffer{};
}
inline charge_status buffer::no_view(const account& to) const noexcept {
    if (ledger_ == nullptr) return {};
    const bool same_tree = &to.root() == &ledger_->by->root();
    if (same_tree && to.is_open()) return detail::no_memory(block_bytes());
    return {same_tree ? charge_outcome::closed : charge_outcome::misused, &to, block_bytes(), to.used(), to.limit()};
}
inline transfer_result buffer::transfer(account& to) const& noexcept {
    buffer theirs = retain(to);
    if (!theirs) return {buffer{}, no_view(to)};
    const charge_status s = detail::hand_over(*ledger_, to);
    if (ALLOT_UNLIKELY(s.outcome == charge_outcome::closed)) return {buffer{}, s}; // meanwhile
    return {std::move(theirs), s};
}
inline transfer_result buffer::transfer(account& to) && noexcept {
    if (ledger_ != nullptr && &to != ledger_->by && may_have(to)) {
        charge_status s;
        if (detail::relabel(*ledger_, to, s)) return {s.charged() ? std::move(*this) : buffer{}, s};
    }
    transfer_result r = std::as_const(*this).transfer(to);
    if (r.view) release();
    return r;
}

// ---- room --------------------------------------------------------------------------------------------------------

inline bool buffer::is_shared() const noexcept {
    if (ledger_ == nullptr) return false;
    detail::buffer_block& b = *ledger_->block;
    const std::lock_guard hold(b.lock);
    return b.ledgers->next != nullptr || ledger_->views.load(std::memory_order_acquire) != 1;
}
inline account* buffer::charged() const noexcept {
    if (ledger_ == nullptr) return nullptr;
    const std::lock_guard hold(ledger_->block->lock);
    return ledger_->block->charged;
}
inline std::size_t buffer::room() const noexcept {
    if (ledger_ == nullptr || is_shared()) return size_;
    const memory_block& m = ledger_->block->memory;
    return m.bytes - static_cast<std::size_t>(data_ - m.address);
}
inline bool buffer::reallocate_if_needed(std::size_t bytes, charge_status* why) noexcept {
    if (why != nullptr) *why = {};
    if (bytes <= size_) return true;
    if (ledger_ == nullptr) return false; // nobody's
    if (bytes <= room()) {
        size_ = bytes;
        return true;
    }
    if (ledger_->block->is_foreign) return false;
    buffer fresh = ledger_->block->source.memory.try_allocate(*ledger_->by, bytes, why);
    if (!fresh) return false;
    swap(fresh);
    return true;
}
inline bool buffer::valid() const noexcept {
    if (ledger_ == nullptr) return data_ == nullptr && size_ == 0;
    detail::buffer_block& b = *ledger_->block;
    const std::lock_guard hold(b.lock);
    bool listed = false;
    for (const detail::buffer_ledger* l = b.ledgers; l != nullptr; l = l->next) {
        listed = listed || l == ledger_;
        if (l->block != &b) return false;
        for (const detail::buffer_ledger* x = l->next; x != nullptr; x = x->next)
            if (x == l || (x->by == l->by && x->alive() && l->alive())) return false;
    }
    return listed && ledger_->alive() && data_ >= b.memory.address &&
           data_ + size_ <= b.memory.address + b.memory.bytes;
}

} // namespace allot::inline ALLOT_ABI
