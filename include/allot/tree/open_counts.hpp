// Counts that keep a closing account beside its charges: open buffers, open reservations, threads that use it.
//
// While the account is open, counting is one atomic addition. close() moves the counts to numbers under the tree's
// lock; the atomic words then only mark it. So the thread that counts down to 0 knows that, and may end the account.
// Invariant: a count is in its word or in `left_`; a word from `closed` on says that it is in `left_`. A word below
// counts on, also from `too_many` on. Cost: 16 bytes.
// Threads: add and add_if_open by any; the rest requires the tree's lock.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class open_counts {
  public:
    enum what : unsigned { buffers, users };

    // False: the account is closing or has too many; call add_left() under the lock.
    ALLOT_ALWAYS_INLINE bool add(unsigned at, int by) noexcept {
        return ALLOT_LIKELY(open_[at].fetch_add(static_cast<std::uint32_t>(by), std::memory_order_release) < too_many);
    }
    // Adds 1. False: the account is closing or has too many, and nothing was counted.
    bool add_if_open(unsigned at) noexcept {
        if (ALLOT_LIKELY(open_[at].fetch_add(1, std::memory_order_relaxed) < too_many)) return true;
        open_[at].fetch_sub(1, std::memory_order_relaxed);
        return false;
    }

    // ---- Requires the tree's lock ----------------------------------------------------------------------------

    void close() noexcept {
        for (unsigned at = 0; at != 2; ++at) // 2^29 from either end, for threads that add meanwhile
            left_[at] = open_[at].exchange(closed + (UINT32_MAX - closed) / 2, std::memory_order_acquire);
    }
    // After add() returned false. False: the account has too many; they were counted all the same.
    bool add_left(unsigned at, int by) noexcept {
        if (open_[at].load(std::memory_order_relaxed) < closed) return false;
        left_[at] += static_cast<std::uint32_t>(by);
        open_[at].fetch_sub(static_cast<std::uint32_t>(by), std::memory_order_relaxed); // the word stays in the middle
        return true;
    }
    void add_locked(unsigned at, int by) noexcept {
        if (!add(at, by)) static_cast<void>(add_left(at, by));
    }
    std::uint32_t now(unsigned at) const noexcept {
        const std::uint32_t n = open_[at].load(std::memory_order_acquire);
        return n < closed ? n : left_[at];
    }
    bool none() const noexcept { return now(buffers) == 0 && now(users) == 0; }

  private:
    static constexpr std::uint32_t too_many = std::uint32_t{1} << 31, closed = too_many + too_many / 2; // and above

    std::atomic<std::uint32_t> open_[2]{};
    std::uint32_t left_[2]{};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
