// The row types that a manager has met, by a number that fits a row's header.
//
// Invariant: number 0 is the untyped row; a number, once given, keeps its meaning as long as the manager lives. Types
// with a check have numbers of their own from `checked` on, so that a request need not ask the type.
// Cost: finding the number of a known type is a hash and two loads; 2.4 KiB, and 2 KiB for each 256 types.
// Threads: any; a lock only for a type never seen before.
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
    static constexpr std::size_t max_types = 256 * 256;       // without a check
    static constexpr std::uint32_t first_checked = 256 * 256; // the first of those with one
    static constexpr std::size_t max_checked = 16 * 256;

    type_table() = default;
    type_table(const type_table&) = delete;
    type_table& operator=(const type_table&) = delete;
    ~type_table() {
        for (auto& place : chunks_) delete place.load(std::memory_order_relaxed);
    }

    // The number of a type; `none` when there is no memory for one more, or no row can be aligned so. The type must
    // outlive the table.
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
    // The same for a number that may be none: null then.
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
    bool add(const row_type& type, std::atomic<std::uint32_t>& end, std::size_t most) noexcept {
        const std::uint32_t n = end.load(std::memory_order_relaxed);
        if (n == most) return false;
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
    std::atomic<std::uint32_t> end_{1}; // the number of the next
    std::atomic<std::uint32_t> end_checked_{first_checked};
    spin_lock lock_;
};

} // namespace allot::inline ALLOT_ABI
