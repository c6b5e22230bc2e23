// What a heap keeps and does for its guard; empty, and without code, for guard::none.
//
//   | header | row: what it may use ............ | canary 4 | header of the next
//
// A canary is written when its slot is first used, and stays: only damage changes it, so that starting a row costs
// nothing. Its value is the low half of the row's distance from the arena's start, which a handle has at hand when it
// releases, in a code of the heap's secret.
// Cost: 4 bytes a page and heap for canaries, 16 a page for coded links, 8 a row that waits, 250 a
// heap for what was found. Threads: any.
// Source: StackGuard, Cowan 1998; AddressSanitizer's quarantine, Serebryany 2012.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/guard.hpp>
#include <allot/core/error.hpp>
#include <allot/core/row_type.hpp>
#include <allot/slots/geometry.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

// ---- canaries ---------------------------------------------------------------------------------------------------

template <class Guard> inline constexpr bool has_canary = Guard::row_bytes != 0;

struct no_canary {};
struct canary_secret {
    std::uint32_t secret = 0;

    // The canary lies in the slot's last 4 bytes; `room` is what lies behind the row's start in its slot.
    ALLOT_ALWAYS_INLINE bool intact(const std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        std::uint32_t found;
        std::memcpy(&found, row + room - sizeof found, sizeof found);
        return found == (secret ^ static_cast<std::uint32_t>(in_arena));
    }
    void write(std::byte* row, std::size_t room, std::size_t in_arena) const noexcept {
        const std::uint32_t word = secret ^ static_cast<std::uint32_t>(in_arena);
        std::memcpy(row + room - sizeof word, &word, sizeof word);
    }
};
// In the page's header and in the heap.
template <class Guard> using page_guard = std::conditional_t<has_canary<Guard>, canary_secret, no_canary>;

// ---- coded links ------------------------------------------------------------------------------------------------

template <class Slots, class Guard>
inline constexpr bool encodes_links = Guard::encodes && requires { typename Slots::in_page_encoded; };

template <class Slots, bool Encoded> struct free_slots_of {
    using type = typename Slots::in_page;
};
template <class Slots> struct free_slots_of<Slots, true> {
    using type = typename Slots::in_page_encoded;
};
// The free slots of a page, as the guard wants them written.
template <class Slots, class Guard> using free_slots = typename free_slots_of<Slots, encodes_links<Slots, Guard>>::type;

// ---- rows that wait ---------------------------------------------------------------------------------------------

// A ring: each row that comes pushes out the one that came `depth` rows before. Any thread, without waiting.
template <std::size_t Rows> class waiting_rows {
  public:
    explicit waiting_rows(std::size_t most) noexcept : depth_(most < Rows ? most : Rows) {}

    // Null while the ring fills.
    std::byte* exchange(std::byte* row) noexcept {
        const std::size_t at = next_.fetch_add(1, std::memory_order_relaxed) % depth_;
        return places_[at].exchange(row, std::memory_order_acq_rel);
    }
    // Takes out every row, and hands it to `each`.
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
template <> class waiting_rows<0> {
  public:
    explicit waiting_rows(std::size_t) noexcept {}
    static constexpr std::size_t size() noexcept { return 0; }
};

// ---- what was found -----------------------------------------------------------------------------------------------

// Damage that was found where nobody may be told, under a lock: kept until somebody may. The first 8.
class damage_notes {
  public:
    void add(misuse kind, const std::byte* row, const row_type* type) noexcept {
        const detail::lock_guard hold(lock_);
        if (n_ < notes_.size()) notes_[n_++] = {kind, row, type};
        any_.store(true, std::memory_order_relaxed);
    }
    bool empty() const noexcept { return !any_.load(std::memory_order_relaxed); }
    // Hands each to `report(kind, type, row)`, without a lock.
    template <class Report> void take(Report report) noexcept {
        std::array<note, 8> found;
        std::size_t n = 0;
        {
            const detail::lock_guard hold(lock_);
            found = notes_;
            n = std::exchange(n_, 0);
            any_.store(false, std::memory_order_relaxed);
        }
        for (std::size_t i = 0; i < n; ++i) report(found[i].kind, found[i].type, found[i].row);
    }

  private:
    struct note {
        misuse kind = {};
        const std::byte* row = nullptr;
        const row_type* type = nullptr;
    };
    std::array<note, 8> notes_;
    std::size_t n_ = 0;
    std::atomic<bool> any_{false};
    spin_lock lock_;
};
struct no_notes {};

// What a free row is filled with while it waits: zeroes where rows are wiped, else a byte that is no likely datum.
template <class Guard> inline constexpr unsigned char waiting_byte = Guard::wipes ? 0x00 : 0xF5;

inline bool is_filled(const std::byte* row, std::size_t bytes, unsigned char with) noexcept {
    const auto* const at = reinterpret_cast<const unsigned char*>(row);
    return bytes == 0 || (at[0] == with && std::memcmp(at, at + 1, bytes - 1) == 0);
}

} // namespace allot::inline ALLOT_ABI
