// Which parts of an array were ever used: the others hold what they began with, and need not be looked at.
//
// The arrays are those of an arena's address space, of which little is used: a walk then costs by what is used.
// Invariant: a part is noted before what it holds is not as at the start; it stays noted. Cost: a byte per part;
// noting a part again is a load. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <std::size_t Parts> class used_parts {
  public:
    // `items`: how many the array has.
    void start(std::size_t items) noexcept {
        items_ = items;
        while (items >> shift_ >= Parts) ++shift_;
    }
    ALLOT_ALWAYS_INLINE void note(std::size_t item) noexcept {
        auto& part = used_[item >> shift_];
        if (ALLOT_UNLIKELY(part.load(std::memory_order_relaxed) == 0)) part.store(1, std::memory_order_relaxed);
    }
    void note(std::size_t first, std::size_t n) noexcept {
        for (std::size_t item = first; item < first + n; item = ((item >> shift_) + 1) << shift_) note(item);
    }
    // Calls visit(first item, end, is_used) for the parts, from an item on, in order, until it returns false.
    template <class Visit> void visit(std::size_t from, const Visit& visit) const {
        while (from < items_) {
            const std::size_t part = from >> shift_, end = min((part + 1) << shift_, items_);
            if (!visit(from, end, used_[part].load(std::memory_order_relaxed) != 0)) return;
            from = end;
        }
    }

  private:
    std::array<std::atomic<std::uint8_t>, Parts> used_{};
    std::size_t items_ = 0;
    unsigned shift_ = 0; // log2 of the items of a part
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
