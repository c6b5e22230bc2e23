// Rows and bytes by row type: the tally that reports fill, of fixed size.
//
// Invariant: every row that was added is in one entry, or in `others` when there are more types than entries.
// Cost: 1.6 KiB; adding is a search among the types seen so far. Threads: one at a time.
// Source: HPCC roxiemem's activity memory usage map, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

// What rows of one type use. Bytes are those of their slots, or of the pages of huge rows.
struct type_usage {
    const row_type* type = nullptr; // null: types that found no entry of their own
    std::size_t rows = 0;
    std::size_t bytes = 0;
};

class type_histogram {
  public:
    static constexpr std::size_t most_types = 64;

    void add(const row_type* type, std::size_t rows, std::size_t bytes) noexcept {
        if (rows == 0) return;
        type_usage* at = &others_;
        if (type != nullptr) {
            type_usage* const end = types_.data() + n_;
            for (at = types_.data(); at != end && at->type != type;) ++at;
            if (at == end && n_ == types_.size()) at = &others_;
            else if (at == end) types_[n_++].type = type;
        }
        at->rows += rows;
        at->bytes += bytes;
    }
    // It was estimated from a part of the rows.
    void estimated() noexcept { exact_ = false; }
    bool exact() const noexcept { return exact_; }

    std::size_t rows() const noexcept { return sum(&type_usage::rows); }
    std::size_t bytes() const noexcept { return sum(&type_usage::bytes); }

    // Visits the types, those with the most bytes first, and at last the others.
    template <class Visit> void for_each(Visit visit) const {
        std::array<std::uint8_t, most_types> order{};
        for (std::size_t i = 0; i < n_; ++i) { // sorted by insertion: 64 at most
            std::size_t at = i;
            for (; at != 0 && types_[order[at - 1]].bytes < types_[i].bytes; --at) order[at] = order[at - 1];
            order[at] = static_cast<std::uint8_t>(i);
        }
        for (std::size_t i = 0; i < n_; ++i) visit(types_[order[i]]);
        if (others_.rows != 0) visit(others_);
    }

  private:
    std::size_t sum(std::size_t type_usage::* figure) const noexcept {
        std::size_t all = others_.*figure;
        for (std::size_t i = 0; i < n_; ++i) all += types_[i].*figure;
        return all;
    }
    std::array<type_usage, most_types> types_{};
    std::size_t n_ = 0;
    type_usage others_;
    bool exact_ = true;
};

// How much of a heap is looked at: what lies beyond is estimated from it.
struct histogram_budget {
    std::size_t heaps; // of a manager
    std::size_t pages; // of a heap
    std::size_t slots; // of a heap with rows of many types
};

// For a report that somebody asked for: pages as usage() counts them, rows of many types exact up to 64 Ki of a heap.
inline constexpr histogram_budget histogram_now{SIZE_MAX, SIZE_MAX, 65536};
// At a page request: some microseconds a heap.
inline constexpr histogram_budget histogram_at_peak{256, 64, 512};

} // namespace allot::inline ALLOT_ABI
