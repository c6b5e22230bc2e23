// A buffer: one view, with offset and length, of a block of memory that views of several accounts share.
//
//     buffer part = b.slice(100, 50);                   a view of the same account; one atomic addition
//     buffer theirs = b.retain(join);                   a view of join; the charge stays
//     auto [mine, how] = std::move(b).transfer(sort);   a view of sort; sort is charged, by force if it must be;
//                                                       try_transfer(sort): if it fits
//
// Invariant: a block lives as long as its views, and exactly one account is charged for all of it.
// Cost: 24 bytes per view; slice and release are one atomic operation each.
// Threads: one thread at a time per view; any thread may slice, retain, transfer and release. The caller
// synchronizes access to the bytes.
// Source: Drill's DrillBuf, 2014; Netty's ByteBuf, where an extra release ends the memory of siblings: here a view is an
// object that is released once.
//
// Use: docs/buffers.md. The state behind it: buffer_block.hpp. The path of each call: buffers.hpp.
#pragma once

#include <allot/buffer/buffer_allocate.hpp>
#include <allot/buffer/buffer_block.hpp>
#include <allot/buffer/buffer_transfer.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/little_endian.hpp>
#include <allot/sync/lock_guard.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

struct transfer_result;
namespace detail {
struct vector_parts;
}

/// A view of a block. Move-only; slice() makes another view.
/// Requires: the view's account, and the memory that the block came from, outlive the view.
class buffer {
  public:
    /// Makes the empty buffer: no memory, no charge. Its queries return null, 0 or false.
    buffer() noexcept = default;
    buffer(buffer&& other) noexcept : view_(std::exchange(other.view_, {})) {}
    buffer& operator=(buffer&& other) noexcept {
        buffer{std::move(other)}.swap(*this);
        return *this;
    }
    ~buffer() {
        if (view_.ledger != nullptr) detail::release_view(*view_.ledger);
    }
    void swap(buffer& other) noexcept { std::swap(view_, other.view_); }

    /// Makes the caller's memory a block, whose bytes are charged to the account. `release` is called once, when the
    /// last view is released. host_access: whether the host may read and write the memory.
    /// Returns: the empty buffer, and never calls `release`, for 0 bytes, if the account refuses or is closed, or if the
    /// host has no memory for the record (`why` is no_memory then).
    ALLOT_OUTLINE static buffer of_foreign(account& by, void* address, std::size_t bytes, foreign_release release,
                                           void* context = nullptr, bool host_access = true,
                                           charge_status* why = nullptr) noexcept {
        return buffer{
            detail::foreign_view(by, {static_cast<std::byte*>(address), bytes}, {release, context}, host_access, why)};
    }

    // ---- views ----------------------------------------------------------------------------------------------

    /// Makes another view of the same account.
    /// Returns: the empty buffer for 0 bytes, and beyond the end, which is reported as misuse.
    ALLOT_ALWAYS_INLINE buffer slice(std::size_t offset, std::size_t bytes) const noexcept {
        if (ALLOT_UNLIKELY(bytes > view_.size || offset > view_.size - bytes)) return outside(offset);
        if (bytes == 0) return {};
        if constexpr (ALLOT_CHECKED != 0) view_.ledger->check_views();
        view_.ledger->views.fetch_add(1, std::memory_order_relaxed);
        return buffer{{view_.ledger, view_.data + offset, bytes}};
    }
    buffer slice() const noexcept { return slice(0, view_.size); }
    /// Makes a view of the same bytes for another account of the same tree. The charge stays.
    /// Returns: the empty buffer if that account is closed, is of another tree (reported as misuse), or the host has no
    /// memory for its ledger.
    ALLOT_OUTLINE buffer retain(account& by) const noexcept {
        if (view_.ledger == nullptr) return {};
        if (&by == view_.ledger->by) return slice();
        detail::buffer_ledger* const its = detail::retained_by(view_, by);
        return its != nullptr ? buffer{{its, view_.data, view_.size}} : buffer{};
    }
    /// As retain(); if this view's account is charged, `to` is charged instead, even beyond limits. The && overload
    /// gives this view up. It needs no memory if the view is the block's only one, or its account's only one while
    /// another account is charged.
    /// Returns: an empty view if retain() would; this view is unchanged then. Inside a listener's call about this block's
    /// charge the charge stays, and the status is misused.
    transfer_result transfer(account& to) const& noexcept;
    transfer_result transfer(account& to) && noexcept;
    /// As transfer(), but changes nothing if a limit would be exceeded.
    /// Returns: an empty view then, and the status names the account whose limit refuses; this view is unchanged.
    [[nodiscard]] transfer_result try_transfer(account& to) const& noexcept;
    [[nodiscard]] transfer_result try_transfer(account& to) && noexcept;
    /// Releases the view; it is the empty buffer then. The last view of a block frees the memory, then refunds.
    void release() noexcept { buffer{std::move(*this)}; }

    // ---- bytes ----------------------------------------------------------------------------------------------

    std::byte* data() const noexcept { return view_.data; }
    std::size_t size() const noexcept { return view_.size; }
    bool empty() const noexcept { return view_.size == 0; }
    explicit operator bool() const noexcept { return view_.ledger != nullptr; }
    std::span<std::byte> bytes() const noexcept {
        return touches(0, view_.size), std::span<std::byte>{view_.data, view_.size};
    }

    /// Read and write numbers as little-endian bytes, at any offset.
    /// Requires: the bytes lie inside the view, and the host may access them. Checked builds report a violation.
    template <plain_number T> ALLOT_ALWAYS_INLINE T get(std::size_t offset) const noexcept {
        touches(offset, sizeof(T));
        return detail::load_little<T>(view_.data + offset);
    }
    template <plain_number T> ALLOT_ALWAYS_INLINE void set(std::size_t offset, T value) const noexcept {
        touches(offset, sizeof(T));
        detail::store_little<T>(view_.data + offset, value);
    }

    /// Bytes from this view's start that it could use: to the end of the block if it has no other view, else size().
    std::size_t capacity() const noexcept {
        if (view_.ledger == nullptr || is_shared()) return view_.size;
        const memory_block& m = view_.ledger->block->memory;
        return m.bytes - static_cast<std::size_t>(view_.data - m.address);
    }
    /// Makes the view at least this long: in place within capacity(), else in a new block of the same memory, charged
    /// to this view's account. Contents are not copied to a new block.
    /// Returns: false, with no effect, if the account or the memory refuses, or the view is foreign or empty.
    bool reallocate_if_needed(std::size_t bytes, charge_status* why = nullptr) noexcept;

    // ---- accounts -------------------------------------------------------------------------------------------

    /// The account of this view; null for the empty buffer.
    account* holder() const noexcept { return view_.ledger != nullptr ? view_.ledger->by : nullptr; }
    /// The account that is charged for the block now.
    account* charged() const noexcept {
        if (view_.ledger == nullptr) return nullptr;
        const detail::lock_guard hold(view_.ledger->block->lock);
        return view_.ledger->block->charged;
    }
    /// Bytes of the block.
    std::size_t block_bytes() const noexcept { return view_.ledger != nullptr ? view_.ledger->block->memory.bytes : 0; }
    /// Bytes of the block that this view's account is charged: all or 0.
    std::size_t charged_bytes() const noexcept {
        return view_.ledger != nullptr && charged() == view_.ledger->by ? block_bytes() : 0;
    }
    /// Whether the block has another view.
    bool is_shared() const noexcept { return view_.ledger != nullptr && detail::has_other_view(*view_.ledger); }
    bool host_access() const noexcept { return view_.ledger == nullptr || view_.ledger->block->host_access; }
    /// Records the block's events (retain, transfer, end) from now on; null ends it. Requires: the log outlives the
    /// block.
    void set_log(account_log* log) const noexcept {
        if (view_.ledger != nullptr) view_.ledger->block->log.store(log, std::memory_order_release);
    }
    /// Checks the block's ledgers. For tests.
    bool valid() const noexcept { return detail::is_valid(view_); }

  private:
    friend class buffer_memory;
    friend struct detail::vector_parts;
    explicit buffer(const detail::raw_view& view) noexcept : view_(view) {}

    ALLOT_COLD buffer outside(std::size_t offset) const noexcept {
        detail::report_misuse(
            {.kind = misuse::out_of_bounds,
             .heap = view_.ledger != nullptr ? view_.ledger->by->name() : "",
             .address = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(view_.data) + offset)});
        return {};
    }
    ALLOT_ALWAYS_INLINE void touches([[maybe_unused]] std::size_t offset,
                                     [[maybe_unused]] std::size_t bytes) const noexcept {
        if constexpr (ALLOT_CHECKED != 0) {
            if (bytes > view_.size || offset > view_.size - bytes) static_cast<void>(outside(offset));
            else if (!host_access())
                detail::report_misuse(
                    {.kind = misuse::no_host_access, .heap = view_.ledger->by->name(), .address = view_.data + offset});
        }
    }
    // transfer() and try_transfer(): with a second view, and giving this one up.
    transfer_result share_and_move(account& to, detail::move_mode how) const noexcept;
    transfer_result give_and_move(account& to, detail::move_mode how) noexcept;

    detail::raw_view view_;
};

/// The result of a transfer: the receiver's view, and the status of the charge. fitted() is false if a limit is
/// exceeded. Without a view the status says why: closed, misused, no_memory (the host has none for a ledger), or the
/// refusal of try_transfer().
struct transfer_result {
    buffer view;
    charge_status status;
    bool fitted() const noexcept { return status.fitted(); }
};

ALLOT_OUTLINE transfer_result buffer::share_and_move(account& to, detail::move_mode how) const noexcept {
    buffer theirs = retain(to);
    if (!theirs) return {buffer{}, detail::why_not_retained(view_, to)};
    const charge_status s = detail::transfer_charge(*view_.ledger, to, how);
    const bool keeps_view = how == detail::move_mode::checked ? s.charged() : s.outcome != charge_outcome::closed;
    return {ALLOT_LIKELY(keeps_view) ? std::move(theirs) : buffer{}, s};
}
ALLOT_OUTLINE transfer_result buffer::give_and_move(account& to, detail::move_mode how) noexcept {
    if (view_.ledger != nullptr && &to != view_.ledger->by && detail::can_receive(view_, to)) {
        charge_status s;
        if (detail::relabel(*view_.ledger, to, how, s)) return {s.charged() ? std::move(*this) : buffer{}, s};
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
ALLOT_OUTLINE bool buffer::reallocate_if_needed(std::size_t bytes, charge_status* why) noexcept {
    if (why != nullptr) *why = {};
    if (bytes <= view_.size) return true;
    const auto misused = [&] {
        if (why != nullptr) *why = {.outcome = charge_outcome::misused, .requested = bytes};
        return false;
    };
    if (view_.ledger == nullptr) return misused(); // the empty buffer
    if (bytes <= capacity()) {
        view_.size = bytes;
        return true;
    }
    if (view_.ledger->block->origin == detail::block_origin::foreign) return misused();
    const detail::block_source& from = view_.ledger->block->source.memory;
    account& by = *view_.ledger->by;
    buffer fresh{detail::new_view(from, by, bytes, nullptr, why)};
    if (!fresh) return false;
    swap(fresh);
    return true;
}

} // namespace allot::inline ALLOT_ABI
