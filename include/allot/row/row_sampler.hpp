// Adds every n-th row to the trace: row_sampler for one thread's handle, shared_row_sampler for the manager.
//
// Cost: one increment per row (shared: an atomic one); no byte and no instruction where Nth is 0. Threads: its owner's.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <std::size_t Nth> class row_sampler {
  public:
    template <class Core>
    ALLOT_ALWAYS_INLINE void allocated(Core& core, std::size_t bytes, const row_type& type) noexcept {
        if (ALLOT_LIKELY(++n_ != Nth)) return;
        n_ = 0;
        core.sampled(bytes, type);
    }

  private:
    std::size_t n_ = 0;
};

template <std::size_t Nth> class shared_row_sampler {
  public:
    template <class Core>
    ALLOT_ALWAYS_INLINE void allocated(Core& core, std::size_t bytes, const row_type& type) noexcept {
        if (ALLOT_UNLIKELY((n_.fetch_add(1, std::memory_order_relaxed) + 1) % Nth == 0)) core.sampled(bytes, type);
    }

  private:
    std::atomic<std::size_t> n_{0};
};

template <> class row_sampler<0> {
  public:
    template <class Core> ALLOT_ALWAYS_INLINE void allocated(Core&, std::size_t, const row_type&) const noexcept {}
};
template <> class shared_row_sampler<0> : public row_sampler<0> {};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
