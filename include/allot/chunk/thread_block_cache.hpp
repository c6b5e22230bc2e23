// The block cache that a thread has of a chunk arena under heap::per_thread, found by sync/thread_cache_registry.hpp.
//
// Its blocks go back to the chunks when the thread or the arena ends, and when any thread is short of memory, without
// the owner's help (sync/owner_entry.hpp). Cost: 2.1 KiB and the cache's slots; 2 KiB more where the set counts.
// Threads: see block_cache.hpp.
#pragma once

#include <allot/chunk/block_cache.hpp>
#include <allot/config.hpp>
#include <allot/sync/thread_cache_registry.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Core> class thread_block_cache : public thread_cache_base, public block_cache<Core::counts> {
  public:
    explicit thread_block_cache(Core& core) noexcept : core_(core) {
        this->set_up();
        this->open(core.config());
        core.books().owe(bytes());
    }
    thread_block_cache(const thread_block_cache&) = delete;
    thread_block_cache& operator=(const thread_block_cache&) = delete;
    ~thread_block_cache() { close(); }

    // Call on the owner thread, or at the arena's end. The core is not used afterwards.
    void close() noexcept {
        if (closed_) return;
        closed_ = true;
        core_.empty(*this);
        core_.keep_counts(*this);
        core_.books().end(bytes());
    }
    // For a caller that is inside.
    void empty() noexcept { core_.empty(*this); }

  private:
    std::size_t bytes() const noexcept { return sizeof *this + core_.config().bytes_of_cache(); }

    Core& core_;
    bool closed_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
