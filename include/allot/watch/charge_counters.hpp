// What watch::counters records of a manager's dealings with its limit: how often, how much, how often in vain.
//
// Cost: one relaxed addition or two a page; nothing on the path of a row, no byte and no code under watch::none.
// Threads: any. Figures are for people: two of them read one after the other may not fit each other.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/watch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

// Since the manager was made.
struct charge_stats {
    std::uint64_t charges = 0;  // requests for pages that were met
    std::uint64_t refused = 0;  // that the limit forbade; most are tried again after empty pages were collected
    std::uint64_t charged = 0;  // bytes
    std::uint64_t refunded = 0; // bytes
};

class charge_counters {
  public:
    void charged(std::size_t bytes) noexcept {
        charges_.fetch_add(1, std::memory_order_relaxed);
        charged_.fetch_add(bytes, std::memory_order_relaxed);
    }
    void refunded(std::size_t bytes) noexcept { refunded_.fetch_add(bytes, std::memory_order_relaxed); }
    void settled() const noexcept {}
    void refused(std::size_t) noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }
    charge_stats stats() const noexcept {
        return {charges_.load(), refused_.load(), charged_.load(), refunded_.load()};
    }

  private:
    std::atomic<std::uint64_t> charges_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> charged_{0};
    std::atomic<std::uint64_t> refunded_{0};
};

// Nothing is recorded.
class no_charge_counters {
  public:
    void charged(std::size_t) const noexcept {}
    void settled() const noexcept {}
    void refunded(std::size_t) const noexcept {}
    void refused(std::size_t) const noexcept {}
};

static_assert(std::is_empty_v<no_charge_counters>);

} // namespace allot::inline ALLOT_ABI
