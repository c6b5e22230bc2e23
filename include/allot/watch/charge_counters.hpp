// watch::counters: counts the page requests of a manager, their bytes, and the requests that its limit refused.
//
// Cost: one or two relaxed additions per page, nothing per row; no byte and no code under watch::none. Threads: any; two
// numbers that are read one after the other may not match.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/watch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Statistics since the manager was constructed.
struct charge_stats {
    std::uint64_t charges = 0; // page requests that succeeded
    std::uint64_t refused =
        0; // page requests that the limit refused; most are retried after empty pages were collected
    std::uint64_t charged = 0;  // bytes
    std::uint64_t refunded = 0; // bytes
};

namespace detail {

class charge_counters {
  public:
    void charged(std::size_t bytes) noexcept {
        charges_.fetch_add(1, std::memory_order_relaxed);
        charged_.fetch_add(bytes, std::memory_order_relaxed);
    }
    void refunded(std::size_t bytes) noexcept { refunded_.fetch_add(bytes, std::memory_order_relaxed); }
    void settled() const noexcept {} // see peak_recorder
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

// watch::none: records nothing.
class no_charge_counters {
  public:
    void charged(std::size_t) const noexcept {}
    void settled() const noexcept {}
    void refunded(std::size_t) const noexcept {}
    void refused(std::size_t) const noexcept {}
};

} // namespace detail

static_assert(std::is_empty_v<detail::no_charge_counters>);

} // namespace allot::inline ALLOT_ABI
