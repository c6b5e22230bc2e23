// Blocks of a chunk arena, charged to one of the accounts that share it: for code that has raw pointers.
//
//     allot::account engine{allot::name{"engine"}, allot::limit{1_GiB}};
//     allot::chunk_arena<allot::use::drill> pool{engine, allot::use::drill::chunk};
//     allot::account scan{engine, allot::name{"scan"}, allot::limit{64_MiB}, allot::credit_step{}};
//     allot::charged_blocks of_scan{pool, scan};
//     void* p = of_scan.allocate(100'000).address;     // charged to `scan`; throws out_of_memory, with its holders
//
// It has the calls of a chunk arena for blocks, so that every face of adapt/ takes it: each user of a pool has one.
// Buffers need none: they know their account (buffer_memory.hpp). Counts and reports are the arena's: blocks().
// Invariant: the account is charged for the capacity of each block, as a buffer's is; under ledger::pool the pool is
// not, meanwhile. Cost: three words; a block is that of the arena and its charge. Threads: any.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_transfer.hpp>
#include <allot/account/forward.hpp>
#include <allot/buffer/block_source.hpp>
#include <allot/buffer/buffer_allocate.hpp>
#include <allot/buffer/buffer_block.hpp>
#include <allot/chunk/chunk_stats.hpp>
#include <allot/config.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// A chunk arena.
template <class Blocks>
concept chargeable_blocks = requires(Blocks& blocks, void* p, std::size_t n) {
    blocks.try_allocate(n, n, detail::from_caches{}).address;
    blocks.capacity_resized(p, n);
};

} // namespace detail

/// Refers to a chunk arena and an account, which outlive it and its blocks.
/// Requires: all blocks are deallocated before the account ends.
template <detail::chargeable_blocks Blocks> class charged_blocks {
  public:
    static constexpr std::size_t unit = Blocks::unit;           // the smallest block and alignment
    static constexpr std::size_t max_align = Blocks::max_align; // of a block

    charged_blocks(Blocks& blocks, allot::account& by) noexcept
        : blocks_(&blocks), by_(&by), lender_(lender_to(blocks, by)) {}

    /// Allocates a block of at least `bytes`, as the chunk arena does, and charges its capacity.
    /// Throws: out_of_memory if the account or the arena refuses; a verdict of the arbiter.
    block allocate(std::size_t bytes, std::size_t align = unit) const {
        return take(bytes, align, [&](const aligned_source& from, memory_block taken) {
            detail::memory_request asked{bytes};
            asked.judged = true;
            const memory_block m = detail::requested_block(from, lender_, *by_, asked, taken);
            if (ALLOT_LIKELY(m.address != nullptr)) return m;
            by_->raise_verdict(asked.why);
            detail::raise_no_block("block", *by_, bytes, asked.why);
        });
    }
    /// As allocate(), but returns none on failure, and why.
    block try_allocate(std::size_t bytes, std::size_t align = unit, charge_status* why = nullptr) const noexcept {
        return take(bytes, align, nullptr, why);
    }
    /// As try_allocate(); its bytes are zero. Fresh pages of the system are not written.
    block try_allocate_zeroed(std::size_t bytes, std::size_t align = unit, charge_status* why = nullptr) const noexcept
        requires requires(Blocks& blocks, void* p) { blocks.zero(p, std::size_t{}); }
    {
        const block b = try_allocate(bytes, align, why);
        if (b) blocks_->zero(b.address, bytes);
        return b;
    }
    /// As try_allocate(), and waits while the limit of an account refuses. Inside a listener or reclaimer it does not.
    block allocate_for(std::size_t bytes, const wait_limit& wait, std::size_t align = unit,
                       charge_status* why = nullptr) const noexcept {
        return take(bytes, align, &wait, why);
    }
    /// Deallocates a block, and refunds the account. Null is ignored; anything but a live block too, and is misuse. So
    /// is a block that another account is charged for: then both are wrong. Checked builds report it where this account
    /// is charged for less, else at a later refund.
    void deallocate(const void* p) const noexcept {
        const std::size_t bytes = blocks_->capacity(p);
        if (ALLOT_UNLIKELY(bytes == 0)) return blocks_->deallocate(p); // null, or it reports misuse
        const memory_block m{const_cast<std::byte*>(static_cast<const std::byte*>(p)), bytes};
        if (lender_ != nullptr) return detail::free_lent(source(), m, *lender_, *by_);
        source().give(m);
        by_->refund(bytes);
    }
    void deallocate(const block& b) const noexcept { deallocate(b.address); }
    /// The same for callers that know the bytes of the last allocate() or resize() of the block, and its alignment.
    void deallocate(const void* p, std::size_t, std::size_t = unit) const noexcept { deallocate(p); }
    /// Grows or shrinks a block of whole pages in place, to hold `bytes`, and charges or refunds the difference. One of
    /// a size class keeps its class.
    /// Returns: the block; none where another would be larger, or smaller by a quarter and 1 KiB at least, or where
    /// account or arena refuse. Then the block is as before.
    block resize(void* p, std::size_t bytes) const noexcept {
        const std::size_t had = blocks_->capacity(p);
        if (ALLOT_UNLIKELY(had == 0)) return blocks_->resize(p, bytes); // reports misuse
        const std::size_t has = blocks_->capacity_resized(p, bytes);
        if (has == 0) {
            const std::size_t other = capacity_for(bytes), least_cut = had / 4 > 1024 ? had / 4 : 1024;
            return other != 0 && other <= had && had - other < least_cut ? block{p, had} : block{};
        }
        if (has < had && lender_ != nullptr) detail::return_to(lender_->node(), by_->node(), had - has);
        const block b = blocks_->resize(p, bytes);
        if (has < had && lender_ == nullptr) by_->refund(had - has);
        if (!b || has <= had || charge(has - had)) return b;
        blocks_->resize(p, had);
        return {};
    }
    std::size_t capacity(const void* p) const noexcept { return blocks_->capacity(p); }
    std::size_t capacity_for(std::size_t bytes, std::size_t align = unit) const noexcept {
        return blocks_->capacity_for(bytes, align);
    }
    /// Returns: bytes that the chunk arena, which others share, has returned to the system.
    std::size_t trim() const noexcept { return blocks_->trim(); }

    Blocks& blocks() const noexcept { return *blocks_; }
    allot::account& account() const noexcept { return *by_; }

  private:
    // The arena as a source of blocks of one alignment.
    struct aligned_source {
        Blocks* blocks;
        std::size_t align;

        static memory_block of(const block& b) noexcept { return {static_cast<std::byte*>(b.address), b.bytes}; }
        memory_block take_cached(std::size_t bytes) const noexcept {
            return of(blocks->try_allocate(bytes, align, detail::from_caches{}));
        }
        memory_block attempt(detail::memory_request& asked) const noexcept {
            return of(blocks->try_allocate(asked, align));
        }
        bool climb(detail::memory_request& asked, const detail::account_node* by,
                   detail::attempt_ref again) const noexcept {
            return blocks->climb(asked, by, again);
        }
        void give(const memory_block& m) const noexcept { blocks->deallocate(m.address); }
        std::size_t capacity_for(std::size_t bytes) const noexcept {
            const std::size_t has = blocks->capacity_for(bytes, align);
            return has > bytes ? has : bytes;
        }
    };
    aligned_source source(std::size_t align = unit) const noexcept { return {blocks_, align}; }

    static allot::account* lender_to(const Blocks& blocks, const allot::account& by) noexcept {
        if constexpr (requires { blocks.lender_to(by); }) return blocks.lender_to(by);
        else return nullptr;
    }
    template <class Slow> block take(std::size_t bytes, std::size_t align, Slow slow) const {
        const aligned_source from = source(align);
        const memory_block m =
            detail::warm_block(from, lender_, *by_, bytes, [&](memory_block taken) { return slow(from, taken); });
        return {m.address, m.bytes};
    }
    block take(std::size_t bytes, std::size_t align, const wait_limit* wait, charge_status* why) const noexcept {
        if (why != nullptr) *why = {};
        return take(bytes, align, [&](const aligned_source& from, memory_block taken) {
            detail::memory_request asked{bytes};
            asked.wait = wait;
            const memory_block m = detail::requested_block(from, lender_, *by_, asked, taken);
            asked.report(why, m.address != nullptr);
            return m;
        });
    }
    bool charge(std::size_t bytes) const noexcept {
        const charge_status s = lender_ == nullptr
                                    ? by_->try_charge(bytes)
                                    : detail::charge_from(lender_->node(), by_->node(), bytes, detail::never_waits);
        return s.charged();
    }

    Blocks* blocks_;
    allot::account* by_;
    allot::account* lender_; // that is charged for the blocks until the account is; null: none
};

} // namespace allot::inline ALLOT_ABI
