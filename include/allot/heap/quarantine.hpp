// The quarantine of a heap: a ring of released rows whose slots are not used again yet, and the bytes they are filled
// with, so that a write after release is found.
//
// Invariant: a row leaves when `depth` more rows have come, or by drain().
// Cost: 8 bytes per row of its depth and 16 per heap; nothing under guards without a quarantine. One fetch_add and one
// exchange per released row. Threads: any; no call waits.
// Source: AddressSanitizer's quarantine, Serebryany 2012.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace allot::inline ALLOT_ABI {

template <std::size_t Rows> class quarantine_ring {
  public:
    // Depth: the smaller of `Rows` and `most`; neither is 0.
    explicit quarantine_ring(std::size_t most) noexcept : depth_(most < Rows ? most : Rows) {}

    // Puts `row` in and returns the row it displaces; null while the ring fills.
    std::byte* exchange(std::byte* row) noexcept {
        const std::size_t at = next_.fetch_add(1, std::memory_order_relaxed) % depth_;
        return places_[at].exchange(row, std::memory_order_acq_rel);
    }
    // Takes every row out and passes it to `each`.
    template <class Each> void drain(Each each) noexcept {
        for (auto& place : places_)
            if (place.load(std::memory_order_relaxed) != nullptr)
                if (std::byte* const row = place.exchange(nullptr, std::memory_order_acq_rel)) each(row);
    }
    template <class Each> void for_each(Each each) const noexcept {
        for (const auto& place : places_)
            if (std::byte* const row = place.load(std::memory_order_acquire)) each(row);
    }
    std::size_t size() const noexcept {
        std::size_t n = 0;
        for_each([&](std::byte*) { ++n; });
        return n;
    }

  private:
    const std::size_t depth_;
    std::atomic<std::size_t> next_{0};
    std::array<std::atomic<std::byte*>, Rows> places_{};
};
template <> class quarantine_ring<0> {
  public:
    explicit quarantine_ring(std::size_t) noexcept {}
    static constexpr std::size_t size() noexcept { return 0; }
};

// The fill of a quarantined row: zero where the guard wipes rows, else 0xF5, which is unlikely data.
template <class Guard> inline constexpr unsigned char quarantine_byte = Guard::wipes ? 0x00 : 0xF5;

inline bool is_filled(const std::byte* row, std::size_t bytes, unsigned char with) noexcept {
    const auto* const at = reinterpret_cast<const unsigned char*>(row);
    return bytes == 0 || (at[0] == with && std::memcmp(at, at + 1, bytes - 1) == 0);
}

} // namespace allot::inline ALLOT_ABI
