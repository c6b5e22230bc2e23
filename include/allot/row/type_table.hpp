// type_table: the row types that a manager has used, each with a number that fits a row's header.
//
// Invariant: numbers 0 and 1 are plain bytes, aligned to 8 and 16; a type keeps its number as long as the table exists. Numbers from
// first_checked on are those of types with a check, so that a request need not read the type.
// Cost: a hash and two loads for a known type; 2.6 KiB, 2 KiB per 256 types, and up to 16 bytes per type in the index.
// Threads: any; a spin lock for a type that is new, or that left the cache of 64 recent types.
// Source: HPCC roxiemem's allocator id and cache, 2009; the index: open addressing, Peterson 1957.
#pragma once

#include <allot/config.hpp>
#include <allot/core/hash.hpp>
#include <allot/core/row_type.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class type_table {
  public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static constexpr std::uint32_t first_named = 2;
    static constexpr std::size_t max_types = 256 * 256;       // of types without a check
    static constexpr std::uint32_t first_checked = 256 * 256; // number of the first type with a check
    static constexpr std::size_t max_checked = 16 * 256;

    type_table() = default;
    type_table(const type_table&) = delete;
    type_table& operator=(const type_table&) = delete;
    ~type_table() {
        for (auto& place : chunks_) delete place.load(std::memory_order_relaxed);
        if (index_ != few_.data()) delete[] index_;
    }

    // Whether rows may have this alignment.
    static bool is_alignment(const row_type& type) noexcept {
        return type.align <= row_type::max_align && (type.align & (type.align - 1)) == 0;
    }
    // Returns the number of a type; `none` if the table is full or out of memory, or if type.align is not 0 or a power
    // of two up to 4096. The type must outlive the table.
    ALLOT_ALWAYS_INLINE std::uint32_t number(const row_type& type) noexcept {
        const std::uint32_t recent = recent_number(type);
        return ALLOT_LIKELY(recent != none) ? recent : find_or_add(type);
    }
    // The same without a call; `none` also for a type that is not among the recent ones.
    ALLOT_ALWAYS_INLINE std::uint32_t recent_number(const row_type& type) const noexcept {
        if (&type == &untyped) return 0;
        if (&type == &detail::untyped_of_16) return 1;
        const std::uint32_t guess = recent_[hash(type)].load(std::memory_order_acquire);
        return ALLOT_LIKELY(guess != 0 && (*this)[guess] == &type) ? guess : none;
    }
    const row_type* operator[](std::uint32_t number) const noexcept {
        if (number < first_named) return number == 0 ? &untyped : &detail::untyped_of_16;
        return (*chunks_[number / 256].load(std::memory_order_acquire))[number % 256];
    }
    // The same for a number that may not have been assigned: then null.
    const row_type* find(std::uint32_t number) const noexcept {
        const std::uint32_t end = (number < first_checked ? end_ : end_checked_).load(std::memory_order_acquire);
        return number < end ? (*this)[number] : nullptr;
    }

    // Why number(type) returns `none`.
    ALLOT_COLD void refuse_none(detail::memory_request& asked, const row_type& type) const noexcept {
        const auto note = [&asked](charge_outcome why, const char* what) { asked.refuse(why, asked.bytes, what); };
        if (!is_alignment(type)) return note(charge_outcome::misused, "the alignment is no power of two up to 4096");
        const bool is_checked = type.check != row_check::none;
        if (is_checked && end_checked_.load(std::memory_order_relaxed) == first_checked + max_checked)
            return note(charge_outcome::misused, "the manager has 4,096 row types with a check, the maximum");
        if (!is_checked && end_.load(std::memory_order_relaxed) == max_types)
            return note(charge_outcome::misused, "the manager has 65,534 row types, the maximum");
        note(charge_outcome::no_memory, "for the number of its row type");
    }

  private:
    using chunk = std::array<const row_type*, 256>;
    static_assert(max_types == 65'536 && max_checked == 4'096, "refuse_none() names them");

    static std::size_t hash(const row_type& type) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(&type);
        return (at >> 4 ^ at >> 10) % 64;
    }
    ALLOT_OUTLINE std::uint32_t find_or_add(const row_type& type) noexcept {
        if (!is_alignment(type)) return none;
        const detail::lock_guard hold(lock_);
        std::uint32_t n = *find_entry(type);
        if (n == 0) {
            n = type.check != row_check::none ? add(type, end_checked_, first_checked + max_checked)
                                              : add(type, end_, max_types);
            if (n == none) return none;
        }
        recent_[hash(type)].store(n, std::memory_order_release);
        return n;
    }
    // Requires lock_. Gives a type that is not in the table the next number, below `stop`; find() sees it once `end` is
    // stored. Returns `none` if no number or no memory is left.
    std::uint32_t add(const row_type& type, std::atomic<std::uint32_t>& end, std::size_t stop) noexcept {
        const std::uint32_t n = end.load(std::memory_order_relaxed);
        if (n == stop || !has_room_in_index()) return none;
        auto& place = chunks_[n / 256];
        if (place.load(std::memory_order_relaxed) == nullptr) {
            auto* const made = new (std::nothrow) chunk{};
            if (made == nullptr) return none;
            place.store(made, std::memory_order_release);
        }
        (*place.load(std::memory_order_relaxed))[n % 256] = &type;
        *find_entry(type) = n;
        ++indexed_;
        end.store(n + 1, std::memory_order_release);
        return n;
    }
    // Requires lock_. The type's entry in the index: its number, or 0, where it is to be added.
    std::uint32_t* find_entry(const row_type& type) noexcept {
        std::size_t at = multiplicative_hash(reinterpret_cast<std::uintptr_t>(&type), 64 - index_bits_);
        while (index_[at] != 0 && (*this)[index_[at]] != &type) at = (at + 1) % (std::size_t{1} << index_bits_);
        return &index_[at];
    }
    // Requires lock_. Keeps the index at most half full.
    bool has_room_in_index() noexcept {
        const std::size_t size = std::size_t{1} << index_bits_;
        if (indexed_ < size / 2) return true;
        auto* const more = new (std::nothrow) std::uint32_t[2 * size]{};
        if (more == nullptr) return false;
        std::uint32_t* const old = std::exchange(index_, more);
        ++index_bits_;
        for (std::size_t i = 0; i != size; ++i)
            if (old[i] != 0) *find_entry(*(*this)[old[i]]) = old[i];
        if (old != few_.data()) delete[] old;
        return true;
    }

    std::array<std::atomic<std::uint32_t>, 64> recent_{};
    std::array<std::atomic<chunk*>, 256 + max_checked / 256> chunks_{};
    std::atomic<std::uint32_t> end_{first_named}; // number of the next type
    std::atomic<std::uint32_t> end_checked_{first_checked};
    spin_lock lock_; // the members below
    std::array<std::uint32_t, 32> few_{};
    std::uint32_t* index_ = few_.data(); // numbers by the hash of the type's address; 0: free
    unsigned index_bits_ = 5;            // log2 of its size
    std::size_t indexed_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
