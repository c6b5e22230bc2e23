// The block cache that a thread has of a chunk arena under heap::per_thread, found by heap/thread_cache_registry.hpp.
//
// Its blocks go back to the chunks when the thread or the arena ends, and when any thread is short of memory, without
// the owner's help. Cost: 1.4 KiB and the cache's slots; 1.3 KiB more where the set counts. Threads: see
// block_cache.hpp.
#pragma once

#include <allot/chunk/block_cache.hpp>
#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Core> class thread_block_cache {
  public:
    using cache_type = own_block_cache<Core::counts>;

    explicit thread_block_cache(Core& core) noexcept : core_(core) { cache_.open(core.config()); }
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
    // As thread_cache_registry::empty_all() calls them.
    owner_entry& entry() noexcept { return cache_; }
    void block_owner() noexcept { cache_.block_owner(); }
    void empty() noexcept { core_.empty(cache_); }
    void unblock_owner() noexcept { cache_.unblock_owner(); }

  private:
    Core& core_;
    cache_type cache_;
    bool closed_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
