// The class behind buffer.hpp, which is what to include.
//
// A buffer: one view, with offset and length, of a block of memory that views of several accounts share.
//
//     buffer part = b.slice(100, 50);            the same account's;  one atomic addition
//     buffer theirs = b.retain(join);            join's view: the charge stays
//     auto [mine, how] = std::move(b).transfer(sort);   sort's view, and sort is charged, by force where it must be
//
// Invariant: as long as a view lives its block does, and exactly one account is charged for all of it. Cost: 24 bytes;
// slice and
// release are one atomic operation each. Threads: release, slice, retain by any (where a `one_thread` account has a
// view of the block: by its thread), each view used by one at a time; the bytes are nobody's business here. Accounts
// outlive the views they have.
// Source: Drill's DrillBuf, 2014; Netty's ByteBuf, where one release too many ends the siblings' memory: here a view
// is an object
// that goes once.
#pragma once

#include <allot/buffer/buffer_block.hpp>
#include <allot/buffer/little_endian.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

struct transfer_result;
namespace detail {
struct vector_parts;
}

class buffer {
  public:
    // The empty buffer: no memory, free, never a leak. What is asked of it has the empty answer.
    buffer() noexcept = default;
    buffer(buffer&& other) noexcept
        : ledger_(std::exchange(other.ledger_, nullptr)), data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        buffer{std::move(other)}.swap(*this);
        return *this;
    }
    ~buffer() {
        if (ledger_ != nullptr) detail::drop_view(*ledger_);
    }
    void swap(buffer& other) noexcept {
        std::swap(ledger_, other.ledger_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    // Memory of somebody else becomes a block, charged to the account by its bytes; `release` is called once, when its
    // last view goes. Where the result is empty nobody calls `release`: for 0 bytes, and where the account refuses, is
    // closed, or the host has no memory for what is kept about the block (`why` is no_memory then). `host_access`: the
    // host may touch it.
    static buffer of_foreign(account& by, void* address, std::size_t bytes, foreign_release release,
                             void* context = nullptr, bool host_access = true, charge_status* why = nullptr) noexcept;

    // ---- views ----------------------------------------------------------------------------------------------

    // One more view of the same account; no bytes, no view: the empty buffer. Beyond the end: told, and empty.
    ALLOT_ALWAYS_INLINE buffer slice(std::size_t offset, std::size_t bytes) const noexcept {
        if (ALLOT_UNLIKELY(bytes > size_ || offset > size_ - bytes)) return outside(offset);
        if (bytes == 0) return {};
        ledger_->views.fetch_add(1, std::memory_order_relaxed);
        return {ledger_, data_ + offset, bytes};
    }
    buffer slice() const noexcept { return slice(0, size_); }
    // A view of another account of the same tree, of the same bytes; who is charged stays charged. Empty: the account
    // is closed or of another tree (told), or the host has no memory for its ledger.
    buffer retain(account& by) const noexcept;
    // The same, and where this view's account is the one that is charged, `to` is from now on, by force. The second
    // gives this view up: the cheaper way, without memory where it is the block's only one, or its account's only one
    // and another is charged. The buffer is empty where retain's would be; then this view is as it was.
    transfer_result transfer(account& to) const& noexcept;
    transfer_result transfer(account& to) && noexcept;
    // This view is the empty buffer from now on.
    void release() noexcept { buffer{std::move(*this)}; }

    // ---- bytes ----------------------------------------------------------------------------------------------

    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    explicit operator bool() const noexcept { return ledger_ != nullptr; }
    std::span<std::byte> bytes() const noexcept { return touches(0, size_), std::span<std::byte>{data_, size_}; }

    // Numbers as little-endian bytes, at any offset. Checked builds tell what lies outside, or what the host must not
    // touch; in others it is undefined.
    template <plain_number T> ALLOT_ALWAYS_INLINE T get(std::size_t offset) const noexcept {
        touches(offset, sizeof(T));
        return detail::load_little<T>(data_ + offset);
    }
    template <plain_number T> ALLOT_ALWAYS_INLINE void set(std::size_t offset, T value) const noexcept {
        touches(offset, sizeof(T));
        detail::store_little<T>(data_ + offset, value);
    }

    // Bytes from this view's start that it may have without another block: more than size() where nobody else has a
    // view.
    std::size_t room() const noexcept;
    // So many bytes or more: as it is if it has them or there is room(), else a new block of the same memory, charged
    // to this view's account, and this view of the old one goes. Contents are not copied. False: as it was (foreign
    // memory has no more).
    bool reallocate_if_needed(std::size_t bytes, charge_status* why = nullptr) noexcept;

    // ---- who ------------------------------------------------------------------------------------------------

    // Whose view it is; null: the empty buffer.
    account* holder() const noexcept { return ledger_ != nullptr ? ledger_->by : nullptr; }
    // Who is charged now.
    account* charged() const noexcept;
    // What the block takes, and what of that this view's account is charged: all or nothing.
    std::size_t block_bytes() const noexcept { return ledger_ != nullptr ? ledger_->block->memory.bytes : 0; }
    std::size_t charged_bytes() const noexcept {
        return ledger_ != nullptr && charged() == ledger_->by ? block_bytes() : 0;
    }
    // Somebody has another view.
    bool is_shared() const noexcept;
    bool host_access() const noexcept { return ledger_ == nullptr || ledger_->block->host_access; }
    // Events of the block (retain, transfer, end) are kept there from now on; null: no longer. The log outlives the
    // block.
    void set_log(account_log* log) const noexcept {
        if (ledger_ != nullptr) ledger_->block->log.store(log, std::memory_order_release);
    }
    // The block's ledgers are sound. For tests.
    bool valid() const noexcept;

  private:
    friend class buffer_memory;
    friend class buffer_reservation;
    friend struct detail::vector_parts;
    buffer(detail::buffer_ledger* ledger, std::byte* data, std::size_t size) noexcept
        : ledger_(ledger), data_(data), size_(size) {}
    // A block of what was taken and charged; empty: no memory for what is kept about it, and nothing has changed.
    static buffer over(const memory_block& m, std::size_t bytes, account& by, const detail::buffer_source& from,
                       bool foreign, bool host) noexcept;

    ALLOT_COLD buffer outside(std::size_t offset) const noexcept {
        tell_misuse({.kind = misuse::out_of_bounds,
                     .heap = ledger_ != nullptr ? ledger_->by->name() : "",
                     .address = data_ + offset});
        return {};
    }
    ALLOT_ALWAYS_INLINE void touches([[maybe_unused]] std::size_t offset,
                                     [[maybe_unused]] std::size_t bytes) const noexcept {
        if constexpr (ALLOT_CHECKED != 0) {
            if (bytes > size_ || offset > size_ - bytes) static_cast<void>(outside(offset));
            else if (!host_access())
                tell_misuse({.kind = misuse::no_host_access, .heap = ledger_->by->name(), .address = data_ + offset});
        }
    }
    bool may_have(const account& a) const noexcept;
    // Why retain gave nothing.
    charge_status no_view(const account& to) const noexcept;

    detail::buffer_ledger* ledger_ = nullptr;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// What a transfer gives: the receiver's view, and how the charge went. fitted() is false where a limit was exceeded.
/// Where there is no view the status says why: closed, misused (another tree), or no_memory: the host has none for it.
struct transfer_result {
    buffer view;
    charge_status status;
    bool fitted() const noexcept { return status.fitted(); }
};

} // namespace allot::inline ALLOT_ABI
