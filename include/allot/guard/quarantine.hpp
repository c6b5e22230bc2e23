// The quarantine of a heap: a ring of released rows whose slots are not used again yet, and the bytes they are filled
// with, so that a write after release is found.
//
// Invariant: a row leaves when `depth` more rows have come, or by take() or drain().
// Cost: 8 bytes per row of its depth and 16 per heap; nothing under guards without a quarantine. One fetch_add and one
// exchange per released row. Threads: any; no call waits.
// Source: AddressSanitizer's quarantine, Serebryany 2012.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lock_guard.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <std::size_t Rows> class quarantine_ring {
  public:
    // Depth: the smaller of `Rows` and `most`; neither is 0.
    explicit quarantine_ring(std::size_t most) noexcept { set_most(most); }
    // Requires that it is empty, and that no other thread uses it.
    void set_most(std::size_t most) noexcept { depth_ = most < Rows ? most : Rows; }

    // Puts `row` in and returns the row it displaces; null while the ring fills. `at`: its place.
    std::byte* exchange(std::byte* row, std::size_t& at) noexcept {
        at = next_.fetch_add(1, std::memory_order_relaxed) % depth_;
        return places_[at].exchange(row, std::memory_order_acq_rel);
    }
    // Takes the row out of its place; false: it is not there any more.
    bool remove(std::byte* row, std::size_t at) noexcept {
        return places_[at].compare_exchange_strong(row, nullptr, std::memory_order_acq_rel);
    }
    // Takes up to n rows out; returns their number.
    std::size_t take(std::byte** out, std::size_t n) noexcept {
        std::size_t at = 0;
        return take(out, n, at, depth_);
    }
    // Takes every row out: passes it to inspect(row) without the lock, then to put(rows, n) with it. So a holder of the
    // lock finds each row in size() or put. One thread at a time.
    template <class Lock, class Inspect, class Put> void drain(Lock& lock, Inspect inspect, Put put) noexcept {
        std::byte* rows[32];
        for (std::size_t at = 0; at != depth_ || leaving_ != 0;) {
            {
                const detail::lock_guard hold(lock);
                if (leaving_ != 0) put(rows, leaving_);
                leaving_ = take(rows, 32, at, depth_ - at < 256 ? depth_ : at + 256);
            }
            for (std::size_t i = 0; i != leaving_; ++i) inspect(rows[i]);
        }
    }
    // Requires the lock of drain().
    std::size_t size() const noexcept {
        std::size_t n = leaving_;
        for (std::size_t at = 0; at != depth_; ++at)
            if (places_[at].load(std::memory_order_acquire) != nullptr) ++n;
        return n;
    }

  private:
    std::size_t take(std::byte** out, std::size_t n, std::size_t& at, std::size_t end) noexcept {
        std::size_t got = 0;
        for (; at != end && got != n; ++at)
            if (places_[at].load(std::memory_order_relaxed) != nullptr)
                if (std::byte* const row = places_[at].exchange(nullptr, std::memory_order_acq_rel)) out[got++] = row;
        return got;
    }

    std::size_t depth_ = 0;
    std::atomic<std::size_t> next_{0};
    std::size_t leaving_ = 0; // rows that drain() has taken out and not put; written with its lock
    std::array<std::atomic<std::byte*>, Rows> places_{};
};
template <> class quarantine_ring<0> {
  public:
    explicit quarantine_ring(std::size_t) noexcept {}
    void set_most(std::size_t) noexcept {}
    static constexpr std::size_t size() noexcept { return 0; }
};

// The fill of a quarantined row: zero where the guard wipes rows, else 0xF5, which is unlikely data.
template <class Guard> inline constexpr unsigned char quarantine_byte = Guard::wipes ? 0x00 : 0xF5;

inline bool is_filled(const std::byte* row, std::size_t bytes, unsigned char with) noexcept {
    const auto* const at = reinterpret_cast<const unsigned char*>(row);
    return bytes == 0 || (at[0] == with && std::memcmp(at, at + 1, bytes - 1) == 0);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
