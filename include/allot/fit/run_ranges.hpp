// The address ranges of a fit, sorted by address.
//
// Invariant: ranges do not overlap; adjacent ranges of one segment are merged. A range is the ring of runs of its edge.
// Cost: 24 bytes per range; O(log n) to find one; adding and removing moves those after it. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/fit/run_array.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct run_range {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::uint32_t edge; // number of the edge's node
    std::uint32_t segment;
};

template <class Memory> class run_ranges {
  public:
    void free(Memory& memory) noexcept { all_.free(memory); }
    bool prepare(Memory& memory, std::size_t more) noexcept { return all_.reserve(memory, count_ + more); }

    // The index of the first range that begins above the address.
    std::size_t upper_bound(std::uintptr_t address) const noexcept {
        std::size_t low = 0;
        for (std::size_t high = count_; low != high;) {
            const std::size_t middle = (low + high) / 2;
            if (all_[middle].begin <= address) low = middle + 1;
            else high = middle;
        }
        return low;
    }
    void insert(std::size_t at, const run_range& range) noexcept {
        std::memmove(all_.data() + at + 1, all_.data() + at, (count_ - at) * sizeof range);
        all_[at] = range;
        ++count_;
    }
    void remove(std::size_t at) noexcept {
        --count_;
        std::memmove(all_.data() + at, all_.data() + at + 1, (count_ - at) * sizeof(run_range));
    }
    run_range& operator[](std::size_t i) const noexcept { return all_[i]; }
    std::size_t size() const noexcept { return count_; }
    std::size_t bytes() const noexcept { return all_.bytes(); }

  private:
    run_array<run_range, Memory> all_;
    std::size_t count_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
