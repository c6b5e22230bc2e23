// Rows and bytes by row type, in fixed memory; reports fill it.
//
// Invariant: every row that was added is in one entry, or in `others` if there are more types than entries.
// Cost: 1.6 KiB; adding searches the types seen so far. Threads: one at a time.
// Source: HPCC roxiemem's activity memory usage map, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// The rows of one type. Bytes are those of their slots, or of the pages of huge rows.
struct type_usage {
    const row_type* type = nullptr; // null: all types without an entry
    std::size_t rows = 0;
    std::size_t bytes = 0;
};

/// Usage by row type, for up to 64 types.
class type_histogram {
  public:
    static constexpr std::size_t max_types = 64;

    ALLOT_OUTLINE void add(const row_type* type, std::size_t rows, std::size_t bytes) noexcept {
        if (rows == 0) return;
        type_usage* at = &others_;
        if (type != nullptr) {
            if (type == &detail::untyped_of_16) type = &untyped;
            type_usage* const end = types_.data() + n_;
            for (at = types_.data(); at != end && at->type != type;) ++at;
            if (at == end && n_ == types_.size()) at = &others_;
            else if (at == end) types_[n_++].type = type;
        }
        at->rows += rows;
        at->bytes += bytes;
    }
    // Marks the numbers as estimated from a part of the rows.
    void estimated() noexcept { exact_ = false; }
    /// False if the numbers are estimated from a part of the rows.
    bool exact() const noexcept { return exact_; }

    std::size_t rows() const noexcept { return sum(&type_usage::rows); }
    std::size_t bytes() const noexcept { return sum(&type_usage::bytes); }

    /// Calls visit(type_usage) for each type, the one with the most bytes first, and last for the others.
    template <class Visit> void for_each(Visit visit) const {
        std::array<std::uint8_t, max_types> order{};
        for (std::size_t i = 0; i < n_; ++i) { // insertion sort of at most 64
            std::size_t at = i;
            for (; at != 0 && types_[order[at - 1]].bytes < types_[i].bytes; --at) order[at] = order[at - 1];
            order[at] = static_cast<std::uint8_t>(i);
        }
        for (std::size_t i = 0; i < n_; ++i) visit(types_[order[i]]);
        if (others_.rows != 0) visit(others_);
    }

  private:
    std::size_t sum(std::size_t type_usage::* member) const noexcept {
        std::size_t all = others_.*member;
        for (std::size_t i = 0; i < n_; ++i) all += types_[i].*member;
        return all;
    }
    std::array<type_usage, max_types> types_{};
    std::size_t n_ = 0;
    type_usage others_;
    bool exact_ = true;
};

namespace detail {

// How much of a manager is walked; the rest is estimated from it.
struct histogram_budget {
    std::size_t heaps; // of a manager
    std::size_t pages; // of a heap
    std::size_t slots; // of a heap with rows of many types
};

// For reports: all heaps and pages, as usage() counts them; rows of many types exactly up to 64 Ki slots per heap.
inline constexpr histogram_budget histogram_now{SIZE_MAX, SIZE_MAX, 65536};
// For page requests: some microseconds per heap.
inline constexpr histogram_budget histogram_at_peak{256, 64, 512};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
