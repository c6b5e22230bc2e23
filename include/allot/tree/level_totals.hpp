// The numbers of one level in a tree of accounts.
//
//     total           own grant + subtree charges of the children     what the limit bounds
//     subtree charge  max(total, reserved - owed)                     what the level counts at its parent
//     held            part of total that is not confirmed yet         confirmed = total - held
//     owed            part of reserved: pools have blocks of the level back, and there is no room to count these
//                     bytes twice (account_tree::owe)
//
// Invariant: held <= total; reserved >= floor, owed; peak = the highest noted confirmed() less credit.
// Cost: 112 bytes. Threads: the holder of the tree's lock, unless a function says otherwise.
#pragma once

#include <allot/config.hpp>
#include <allot/tree/account_status.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class level_totals {
  public:
    // Change of a total or a subtree charge in bytes, and the confirmed part of it.
    struct change {
        std::ptrdiff_t all = 0, confirmed = 0;

        change& operator+=(const change& more) noexcept {
            all += more.all, confirmed += more.confirmed;
            return *this;
        }
    };

    level_totals(std::size_t limit, std::size_t watermark) noexcept : limit_(limit), watermark_(watermark) {}

    std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); } // any thread
    void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }
    std::size_t watermark() const noexcept { return watermark_; }
    void set_watermark(std::size_t bytes) noexcept {
        watermark_ = bytes;
        ask_from_ = 0;
    }
    // Whether reclaimers are to free memory ahead of need at this use.
    bool asks_ahead(std::size_t used) const noexcept {
        if (used <= watermark_) ask_from_ = 0;
        return used > watermark_ && used >= ask_from_;
    }
    // They had nothing at this use: not before it has grown by a sixteenth.
    void ask_ahead_later(std::size_t used) const noexcept { ask_from_ = used + used / 16; }

    std::size_t total() const noexcept { return total_; }
    std::size_t held() const noexcept { return held_; }
    std::size_t confirmed() const noexcept { return total_ - held_; }
    std::size_t reserved() const noexcept { return kept_ + owed_; }
    std::size_t owed() const noexcept { return owed_; }
    std::size_t floor() const noexcept { return floor_; }
    std::size_t to_come() const noexcept { return to_come_; }
    // The reserved bytes, so that no more are reserved beyond the total and the floor than reservations of bytes to
    // come ask for: a refund lowers what was reserved on top of the refunded bytes.
    std::size_t reserved_at_most() const noexcept { return reserved_at_most(reserved()); }
    std::size_t reserved_at_most(std::size_t reserved) const noexcept { return reserved_at_most(reserved, total_); }
    // The reserved bytes with another floor: what is to come lies above it.
    std::size_t reserved_with_floor(std::size_t floor, std::size_t used) const noexcept {
        const std::size_t base = used > floor_ ? used : floor_, left = reserved() > base ? reserved() - base : 0;
        if (left != 0) return (used > floor ? used : floor) + left;
        const std::size_t taken = to_come_ != 0 && used > floor_ ? reserved() : 0; // by charges
        return taken > floor ? taken : floor;
    }
    std::size_t subtree_charge() const noexcept { return at_least_kept(total_); }
    std::size_t confirmed_subtree_charge() const noexcept { return at_least_kept(confirmed()); }
    // Bytes to come that are reserved beyond what is used, beyond floors, and not owed.
    std::size_t promised() const noexcept {
        const std::size_t base = total_ > floor_ ? total_ : floor_;
        return kept_ > base ? kept_ - base : 0;
    }
    // Reserved bytes beyond the total, as the parent counts them.
    std::size_t unused() const noexcept { return subtree_charge() - total_; }
    // The subtree charge if the total had `more` bytes more; 0 - n for n fewer.
    std::size_t subtree_charge_with(std::size_t more) const noexcept { return at_least_kept(total_ + more); }
    // The subtree charge if `reserved` bytes were reserved.
    std::size_t subtree_charge_of(std::size_t reserved) const noexcept {
        const std::size_t kept = kept_of(reserved);
        return total_ > kept ? total_ : kept;
    }
    // The bytes that would no longer be owed then.
    std::size_t owed_without(std::size_t reserved) const noexcept { return owed_ + kept_of(reserved) - reserved; }
    // The subtree charge if `bytes` of the owed bytes were paid.
    std::size_t subtree_charge_paid(std::size_t bytes) const noexcept {
        return total_ > kept_ + bytes ? total_ : kept_ + bytes;
    }
    // If it had `fewer`, and what is reserved above the fewer bytes had returned to the parent.
    std::size_t subtree_charge_without(std::size_t fewer) const noexcept {
        const std::size_t total = total_ - fewer,
                          kept = to_come_ != 0 ? kept_of(reserved_at_most(reserved(), total)) : kept_;
        return total > kept ? total : kept;
    }

    // ---- check

    // Whether the total may grow by `more`.
    bool fits(std::size_t more) const noexcept { return !overflows(more) && total_ + more <= limit(); }
    // Whether the sum would exceed max_charged: that is refused even by force.
    bool overflows(std::size_t more) const noexcept { return total_ > max_charged || more > max_charged - total_; }
    // By how much the total must shrink, so that it fits once it grows by `more`. Requires can_ever_fit(more).
    std::size_t missing(std::size_t more) const noexcept {
        const std::size_t most = limit() < max_charged ? limit() : max_charged;
        return total_ + more > most ? total_ + more - most : 0;
    }
    // The most that the total may grow by.
    std::size_t room() const noexcept {
        const std::size_t limit = this->limit();
        return total_ < limit ? limit - total_ : 0;
    }
    // Whether the bytes alone would be granted.
    bool can_ever_fit(std::size_t bytes) const noexcept { return bytes <= max_charged && bytes <= limit(); }
    // True: the total could grow by `more` without the held bytes.
    bool only_held_bytes_prevent(std::size_t more) const noexcept {
        return held_ != 0 && confirmed() + more <= limit();
    }

    // ---- commit: each returns the change of the subtree charge

    change add(change by) noexcept {
        const std::size_t was = subtree_charge(), was_confirmed = confirmed_subtree_charge();
        total_ += static_cast<std::size_t>(by.all);
        held_ += static_cast<std::size_t>(by.all - by.confirmed);
        return since(was, was_confirmed);
    }
    // Takes off charged bytes. Another thread may free and refund memory before its taker confirms it; such bytes are
    // no longer held.
    change take_off(std::size_t bytes) noexcept {
        const auto by = static_cast<std::ptrdiff_t>(bytes);
        if (ALLOT_LIKELY(bytes <= confirmed())) return add({-by, -by});
        early_ += bytes - confirmed();
        return add({-by, -static_cast<std::ptrdiff_t>(confirmed())});
    }
    // The part that is still held of bytes that their taker confirms.
    std::size_t still_held(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(early_ == 0)) return bytes;
        const std::size_t gone = early_ < bytes ? early_ : bytes;
        early_ -= gone;
        return bytes - gone;
    }
    // `owed`: the part of the growth that is owed.
    change reserve(std::size_t bytes, std::size_t owed = 0) noexcept {
        const std::size_t was = subtree_charge(), was_confirmed = confirmed_subtree_charge();
        const std::size_t kept = kept_of(bytes) - owed;
        owed_ = bytes - kept;
        kept_ = kept;
        return since(was, was_confirmed);
    }
    // owe() requires that the parent counts `bytes` of the unused reserved bytes; pay(), that `bytes` are owed.
    change owe(std::size_t bytes) noexcept { return owe_more(static_cast<std::ptrdiff_t>(bytes)); }
    change pay(std::size_t bytes) noexcept { return owe_more(-static_cast<std::ptrdiff_t>(bytes)); }
    // Reservations: their sums, which change by these bytes.
    void add_to_come(std::size_t bytes) noexcept { to_come_ += bytes; }
    void add_floor(std::size_t bytes) noexcept { floor_ += bytes; }
    change end() noexcept {
        const std::size_t was = subtree_charge(), was_confirmed = confirmed_subtree_charge();
        total_ = held_ = early_ = kept_ = owed_ = to_come_ = floor_ = 0;
        return since(was, was_confirmed);
    }

    // ---- statistics

    // Notes a peak. `low_water`: the lowest credit since the total last changed.
    void note_peak(std::size_t low_water) const noexcept {
        if (const std::size_t all = confirmed(); all > low_water && all - low_water > peak_) peak_ = all - low_water;
    }
    std::size_t peak(std::size_t low_water) const noexcept { return note_peak(low_water), peak_; }
    void count_refusal() const noexcept { ++refused_; }
    void count_beyond() noexcept { ++beyond_; }
    // Any thread.
    void count_spilled(std::size_t bytes) noexcept { spilled_.fetch_add(bytes, std::memory_order_relaxed); }
    // Without what the credit and the tree's shape add.
    account_stats stats() const noexcept {
        account_stats f;
        f.subtree_charge = subtree_charge();
        f.limit = limit();
        f.watermark = watermark_;
        f.reservation = reserved();
        f.owed = owed_;
        f.refused = refused_;
        f.beyond = beyond_;
        f.spilled = spilled_.load(std::memory_order_relaxed);
        return f;
    }
    bool valid() const noexcept { return held_ <= total_ && reserved() >= floor_; }

  private:
    std::size_t reserved_at_most(std::size_t reserved, std::size_t total) const noexcept {
        const std::size_t most = (total > floor_ ? total : floor_) + to_come_;
        return to_come_ == 0 ? floor_ : reserved < most ? reserved : most;
    }
    std::size_t at_least_kept(std::size_t total) const noexcept { return total > kept_ ? total : kept_; }
    // The part of `reserved` bytes that the parent would count. If fewer are reserved, owed bytes end first.
    std::size_t kept_of(std::size_t reserved) const noexcept {
        const std::size_t fewer = this->reserved() > reserved ? this->reserved() - reserved : 0;
        return reserved - (owed_ > fewer ? owed_ - fewer : 0);
    }
    change owe_more(std::ptrdiff_t bytes) noexcept {
        const std::size_t was = subtree_charge(), was_confirmed = confirmed_subtree_charge();
        kept_ -= static_cast<std::size_t>(bytes);
        owed_ += static_cast<std::size_t>(bytes);
        return since(was, was_confirmed);
    }
    change since(std::size_t was, std::size_t was_confirmed) const noexcept {
        return {static_cast<std::ptrdiff_t>(subtree_charge() - was),
                static_cast<std::ptrdiff_t>(confirmed_subtree_charge() - was_confirmed)};
    }

    std::size_t total_ = 0;
    std::size_t held_ = 0;
    std::size_t early_ = 0;   // refunded before they were confirmed
    std::size_t kept_ = 0;    // of what is reserved: what the parent counts at least
    std::size_t owed_ = 0;    // the rest
    std::size_t to_come_ = 0; // reserved beyond what is used
    std::size_t floor_ = 0;   // reserved, used or not
    mutable std::size_t peak_ = 0;
    std::atomic<std::size_t> limit_;
    std::size_t watermark_;            // SIZE_MAX: none
    mutable std::size_t ask_from_ = 0; // a use
    mutable std::uint64_t refused_ = 0;
    std::uint64_t beyond_ = 0;
    std::atomic<std::uint64_t> spilled_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
