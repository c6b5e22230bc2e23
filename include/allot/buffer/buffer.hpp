// A buffer: one view, with offset and length, of a block of memory that views of several accounts share.
//
//     buffer part = b.slice(100, 50);            the same account's;  one atomic addition
//     buffer theirs = b.retain(join);            join's view: the charge stays
//     auto [mine, how] = std::move(b).transfer(sort);   sort's view, and sort is charged, by force where it must be
//
// Invariant: while a view lives its block does, and exactly one account is charged for all of it. Cost: 24 bytes; slice
// and release are one atomic operation each. Threads: release, slice, retain by any (if a `one_thread` account has a
// view of the block: by its thread); each view by one thread at a time; access to the bytes is up to the caller.
// Accounts outlive their views.
// Source: Drill's DrillBuf, 2014; Netty's ByteBuf, where one release too many ends the siblings' memory: here a view is
// an object that is released once.
//
// Use: docs/buffers.md. Parts: buffer_block.hpp (the block and its ledgers), buffer_allocate.hpp, buffer_transfer.hpp.
#pragma once

#include <allot/buffer/buffer_block.hpp>
#include <allot/buffer/little_endian.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

struct transfer_result;
namespace detail {
struct vector_parts;
}

class buffer {
  public:
    // The empty buffer: no memory, no charge, never a leak. Every query of it returns null, 0 or false.
    buffer() noexcept = default;
    buffer(buffer&& other) noexcept
        : ledger_(std::exchange(other.ledger_, nullptr)), data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        buffer{std::move(other)}.swap(*this);
        return *this;
    }
    ~buffer() {
        if (ledger_ != nullptr) detail::release_view(*ledger_);
    }
    void swap(buffer& other) noexcept {
        std::swap(ledger_, other.ledger_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    // Makes the caller's memory a block, whose bytes are charged to the account. `release` is called once, when the
    // last view is released. Returns the empty buffer, and never calls `release`, for 0 bytes, and if the account
    // refuses or is closed, or the host has no memory for the block's record (`why` is no_memory then). host_access:
    // whether the host may read and write it.
    static buffer of_foreign(account& by, void* address, std::size_t bytes, foreign_release release,
                             void* context = nullptr, bool host_access = true, charge_status* why = nullptr) noexcept;

    // ---- views ----------------------------------------------------------------------------------------------

    // One more view of the same account. Returns the empty buffer for 0 bytes, and, reported as misuse, beyond the end.
    ALLOT_ALWAYS_INLINE buffer slice(std::size_t offset, std::size_t bytes) const noexcept {
        if (ALLOT_UNLIKELY(bytes > size_ || offset > size_ - bytes)) return outside(offset);
        if (bytes == 0) return {};
        ledger_->views.fetch_add(1, std::memory_order_relaxed);
        return {ledger_, data_ + offset, bytes};
    }
    buffer slice() const noexcept { return slice(0, size_); }
    // A view of the same bytes for another account of the same tree; the charge stays where it is. Returns the empty
    // buffer if that account is closed or of another tree (misuse), or the host has no memory for its ledger.
    buffer retain(account& by) const noexcept;
    // The same, and if this view's account is charged, `to` is charged instead, by force. The second overload gives
    // this view up, which is cheaper: it needs no memory if the view is the block's only one, or its account's only one
    // while another account is charged. Returns an empty view if retain would; then this view is unchanged.
    transfer_result transfer(account& to) const& noexcept;
    transfer_result transfer(account& to) && noexcept;
    // Makes this view the empty buffer.
    void release() noexcept { buffer{std::move(*this)}; }

    // ---- bytes ----------------------------------------------------------------------------------------------

    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    explicit operator bool() const noexcept { return ledger_ != nullptr; }
    std::span<std::byte> bytes() const noexcept { return touches(0, size_), std::span<std::byte>{data_, size_}; }

    // Numbers as little-endian bytes, at any offset. Requires that they lie inside, and host access; checked builds
    // report a violation.
    template <plain_number T> ALLOT_ALWAYS_INLINE T get(std::size_t offset) const noexcept {
        touches(offset, sizeof(T));
        return detail::load_little<T>(data_ + offset);
    }
    template <plain_number T> ALLOT_ALWAYS_INLINE void set(std::size_t offset, T value) const noexcept {
        touches(offset, sizeof(T));
        detail::store_little<T>(data_ + offset, value);
    }

    // Bytes from this view's start that it can use without another block: more than size() if the block has no other
    // view.
    std::size_t room() const noexcept;
    // Makes the view at least this long: in place if there is room(), else in a new block of the same memory, charged
    // to this view's account; contents are not copied. Returns false, and changes nothing, if there is none, or the
    // memory is foreign.
    bool reallocate_if_needed(std::size_t bytes, charge_status* why = nullptr) noexcept;

    // ---- accounts -------------------------------------------------------------------------------------------

    // The account of this view; null for the empty buffer.
    account* holder() const noexcept { return ledger_ != nullptr ? ledger_->by : nullptr; }
    // The account that is charged for the block now.
    account* charged() const noexcept;
    // Bytes of the block, and the part that this view's account is charged: all of them or 0.
    std::size_t block_bytes() const noexcept { return ledger_ != nullptr ? ledger_->block->memory.bytes : 0; }
    std::size_t charged_bytes() const noexcept {
        return ledger_ != nullptr && charged() == ledger_->by ? block_bytes() : 0;
    }
    // Whether the block has another view.
    bool is_shared() const noexcept;
    bool host_access() const noexcept { return ledger_ == nullptr || ledger_->block->host_access; }
    // Records the block's events (retain, transfer, end) there from now on; null: no longer. The log outlives the
    // block.
    void set_log(account_log* log) const noexcept {
        if (ledger_ != nullptr) ledger_->block->log.store(log, std::memory_order_release);
    }
    // Checks the block's ledgers. For tests.
    bool valid() const noexcept;

  private:
    friend class buffer_memory;
    friend class buffer_reservation;
    friend struct detail::vector_parts;
    buffer(detail::buffer_ledger* ledger, std::byte* data, std::size_t size) noexcept
        : ledger_(ledger), data_(data), size_(size) {}
    // A block of memory that is allocated and charged. Empty: no memory for its record, and nothing has changed.
    static buffer over(const memory_block& m, std::size_t bytes, account& by, const detail::buffer_source& from,
                       bool foreign, bool host) noexcept;

    ALLOT_COLD buffer outside(std::size_t offset) const noexcept {
        report_misuse({.kind = misuse::out_of_bounds,
                       .heap = ledger_ != nullptr ? ledger_->by->name() : "",
                       .address = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(data_) + offset)});
        return {};
    }
    ALLOT_ALWAYS_INLINE void touches([[maybe_unused]] std::size_t offset,
                                     [[maybe_unused]] std::size_t bytes) const noexcept {
        if constexpr (ALLOT_CHECKED != 0) {
            if (bytes > size_ || offset > size_ - bytes) static_cast<void>(outside(offset));
            else if (!host_access())
                report_misuse({.kind = misuse::no_host_access, .heap = ledger_->by->name(), .address = data_ + offset});
        }
    }
    bool can_receive(const account& a) const noexcept;
    // Why retain returned no view.
    charge_status no_view_reason(const account& to) const noexcept;

    detail::buffer_ledger* ledger_ = nullptr;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// The receiver's view, and the status of the charge; fitted() is false if a limit was exceeded. Without a view the
/// status says why: closed, misused (another tree), or no_memory (the host has none for its record).
struct transfer_result {
    buffer view;
    charge_status status;
    bool fitted() const noexcept { return status.fitted(); }
};

} // namespace allot::inline ALLOT_ABI

#include <allot/buffer/buffer_allocate.hpp>
#include <allot/buffer/buffer_transfer.hpp>
