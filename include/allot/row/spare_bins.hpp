// spare_bins: bins that users who fill theirs make for users who only release: a release may not allocate.
//
//   nothing --a release finds no bin--> wanted --another user fills its bin--> a bin --the next such release--> nothing
//
// Invariant: at most one spare bin per size class. It is registered in its heap, and empty.
// Cost: 1 KiB per manager, 640 bytes per spare bin; one load where a bin is filled. Threads: any; take() never waits.
// Source: none; see decision 039.
#pragma once

#include <allot/config.hpp>
#include <allot/core/size_class.hpp>
#include <allot/row/slot_bin.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Heap> class spare_bins {
  public:
    spare_bins() = default;
    spare_bins(const spare_bins&) = delete;
    spare_bins& operator=(const spare_bins&) = delete;

    // For a release: the spare bin of a class. Null: there is none yet.
    ALLOT_OUTLINE_OF(spare_bins) slot_bin<Heap>* take(std::uint32_t index) noexcept {
        std::uintptr_t is = at_[index].load(std::memory_order_relaxed);
        if (is == wanted) return nullptr;
        const std::uintptr_t next = is == nothing ? wanted : nothing;
        if (!at_[index].compare_exchange_strong(is, next, std::memory_order_acq_rel) || is == nothing) return nullptr;
        return reinterpret_cast<slot_bin<Heap>*>(is);
    }
    // For a user who fills its bin of a class.
    ALLOT_ALWAYS_INLINE void make_if_wanted(std::uint32_t index, Heap& heap, memory_request& asked) noexcept {
        if (ALLOT_UNLIKELY(at_[index].load(std::memory_order_relaxed) == wanted)) make(index, heap, asked);
    }
    // Requires that no other thread uses the manager.
    ALLOT_OUTLINE_OF(spare_bins) void close_all() noexcept {
        for (auto& each : at_)
            if (const std::uintptr_t is = each.exchange(nothing, std::memory_order_acquire); is > wanted)
                slot_bin<Heap>::close(reinterpret_cast<slot_bin<Heap>*>(is));
    }

  private:
    static constexpr std::uintptr_t nothing = 0, wanted = 1; // else the address of a bin

    ALLOT_OUTLINE_OF(spare_bins)
    ALLOT_NOINLINE void make(std::uint32_t index, Heap& heap, memory_request& asked) noexcept {
        slot_bin<Heap>* const made = slot_bin<Heap>::open(heap, asked);
        if (made == nullptr) return;
        std::uintptr_t is = wanted;
        if (!at_[index].compare_exchange_strong(is, reinterpret_cast<std::uintptr_t>(made), std::memory_order_acq_rel))
            slot_bin<Heap>::close(made); // another user made one
    }

    std::array<std::atomic<std::uintptr_t>, size_table::max_classes> at_{};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
