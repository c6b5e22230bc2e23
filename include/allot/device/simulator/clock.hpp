// Vector clocks: which operations happened before which. Actor 0 is the host, actor n + 1 is stream n.
//
// An operation has an epoch, the count of its actor. It happened before all whose clock has that epoch or a later one.
// A wait joins clocks. A clock has an entry for each stream ever created.
// Cost: join and copy O(streams); a query O(1). Threads: one at a time.
// Source: Mattern (1989); queries by epoch: FastTrack, Flanagan and Freund (2009).
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

using actor = std::uint32_t;
using epoch = std::uint64_t;
inline constexpr actor host = 0;

class vector_clock {
  public:
    epoch operator[](actor a) const noexcept { return a < at_.size() ? at_[a] : 0; }
    bool knows(actor a, epoch when) const noexcept { return (*this)[a] >= when; }

    epoch tick(actor a) {
        if (a >= at_.size()) at_.resize(a + std::size_t{1});
        return ++at_[a];
    }
    // True if this clock has changed.
    bool join(const vector_clock& other) {
        const std::size_t n = other.at_.size();
        if (at_.size() < n) at_.resize(n);
        epoch more = 0;
        for (std::size_t i = 0; i != n; ++i) {
            const epoch seen = at_[i] > other.at_[i] ? at_[i] : other.at_[i];
            more |= seen ^ at_[i];
            at_[i] = seen;
        }
        return more != 0;
    }
    bool knows(const vector_clock& other) const noexcept {
        for (std::size_t i = 0; i != other.at_.size(); ++i)
            if (!knows(static_cast<actor>(i), other.at_[i])) return false;
        return true;
    }
    void clear() noexcept { at_.clear(); }

  private:
    std::vector<epoch> at_;
};

// Used as a clock where order is not checked.
struct knows_all {
    static constexpr bool knows(actor, epoch) noexcept { return true; }
};

// One use of memory. `what` is a literal, or a text that outlives the simulator.
struct use {
    const char* what = "";
    epoch when = 0;
    actor who = host;
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
