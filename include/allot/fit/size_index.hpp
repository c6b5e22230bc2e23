// The free runs of one key: bins by size, found by their bits, and a tree of runs in each bin.
//
//     summary 1 bit per word | words: 1 bit per bin that has runs | roots: a tree per bin
//
// Each size below 64 units has a bin; above, a doubling has 32 bins, so the runs of a bin differ by less than 3 %.
// Every run of a later bin is larger. So the best fit is the first run that fits in the request's own bin, else the
// first run of the next bin that has any: exact, and mostly a read of two words and a small tree.
// Cost: 3.8 KB; finding, inserting, removing: O(log n) of the runs in a bin. Nothing fails. Threads: one at a time.
// Source: bins by bits, Ogasawara 1995 and TLSF 2004 (first fit in a bin); trees in the bins: dlmalloc 2.8, 2004.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/fit/size_tree.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node> class size_index {
    using tree = size_tree<Node>;

  public:
    static constexpr std::uint32_t steps = 5; // log2 of the bins per doubling
    static constexpr std::uint32_t bins = (32 - steps + 1) << steps;

    static constexpr std::uint32_t bin_of(std::uint32_t units) noexcept {
        const std::uint32_t shift = log2_floor(units | std::uint32_t{1} << steps) - steps; // 0 below 64
        return (shift << steps) + (units >> shift);
    }

    void insert(Node* n, std::uint32_t x) noexcept {
        const std::uint32_t bin = bin_of(n[x].units);
        tree::insert(n, roots_[bin], x);
        words_[bin / 64] |= std::uint64_t{1} << bin % 64;
        summary_ |= 1U << bin / 64;
        units_ += n[x].units;
        ++runs_;
    }
    void remove(Node* n, std::uint32_t x) noexcept {
        const std::uint32_t bin = bin_of(n[x].units);
        tree::remove(n, roots_[bin], x);
        units_ -= n[x].units;
        --runs_;
        if (roots_[bin] != 0) return;
        words_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
        if (words_[bin / 64] == 0) summary_ &= ~(1U << bin / 64);
    }
    // Changes size and address of a run. A run that is alone in its bin, as large ones often are, stays in its place.
    void change(Node* n, std::uint32_t x, std::uint32_t units, std::uintptr_t address) noexcept {
        const std::uint32_t bin = bin_of(units);
        const bool stays = bin == bin_of(n[x].units) && tree::is_alone(n, roots_[bin], x);
        if (stays) units_ = units_ + units - n[x].units;
        else remove(n, x);
        n[x].units = units;
        n[x].address = address;
        if (!stays) insert(n, x);
    }

    // The smallest run of at least `units`, of equals the one with the lowest address; 0: none.
    std::uint32_t best(const Node* n, std::uint32_t units) const noexcept {
        const std::uint32_t bin = bin_of(units);
        if (const std::uint32_t x = tree::lower_bound(n, roots_[bin], units); x != 0) return x;
        return first_from(n, bin + 1);
    }
    // The run after x in the order of size and address; 0: none.
    std::uint32_t after(const Node* n, std::uint32_t x) const noexcept {
        if (const std::uint32_t y = tree::after(n, x); y != 0) return y;
        return first_from(n, bin_of(n[x].units) + 1);
    }
    std::uint32_t largest(const Node* n) const noexcept {
        if (summary_ == 0) return 0;
        const auto word = std::bit_width(summary_) - 1u;
        return tree::first_or_last(n, roots_[word * 64 + log2_floor(words_[word])], true);
    }
    std::uint32_t find(const Node* n, std::uint32_t units, std::uintptr_t address) const noexcept {
        return tree::find(n, roots_[bin_of(units)], units, address);
    }

    std::uint64_t units() const noexcept { return units_; }
    std::size_t runs() const noexcept { return runs_; }

    template <class Visit> bool valid(const Node* n, std::size_t& max_depth, Visit visit) const noexcept {
        std::uint64_t units = 0;
        std::size_t runs = 0;
        for (std::uint32_t bin = 0; bin != bins; ++bin) {
            if (((words_[bin / 64] >> bin % 64 & 1) != 0) != (roots_[bin] != 0)) return false;
            if (((summary_ >> bin / 64 & 1) != 0) != (words_[bin / 64] != 0)) return false;
            const bool ok = tree::valid(n, roots_[bin], max_depth, [&](std::uint32_t x) {
                units += n[x].units;
                ++runs;
                return bin_of(n[x].units) == bin && visit(x);
            });
            if (!ok) return false;
        }
        return units == units_ && runs == runs_;
    }

  private:
    std::uint32_t first_from(const Node* n, std::uint32_t bin) const noexcept {
        std::uint32_t word = bin / 64;
        if (word == words) return 0;
        std::uint64_t some = words_[word] & ~std::uint64_t{0} << bin % 64;
        if (some == 0) {
            const std::uint32_t later = summary_ & ~std::uint32_t{0} << word & ~(1U << word);
            if (later == 0) return 0;
            word = static_cast<std::uint32_t>(std::countr_zero(later));
            some = words_[word];
        }
        return tree::first_or_last(n, roots_[word * 64 + static_cast<std::uint32_t>(std::countr_zero(some))], false);
    }

    static constexpr std::uint32_t words = bins / 64;
    static_assert(bins % 64 == 0 && words < 32);

    std::uint32_t summary_ = 0;
    std::uint64_t words_[words]{};
    std::uint32_t roots_[bins]{};
    std::uint64_t units_ = 0;
    std::size_t runs_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
