// Memory of the bounds. Never freed: the process ends.
#pragma once

#include <harness/measure.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace bench {

// Touched before it is measured.
class touched_range {
  public:
    explicit touched_range(std::size_t bytes)
        : begin_(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
        if (begin_ == nullptr) std::abort();
        std::memset(begin_, 1, bytes);
        end_ = begin_ + bytes;
    }
    char* begin() const noexcept { return begin_; }
    char* end() const noexcept { return end_; }

  private:
    char* begin_;
    char* end_;
};

// A thread carves rows from fresh memory, 1 MiB at a time, when its list is empty.
class carver {
  public:
    BENCH_NOINLINE char* carve(std::size_t stride) noexcept {
        if (static_cast<std::size_t>(end_ - next_) < stride) {
            const std::size_t bytes = std::max(std::size_t{1} << 20, stride);
            next_ = static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
            if (next_ == nullptr) std::abort();
            end_ = next_ + bytes;
        }
        char* const row = next_;
        next_ += stride;
        return row;
    }

  private:
    char* next_ = nullptr;
    char* end_ = nullptr;
};

} // namespace bench
