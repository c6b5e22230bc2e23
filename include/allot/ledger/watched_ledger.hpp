// A ledger that also records its charges, as the set's `watch` says.
//
// Invariant and threads: the ledger's. Cost: the sum of both; an empty object if neither has a state.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Ledger, class Counters> class watched_ledger : public Ledger {
  public:
    using Ledger::Ledger;

    bool try_charge(std::size_t bytes, detail::memory_request& asked) noexcept {
        const bool charged = Ledger::try_charge(bytes, asked);
        if (!charged) counters_.refused(bytes);
        return charged;
    }
    ALLOT_ALWAYS_INLINE void confirm(std::size_t bytes) noexcept {
        Ledger::confirm(bytes);
        counters_.charged(bytes);
    }
    void refund(std::size_t bytes) noexcept {
        Ledger::refund(bytes);
        counters_.refunded(bytes);
    }
    // Calls on_refunded() once others can charge the bytes, before listeners are called.
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        Ledger::refund(bytes, on_refunded);
        counters_.refunded(bytes);
    }
    // Call once the pages are in use, with no heap lock held; lets the peak recorder run.
    void settled() noexcept { counters_.settled(); }
    auto charges() const noexcept
        requires requires(const Counters& c) { c.stats(); }
    {
        return counters_.stats();
    }
    Counters& recorder() noexcept { return counters_; }
    const Counters& recorder() const noexcept { return counters_; }

  private:
    ALLOT_NO_UNIQUE_ADDRESS Counters counters_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
