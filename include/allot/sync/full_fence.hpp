// full_fence: what this thread wrote before is seen before what it reads behind, by everybody.
//
// For "I write mine, then look at yours" on both sides, where a release store and an acquire load would pass each
// other. Cost: as one locked operation. Threads: any. Source: Dekker's problem, Dijkstra 1965.
#pragma once

#include <allot/config.hpp>

#include <atomic>

namespace allot::inline ALLOT_ABI {

inline void full_fence() noexcept {
#if ALLOT_TSAN
    static std::atomic<int> word{0}; // ThreadSanitizer knows no fences
    word.fetch_add(0, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

} // namespace allot::inline ALLOT_ABI
