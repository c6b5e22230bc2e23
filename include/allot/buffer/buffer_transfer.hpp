// Makes views for other accounts, and moves the charge of a block with them.
//
// Threads: any. Use: buffer.hpp.
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer_block.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline bool can_receive(const raw_view& v, const account& to) noexcept {
    if (ALLOT_UNLIKELY(&to.root() != &v.ledger->by->root())) {
        report_misuse({.kind = misuse::other_tree, .heap = to.name(), .address = v.data});
        return false;
    }
    return to.is_open();
}
// The ledger of `to` with one more view of the block. Null: closed, another tree, or no memory of the host.
inline buffer_ledger* retained_by(const raw_view& v, account& to) noexcept {
    return can_receive(v, to) ? retain_for(*v.ledger->block, to) : nullptr;
}
// Why retained_by() was null; `fits` for an empty view, which has no charge.
inline charge_status why_not_retained(const raw_view& v, const account& to) noexcept {
    if (v.ledger == nullptr) return {};
    const std::size_t bytes = v.ledger->block->memory.bytes;
    if (&to.root() != &v.ledger->by->root()) return to.status(charge_outcome::misused, bytes, to.used(), to.limit());
    const charge_status closed = to.why_closed(bytes);
    return closed.fitted() ? no_memory(bytes) : closed;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
