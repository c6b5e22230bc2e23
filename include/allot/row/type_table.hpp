// type_table: the row types that a manager has used, each with a number that fits a row's header.
//
// Invariant: number 0 is `untyped`; a type keeps its number as long as the table exists. Numbers from first_checked on
// are those of types with a check, so that a request need not read the type.
// Cost: a hash and two loads for a known type; 2.4 KiB, and 2 KiB per 256 types. Threads: any; a spin lock for a type
// that is new, or that left the cache of 64 recent types.
// Source: HPCC roxiemem's allocator id and cache, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {

class type_table {
  public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static constexpr std::size_t max_types = 256 * 256;       // of types without a check
    static constexpr std::uint32_t first_checked = 256 * 256; // number of the first type with a check
    static constexpr std::size_t max_checked = 16 * 256;

    type_table() = default;
    type_table(const type_table&) = delete;
    type_table& operator=(const type_table&) = delete;
    ~type_table() {
        for (auto& place : chunks_) delete place.load(std::memory_order_relaxed);
    }

    // Returns the number of a type; `none` if the table is full or out of memory, or if type.align is not 0 or a power
    // of two up to 64. The type must outlive the table.
    ALLOT_ALWAYS_INLINE std::uint32_t number(const row_type& type) noexcept {
        if (&type == &untyped) return 0;
        const std::uint32_t guess = recent_[hash(type)].load(std::memory_order_acquire);
        if (ALLOT_LIKELY(guess != 0 && (*this)[guess] == &type)) return guess;
        return find_or_add(type);
    }
    const row_type* operator[](std::uint32_t number) const noexcept {
        if (number == 0) return &untyped;
        return (*chunks_[number / 256].load(std::memory_order_acquire))[number % 256];
    }
    // The same for a number that may not have been assigned: then null.
    const row_type* find(std::uint32_t number) const noexcept {
        const std::uint32_t end = (number < first_checked ? end_ : end_checked_).load(std::memory_order_acquire);
        return number < end ? (*this)[number] : nullptr;
    }

  private:
    using chunk = std::array<const row_type*, 256>;

    static std::size_t hash(const row_type& type) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(&type);
        return (at >> 4 ^ at >> 10) % 64;
    }
    ALLOT_NOINLINE std::uint32_t find_or_add(const row_type& type) noexcept {
        if (type.align > 64 || (type.align & (type.align - 1)) != 0) return none;
        const detail::lock_guard hold(lock_);
        const bool is_checked = type.check != row_check::none;
        std::uint32_t n = is_checked ? first_checked : 1;
        std::atomic<std::uint32_t>& end = is_checked ? end_checked_ : end_;
        while (n < end.load(std::memory_order_relaxed) && (*this)[n] != &type) ++n;
        if (n == end.load(std::memory_order_relaxed) &&
            !add(type, end, is_checked ? first_checked + max_checked : max_types))
            return none;
        recent_[hash(type)].store(n, std::memory_order_release);
        return n;
    }
    // Requires lock_. Gives a type that is not in the table the next number, below `stop`; find() sees it once `end` is
    // stored. False: no number or no memory is left.
    bool add(const row_type& type, std::atomic<std::uint32_t>& end, std::size_t stop) noexcept {
        const std::uint32_t n = end.load(std::memory_order_relaxed);
        if (n == stop) return false;
        auto& place = chunks_[n / 256];
        if (place.load(std::memory_order_relaxed) == nullptr) {
            auto* const made = new (std::nothrow) chunk{};
            if (made == nullptr) return false;
            place.store(made, std::memory_order_release);
        }
        (*place.load(std::memory_order_relaxed))[n % 256] = &type;
        end.store(n + 1, std::memory_order_release);
        return true;
    }

    std::array<std::atomic<std::uint32_t>, 64> recent_{};
    std::array<std::atomic<chunk*>, 256 + max_checked / 256> chunks_{};
    std::atomic<std::uint32_t> end_{1}; // number of the next type
    std::atomic<std::uint32_t> end_checked_{first_checked};
    spin_lock lock_;
};

} // namespace allot::inline ALLOT_ABI
