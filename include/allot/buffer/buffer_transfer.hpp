// Retains and transfers buffers for other accounts, and queries of shared blocks. Part of buffer.hpp.
#pragma once

#include <allot/buffer/buffer.hpp>
#include <allot/sync/lock_guard.hpp>

#include <utility>

namespace allot::inline ALLOT_ABI {

inline bool buffer::can_receive(const account& a) const noexcept {
    if (ALLOT_UNLIKELY(&a.root() != &ledger_->by->root())) {
        report_misuse({.kind = misuse::other_tree, .heap = a.name(), .address = data_});
        return false;
    }
    return a.is_open();
}
inline buffer buffer::retain(account& by) const noexcept {
    if (ledger_ == nullptr) return {};
    if (&by == ledger_->by) return slice();
    if (!can_receive(by)) return {};
    detail::buffer_ledger* const its = detail::retain_for(*ledger_->block, by);
    return its != nullptr ? buffer{its, data_, size_} : buffer{};
}
// Why retain(to) returned the empty buffer; `fits` for an empty buffer, which has no charge.
inline charge_status buffer::why_not_retained(const account& to) const noexcept {
    if (ledger_ == nullptr) return {};
    if (&to.root() != &ledger_->by->root())
        return to.status(charge_outcome::misused, block_bytes(), to.used(), to.limit());
    const charge_status closed = to.why_closed(block_bytes());
    return closed.fitted() ? detail::no_memory(block_bytes()) : closed;
}
inline transfer_result buffer::share_and_move(account& to, detail::move_mode how) const noexcept {
    buffer theirs = retain(to);
    if (!theirs) return {buffer{}, why_not_retained(to)};
    const charge_status s = detail::transfer_charge(*ledger_, to, how);
    const bool keeps_view = how == detail::move_mode::checked ? s.charged() : s.outcome != charge_outcome::closed;
    return {ALLOT_LIKELY(keeps_view) ? std::move(theirs) : buffer{}, s};
}
inline transfer_result buffer::give_and_move(account& to, detail::move_mode how) noexcept {
    if (ledger_ != nullptr && &to != ledger_->by && can_receive(to)) {
        charge_status s;
        if (detail::relabel(*ledger_, to, how, s)) return {s.charged() ? std::move(*this) : buffer{}, s};
    }
    transfer_result r = share_and_move(to, how);
    if (r.view) release();
    return r;
}
inline transfer_result buffer::transfer(account& to) const& noexcept {
    return share_and_move(to, detail::move_mode::forced);
}
inline transfer_result buffer::transfer(account& to) && noexcept {
    return give_and_move(to, detail::move_mode::forced);
}
inline transfer_result buffer::try_transfer(account& to) const& noexcept {
    return share_and_move(to, detail::move_mode::checked);
}
inline transfer_result buffer::try_transfer(account& to) && noexcept {
    return give_and_move(to, detail::move_mode::checked);
}
inline bool buffer::is_shared() const noexcept {
    if (ledger_ == nullptr) return false;
    detail::buffer_block& b = *ledger_->block;
    const detail::lock_guard hold(b.lock);
    return b.ledgers->next != nullptr || ledger_->views.load(std::memory_order_acquire) != 1;
}
inline account* buffer::charged() const noexcept {
    if (ledger_ == nullptr) return nullptr;
    const detail::lock_guard hold(ledger_->block->lock);
    return ledger_->block->charged;
}
inline bool buffer::valid() const noexcept {
    if (ledger_ == nullptr) return data_ == nullptr && size_ == 0;
    detail::buffer_block& b = *ledger_->block;
    const detail::lock_guard hold(b.lock);
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
