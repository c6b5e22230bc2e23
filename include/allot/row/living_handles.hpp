// Counts the local handles of a manager, so that one that outlives the manager is reported at the manager's end.
//
// Cost: checked builds only; no code and no bytes otherwise. Threads: any.
#pragma once

#include <allot/config.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

#if ALLOT_CHECKED
class living_handles {
  public:
    bool any() const noexcept { return n_.load(std::memory_order_relaxed) != 0; }

    // A member of a handle: counts it from its construction to its end.
    class count {
      public:
        count() noexcept = default; // counts nothing
        explicit count(living_handles& all) noexcept : n_(&all.n_) { n_->fetch_add(1, std::memory_order_relaxed); }
        count(const count&) = delete;
        count& operator=(const count&) = delete;
        ~count() {
            if (n_ != nullptr) n_->fetch_sub(1, std::memory_order_relaxed);
        }

      private:
        std::atomic<std::size_t>* n_ = nullptr;
    };

  private:
    std::atomic<std::size_t> n_{0};
};
#else
class living_handles {
  public:
    static constexpr bool any() noexcept { return false; }

    class count {
      public:
        constexpr count() noexcept = default;
        explicit constexpr count(living_handles&) noexcept {}
    };
};
#endif

} // namespace detail
} // namespace allot::inline ALLOT_ABI
