// The block cache that a thread has of a chunk arena under heap::per_thread, found by heap/thread_cache_registry.hpp.
//
// Its blocks go back to the chunks when the thread or the arena ends, and when any thread is short of memory, without
// the owner's help. Cost: 2.1 KiB and the cache's slots; 2 KiB more where the set counts. Threads: see
// block_cache.hpp.
#pragma once

#include <allot/chunk/block_cache.hpp>
#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Core> class thread_block_cache {
  public:
    using cache_type = own_block_cache<Core::counts>;

    explicit thread_block_cache(Core& core) noexcept : core_(core), cache_(core.threads_must_fence()) {
        cache_.open(core.config());
    }
    thread_block_cache(const thread_block_cache&) = delete;
    thread_block_cache& operator=(const thread_block_cache&) = delete;
    ~thread_block_cache() { close(); }

    cache_type& cache() noexcept { return cache_; }

    // Call on the owner thread, or at the arena's end. The core is not used afterwards.
    void close() noexcept {
        if (closed_) return;
        closed_ = true;
        core_.empty(cache_);
        core_.keep_counts(cache_);
    }
    // Empties the cache from another thread: block_owner(), a fence in all threads, empty_if_blocked(), which skips a
    // cache that was opened later. All require the core's flush lock.
    void block_owner() noexcept {
        owner_blocked_ = true;
        cache_.block_owner();
    }
    void empty_if_blocked() noexcept {
        if (!owner_blocked_) return;
        cache_.wait_for_owner();
        core_.empty(cache_);
        unblock_owner();
    }
    void unblock_owner() noexcept {
        owner_blocked_ = false;
        cache_.unblock_owner();
    }

  private:
    Core& core_;
    cache_type cache_;
    bool owner_blocked_ = false; // requires the core's flush lock
    bool closed_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
