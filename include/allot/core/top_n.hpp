// The largest of the values that are added, in order, for reports.
//
// Invariant: the N largest are kept, the largest first; of equal ones the first is first. Allocates nothing.
// Complexity: O(N) per value. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class T, std::size_t N> class top_n {
  public:
    // `weight`: of a value, what the values are compared by.
    template <class Weight> void add(const T& value, Weight weight) noexcept {
        ++all_;
        std::size_t at = n_ < N ? n_++ : N;
        for (; at > 0 && weight(kept_[at - 1]) < weight(value); --at)
            if (at < N) kept_[at] = kept_[at - 1];
        if (at < N) kept_[at] = value;
    }
    bool empty() const noexcept { return n_ == 0; }
    const T* begin() const noexcept { return kept_; }
    const T* end() const noexcept { return kept_ + n_; }
    // "    and 3 more heaps", where some are not kept.
    void write_others(text_writer& out, const char* what) const noexcept {
        if (all_ > n_) out.put("    and ").number(all_ - n_).put(" more ").put(what).newline();
    }

  private:
    T kept_[N]{};
    std::size_t n_ = 0, all_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
