// An account's own grant: bytes that all levels above count as its own, and the unused part of them, its credit.
//
//     granted  =  charged  +  credit (in credit_word)
//
// A leaf with a credit step is granted whole steps. Then a charge or refund is one compare-and-swap on this cache line,
// until the credit is used up or would exceed a step. A leaf without a step never has an open credit: every request
// takes the lock.
// The class knows neither the tree nor its lock. The holder of the lock changes the grant, while other threads charge
// and refund.
// Invariant: credit <= granted, once over-refunded bytes were removed (take_back). Cost: 24 bytes.
// Threads: take, give, defer_refund and covers by any thread; the rest requires the tree's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/tree/account_status.hpp>
#include <allot/tree/credit_word.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class leaf_credit {
  public:
    // `step` in bytes; 0 for none. Requires at most credit_step::max_bytes.
    explicit leaf_credit(std::size_t step) noexcept : step_(static_cast<std::uint32_t>(step)) {}

    bool has_step() const noexcept { return step_ != 0; }

    // ---- without the lock ------------------------------------------------------------------------------------

    // Charges within the credit, or refunds into it. False: nothing has changed; take the lock.
    ALLOT_ALWAYS_INLINE bool take(std::size_t bytes) noexcept {
        std::uint64_t now =
            word_.load(std::memory_order_relaxed); // not a credit_word: compilers keep a number in a register
        do
            if (ALLOT_UNLIKELY(!credit_word{now}.covers(bytes))) return false;
        while (ALLOT_UNLIKELY(
            !word_.compare_exchange_weak(now, credit_word{now}.after_charge(bytes).bits, std::memory_order_relaxed)));
        return true;
    }
    ALLOT_ALWAYS_INLINE bool give(std::size_t bytes) noexcept {
        std::uint64_t now = word_.load(std::memory_order_relaxed);
        const std::size_t keep = keep_.load(std::memory_order_relaxed); // 0 before the first grant of a step
        if (ALLOT_CHECKED != 0 && bytes > granted()) return false;      // reported by the holder of the lock
        do
            if (ALLOT_UNLIKELY(!credit_word{now}.can_keep(bytes, keep))) return false;
        while (ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, credit_word{now}.after_refund(bytes).bits,
                                                           std::memory_order_release, std::memory_order_relaxed)));
        return true;
    }
    // Adds a refund to the credit, open or closed; the next holder of the lock settles it. False: it does not fit the
    // word.
    bool defer_refund(std::size_t bytes) noexcept {
        credit_word w{word_.load(std::memory_order_relaxed)};
        while (bytes <= credit_word::most && w.credit() + bytes <= credit_word::most)
            if (word_.compare_exchange_weak(w.bits, w.after_deferred_refund(bytes).bits, std::memory_order_release,
                                            std::memory_order_relaxed))
                return true;
        return false;
    }
    ALLOT_ALWAYS_INLINE bool covers(std::size_t bytes) const noexcept { return word().covers(bytes); }

    // ---- Requires the tree's lock ----------------------------------------------------------------------------

    // Acquire, as refunds release: the thread that sees everything refunded may end the account.
    credit_word word() const noexcept { return {word_.load(std::memory_order_acquire)}; }
    std::size_t unused() const noexcept { return word().credit(); }
    std::size_t granted() const noexcept { return granted_.load(std::memory_order_relaxed); }
    std::size_t charged() const noexcept { return granted() - unused(); }

    // By how much the grant must grow to be whole steps once the bytes are charged.
    std::size_t growth_to_whole_steps(std::size_t bytes, std::size_t credit) const noexcept {
        const std::size_t used = granted() - credit + bytes, whole = round_up(used, step_at(used));
        return whole > granted() ? whole - granted() : 0;
    }
    // Grows the grant by `more` and charges `bytes` of it. False: another thread changed the word; the grant is as it
    // was. The grant grows first: in checked builds give() compares it without the lock, and a refund of these bytes
    // must not exceed it.
    bool grow(credit_word from, std::size_t more, std::size_t bytes, bool open) noexcept {
        granted_.store(granted() + more, std::memory_order_relaxed);
        if (word_.compare_exchange_strong(from.bits, credit_word::of(from.credit() + more - bytes, open).bits,
                                          std::memory_order_relaxed))
            return true;
        granted_.store(granted() - more, std::memory_order_relaxed);
        return false;
    }
    // After grow(..., open = true): refunds may stay as credit.
    void open() noexcept { keep_at_most(step_at(granted())); }
    // Begins a new minimum of the credit; returns the word before.
    credit_word reset_low_water() noexcept {
        credit_word w = word();
        if (w.credit() != w.low_water())
            while (!word_.compare_exchange_weak(w.bits, w.with_low_water_reset().bits, std::memory_order_relaxed)) {
            }
        return w;
    }
    ALLOT_ALWAYS_INLINE void shrink(std::size_t bytes) noexcept {
        granted_.store(granted() - bytes, std::memory_order_relaxed);
        if (const std::size_t kept = keep_.load(std::memory_order_relaxed); kept > granted()) keep_at_most(kept);
    }

    struct returned {
        std::size_t bytes = 0;
        credit_word before{};       // the word before, if changed
        bool changed = false;       // bytes were returned, or the credit was opened or closed
        bool over_refunded = false; // more was refunded than charged; the excess is removed
    };
    // Takes unused credit out of the grant: all of it, or what exceeds whole steps.
    returned take_back(bool all, bool open) noexcept {
        returned r;
        credit_word w = word();
        std::size_t step = 0;
        do {
            r.over_refunded = remove_excess(w) || r.over_refunded;
            const std::size_t used = granted() - w.credit();
            step = all ? 0 : step_at(used);
            const std::size_t whole = all ? used : round_up(used, step);
            r.bytes = granted() > whole ? granted() - whole : 0;
            if (r.bytes == 0 && open == w.open()) return r;
        } while (!word_.compare_exchange_weak(w.bits, credit_word::of(w.credit() - r.bytes, open).bits,
                                              std::memory_order_relaxed));
        r.before = w;
        r.changed = true;
        shrink(r.bytes);
        if (open && !all) keep_at_most(step);
        return r;
    }
    bool valid() const noexcept {
        const credit_word w = word();
        return w.credit() <= granted() && w.low_water() <= w.credit() && (!w.open() || has_step());
    }

  private:
    static_assert(8 * credit_step::max_bytes <= credit_word::most);

    // 1, 4 or 8 steps, in bytes.
    std::size_t step_at(std::size_t used) const noexcept {
        const std::size_t step = step_;
        return used < 16 * step ? step : used < 64 * step ? 4 * step : 8 * step;
    }
    static std::size_t round_up(std::size_t used, std::size_t step) noexcept { return (used + step - 1) / step * step; }
    // Refunds that would leave more credit than this take the lock. Never above the grant, so over-refunding is
    // noticed.
    void keep_at_most(std::size_t step) noexcept {
        keep_.store(static_cast<std::uint32_t>(step < granted() ? step : granted()), std::memory_order_relaxed);
    }
    // Deferred refunds may exceed what was charged.
    bool remove_excess(credit_word& w) noexcept {
        bool excess = false;
        while (ALLOT_UNLIKELY(w.credit() > granted()))
            if (word_.compare_exchange_weak(w.bits, credit_word::of(granted(), w.open()).bits,
                                            std::memory_order_relaxed)) {
                excess = true;
                w = word();
            }
        return excess;
    }

    std::atomic<std::uint64_t> word_{credit_word{}.bits};
    std::atomic<std::size_t> granted_{0};
    std::atomic<std::uint32_t> keep_{0}; // the most credit that a refund without the lock may leave
    const std::uint32_t step_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
