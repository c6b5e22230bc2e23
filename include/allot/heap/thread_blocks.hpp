// heap::per_thread of a chunk arena: the cache that a thread has of it, found by heap/thread_places.hpp.
//
// Its blocks go back when the thread ends or the arena does, and whenever somebody is short of memory, without the thread's
// help. Cost: 1.4 KiB and the cache's slots, 1.3 KiB more where the set counts, and up to 64 records. Threads: that of block_cache.hpp.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/block_cache.hpp>

#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Core> class thread_blocks {
  public:
    using cache_type = own_block_cache<Core::counts>;

    explicit thread_blocks(Core& core) noexcept : core_(core), cache_(core.threads_fence()) { cache_.open(core.plan()); }
    thread_blocks(const thread_blocks&) = delete;
    thread_blocks& operator=(const thread_blocks&) = delete;
    ~thread_blocks() {
        close();
        while (void* const r = take_record()) ::operator delete(r);
    }

    cache_type& cache() noexcept { return cache_; }

    // Records of host memory, for what is kept about blocks; by the thread itself. Null: there is none here.
    ALLOT_ALWAYS_INLINE void* take_record() noexcept {
        record* const r = records_;
        if (ALLOT_UNLIKELY(r == nullptr)) return nullptr;
        records_ = r->next;
        --kept_;
        return r;
    }
    // False: there are enough. Checked builds keep none, so that who uses one too long is found.
    ALLOT_ALWAYS_INLINE bool give_record(void* p) noexcept {
        if (ALLOT_CHECKED != 0 || ALLOT_UNLIKELY(kept_ == most_records || closed_)) return false;
        records_ = ::new (p) record{records_};
        ++kept_;
        return true;
    }
    // By the thread itself, or at the arena's end; the arena is not used later.
    void close() noexcept {
        if (closed_) return;
        closed_ = true;
        core_.empty(cache_);
        core_.keep_counts(cache_);
    }
    // By somebody else: only where the thread was asked and has been fenced.
    void ask() noexcept {
        asked_ = true;
        cache_.ask();
    }
    void empty_if_asked() noexcept {
        if (!asked_) return;
        cache_.wait();
        core_.empty(cache_);
        dismiss();
    }
    void dismiss() noexcept {
        asked_ = false;
        cache_.dismiss();
    }

  private:
    struct record {
        record* next;
    };
    static constexpr std::uint32_t most_records = 64;

    Core& core_;
    record* records_ = nullptr;
    std::uint32_t kept_ = 0;
    cache_type cache_;
    bool asked_ = false; // by who holds the core's flush lock
    bool closed_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
