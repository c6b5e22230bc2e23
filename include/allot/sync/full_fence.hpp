// full_fence: orders this thread's earlier writes before its later reads, for all threads.
//
// For store-then-load on both sides (Dekker), where a release store and an acquire load may be reordered.
// Cost: that of one locked operation. Threads: any. Source: Dekker's algorithm, in Dijkstra 1965.
#pragma once

#include <allot/config.hpp>

#include <atomic>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline void full_fence() noexcept {
#if ALLOT_TSAN
    static std::atomic<int> word{0}; // ThreadSanitizer does not model fences
    word.fetch_add(0, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
