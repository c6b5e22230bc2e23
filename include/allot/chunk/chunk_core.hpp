// The paths of a chunk arena: a cache, the chunks behind it, and how all caches are emptied.
//
//   take(class) -- own cache of the thread (heap::per_thread, from its 32nd block on) --.
//               -- one of four of the arena, if it is not in use --------------------- +-- chunk_heap: fit, lock, pages
//
// Blocks move between caches and chunks in batches. A thread that is short of pages empties all caches, of any thread,
// so no request fails because of cached blocks; an idle thread's blocks also come back at trim() and at its end.
// Invariant: a block is live, in one cache, or in the chunks. Cost: about 120 instructions per pair in a thread's own
// cache, fewer and two exchanges in the arena's. Threads: any, except where noted. A release that finds the cache full
// waits for a spin lock at most, and makes no system call.
// Source: magazines, Bonwick and Adams 2001; caches that come back: requests of Netty's users (#8941, #12749).
#pragma once

#include <allot/account/books.hpp>
#include <allot/chunk/block_cache.hpp>
#include <allot/chunk/chunk_heap.hpp>
#include <allot/chunk/chunk_stats.hpp>
#include <allot/chunk/thread_block_cache.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/shared_caches.hpp>
#include <allot/sync/thread_cache_registry.hpp>
#include <allot/sys/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Policies> class chunk_core {
  public:
    using classes = typename Policies::classes;
    using heap_type = chunk_heap<Policies>;
    using pages_type = charged_pages<typename Policies::ledger>;
    static constexpr bool counts = Policies::counts;
    using cache_type = block_cache<counts>;
    static constexpr unsigned max_classes = heap_type::max_classes;
    static_assert(max_classes == cache_config::max_classes && classes::class_of(heap_type::max_chunk) < max_classes);
    static_assert(max_classes <= block_table::max_classes);

    static constexpr std::size_t default_chunk_bytes = std::size_t{4} << 20; // at most
    // The chunk size: a power of two, at least a page; without a request 1/32 of the limit, or of the arena's.
    static std::size_t chunk_bytes_for(std::size_t requested, std::size_t limit, std::size_t page) noexcept {
        const std::size_t wanted = requested != 0 ? requested : min(default_chunk_bytes, limit / 32);
        return clamp(std::size_t{1} << log2_floor(wanted | 1), page, heap_type::max_chunk);
    }

    ALLOT_OUTLINE_OF(chunk_core)
    chunk_core(pages_type& pages, const books_of_object& books, std::size_t chunk_bytes) noexcept
        : books_(books), heap_(pages, books, chunk_bytes, &flush, this) {
        config_.make(classes{}, heap_.largest_block(), chunk_bytes / 4);
        if constexpr (Policies::per_thread) threads_ = new (std::nothrow) places(*this);
    }
    // Empties all caches. No other thread may use the arena any more.
    ALLOT_OUTLINE_OF(chunk_core) void close() noexcept {
        if constexpr (Policies::per_thread) {
            if (threads_ != nullptr) places::close(threads_);
            threads_ = nullptr;
        }
        flush_shared();
    }

    bool open() noexcept { return heap_.open(); }
    heap_type& heap() noexcept { return heap_; }
    const heap_type& heap() const noexcept { return heap_; }
    block_table& map() noexcept { return heap_.map(); }
    const cache_config& config() const noexcept { return config_; }
    const books_of_object& books() const noexcept { return books_; }

    // ---- blocks of a class --------------------------------------------------------------------------------
    // A free block from the caller's cache, still `cached` in the block table; null: none.
    ALLOT_ALWAYS_INLINE std::byte* pop(unsigned c, std::size_t requested) noexcept {
        if constexpr (Policies::per_thread)
            if (thread_cache* const mine = threads_ != nullptr ? threads_->here() : nullptr;
                ALLOT_LIKELY(mine != nullptr)) {
                if (ALLOT_UNLIKELY(!mine->enter())) return nullptr;
                std::byte* const block = pop_from(*mine, c, requested);
                mine->leave();
                return block;
            }
        const auto borrowed = shared_.borrow();
        return ALLOT_LIKELY(static_cast<bool>(borrowed)) ? pop_from(*borrowed, c, requested) : nullptr;
    }
    // Puts a block that is `cached` in the block table into the caller's cache; false: it is full, or in use.
    ALLOT_ALWAYS_INLINE bool push(unsigned c, std::byte* block) noexcept {
        if constexpr (Policies::per_thread)
            if (thread_cache* const mine = known(); ALLOT_LIKELY(mine != nullptr)) {
                if (ALLOT_UNLIKELY(!mine->enter())) return false;
                const bool ok = mine->push(c, config_.bytes[c], block);
                mine->leave();
                return ok;
            }
        const auto borrowed = shared_.borrow();
        return ALLOT_LIKELY(static_cast<bool>(borrowed)) && borrowed->push(c, config_.bytes[c], block);
    }
    // Takes a batch of blocks from the chunks, returns one and puts the others into the caller's cache. All are
    // `cached` in the block table: the caller marks the one live. Null: no memory. Requires: align is at most a page.
    ALLOT_OUTLINE_OF(chunk_core)
    ALLOT_NOINLINE std::byte* take(unsigned c, std::size_t align, memory_request& asked) noexcept {
        std::byte* batch[cache_config::max_blocks];
        const bool one = align > classes::unit || config_.limit[c] < 2 || shut_.load(std::memory_order_relaxed);
        const std::uint32_t wanted = one ? 1 : config_.limit[c] / 2;
        std::uint32_t got = heap_.take(c, align, batch, wanted, asked);
        if (got == 0) return nullptr;
        if constexpr (counts) uncached_counts_.count_shared(c, asked.bytes);
        std::byte* const block = batch[--got];
        const bool alone = got == 0;
        if (!alone)
            inside([&](auto& cache) {
                while (got != 0 && cache.push(c, config_.bytes[c], batch[got - 1])) --got;
            });
        if (alone || got != 0) give_or_open(c, batch, got);
        return block;
    }
    // Puts a block that is `cached` in the block table into the cache, and the blocks that make room for it into the
    // chunks; the block itself where the cache does not take it.
    ALLOT_OUTLINE_OF(chunk_core) ALLOT_NOINLINE void give(unsigned c, std::byte* block) noexcept {
        std::byte* out[64];
        out[0] = block;
        std::uint32_t n = 1;
        if (config_.limit[c] != 0 || config_.keeps_last(c))
            inside([&](auto& cache) { n = make_room(cache, c, block, out); });
        if (n != 0) heap_.give(out, n);
    }

    // ---- caches -------------------------------------------------------------------------------------------
    // While they are shut, the caches are empty and in use: blocks go past them. One thread at a time, without a lock.
    // Returns: whether they are empty.
    ALLOT_OUTLINE_OF(chunk_core) bool set_shut(bool now) noexcept {
        {
            const lock_guard alone(flushing_);
            if (now) take_and_empty();
            shut_.store(now, std::memory_order_relaxed);
            if (!now) give_shared();
        }
        if constexpr (Policies::per_thread)
            if (threads_ != nullptr) return threads_->set_shut(now);
        return now;
    }
    // Requires that the caller is inside the cache.
    ALLOT_OUTLINE_OF(chunk_core) void empty(cache_type& cache) noexcept {
        std::byte* out[64];
        if (std::byte* const last = cache.take_last()) heap_.give(&last, 1);
        while (const std::uint32_t n = cache.template take_largest<classes>(out, 64)) heap_.give(out, n);
    }
    // Keeps the counts of a thread's cache that ends.
    ALLOT_OUTLINE_OF(chunk_core) void keep_counts([[maybe_unused]] const cache_type& cache) noexcept {
        if constexpr (counts)
            for (unsigned c = 0; c != max_classes; ++c) uncached_counts_.add(c, cache.counted(c));
    }

    // ---- statistics ---------------------------------------------------------------------------------------
    // Sets all but limit, peak and refused.
    ALLOT_OUTLINE_OF(chunk_core) chunk_stats stats() noexcept {
        chunk_stats f;
        const auto now = heap_.snapshot();
        const auto bytes_of = [&](std::size_t n) { return n << heap_.arena().page_shift(); };
        f.cached = bytes_of(min(now.kept_pages, now.large_pages));
        f.large = bytes_of(now.large_pages) - f.cached;
        f.charged = now.bytes + f.large + f.cached;
        f.live = now.out + f.large + f.cached;
        f.live_blocks = now.blocks + now.large;
        f.largest_free_run = now.largest;
        f.metadata = now.metadata;
        f.free = now.bytes - now.out;
        const auto add = [&](const class_usage& u) {
            f.cached += u.cached * u.bytes;
            f.live_blocks -= min(u.cached, f.live_blocks);
            f.allocations += u.allocations;
            f.requested += u.requested;
            f.granted += u.allocations * u.bytes;
        };
        usage_of(now, add);
        f.live -= min(f.cached, f.live);
        return f;
    }
    // Calls visit(class_usage) for each class that was used, the smallest first.
    template <class Visit> void usage(Visit& visit) { usage_of(heap_.snapshot(), visit); }

  private:
    // Blocks that the caller's cache did not take. A shared one is made at its first use: not by a release.
    ALLOT_NOINLINE void give_or_open(unsigned c, std::byte* const* blocks, std::uint32_t n) noexcept {
        if (ALLOT_UNLIKELY(shut_.load(std::memory_order_relaxed))) heap_.open_caches();
        inside([&](auto& cache) {
            if (cache.is_open() || !cache.open(config_)) return;
            books_.owe(config_.bytes_of_cache());
            while (n != 0 && cache.push(c, config_.bytes[c], blocks[n - 1])) --n;
        });
        if (n != 0) heap_.give(blocks, n);
    }
    using thread_cache = thread_block_cache<chunk_core>;
    using places = thread_cache_registry<chunk_core, thread_cache>;

    // This thread's own cache, if it has one.
    ALLOT_ALWAYS_INLINE thread_cache* known() noexcept { return threads_ != nullptr ? threads_->known() : nullptr; }
    // Calls call(cache) inside the caller's cache; not if that is in use.
    template <class Call> void inside(Call call) noexcept {
        if constexpr (Policies::per_thread)
            if (thread_cache* const mine = known()) {
                if (!mine->enter()) return;
                call(static_cast<cache_type&>(*mine));
                return mine->leave();
            }
        if (const auto borrowed = shared_.borrow()) call(*borrowed);
    }
    // The next two require that the caller is inside the cache.
    ALLOT_ALWAYS_INLINE std::byte* pop_from(cache_type& cache, unsigned c, std::size_t requested) noexcept {
        std::byte* const block = cache.pop(c, config_.bytes[c]);
        if (ALLOT_LIKELY(block != nullptr)) cache.count(c, requested);
        return block;
    }
    // Puts the block into the cache and the blocks that it displaces into `out`, or the block itself where the cache
    // does not take it. Returns the number in `out`.
    std::uint32_t make_room(cache_type& cache, unsigned c, std::byte* block, std::byte** out) noexcept {
        std::uint32_t n = 0;
        if (config_.keeps_last(c)) {
            if (std::byte* const before = cache.keep_last(c, block)) out[n++] = before;
        } else {
            n = cache.template make_room<classes>(c, out, 63);
            if (!cache.push(c, config_.bytes[c], block)) out[n++] = block;
        }
        return n;
    }
    template <class Visit> void for_each_cache(Visit visit) {
        for (const auto& shared : shared_.all()) visit(shared.cache);
        if constexpr (Policies::per_thread)
            if (threads_ != nullptr)
                threads_->for_each([&](thread_cache& mine) { visit(static_cast<const cache_type&>(mine)); });
    }
    template <class Visit> void usage_of(const typename heap_type::state& now, Visit& visit) {
        for (unsigned c = 0; c != max_classes && classes::bytes_of(c) <= heap_.largest_block(); ++c)
            if (const class_usage u = used_by(now, c); u.live != 0 || u.cached != 0 || u.allocations != 0) visit(u);
    }
    ALLOT_OUTLINE_OF(chunk_core) class_usage used_by(const typename heap_type::state& now, unsigned c) noexcept {
        class_usage u{classes::bytes_of(c), now.of_class[c], 0, 0, 0};
        const auto add = [&](const auto& counted) {
            u.allocations += counted.allocations;
            u.requested += counted.requested;
        };
        add(uncached_counts_.counted(c));
        for_each_cache([&](const auto& cache) {
            u.cached += cache.blocks_of(c);
            add(cache.counted(c));
        });
        u.live -= min(u.cached, u.live);
        return u;
    }

    void flush_shared() noexcept {
        const lock_guard alone(flushing_);
        if (shut_.load(std::memory_order_relaxed)) return;
        take_and_empty();
        give_shared();
    }
    // The shared caches stay in use until give_shared(). Requires flushing_, as the next one.
    void take_and_empty() noexcept {
        for (auto& shared : shared_.all()) empty(shared_.keep(shared));
    }
    void give_shared() noexcept {
        for (auto& shared : shared_.all()) shared_.give_kept(shared);
    }
    static void flush(void* self) noexcept {
        auto& core = *static_cast<chunk_core*>(self);
        core.flush_shared();
        if constexpr (Policies::per_thread)
            if (core.threads_ != nullptr) core.threads_->empty_all();
    }

    const books_of_object books_;
    cache_config config_;
    shared_caches<cache_type> shared_;
    sys::mutex flushing_{lock_rank::thread_caches};
    std::atomic<bool> shut_{false}; // this object is inside the shared caches; written under flushing_
    places* threads_ = nullptr;     // heap::per_thread only
    ALLOT_NO_UNIQUE_ADDRESS counts_by_class<counts> uncached_counts_; // of ended threads, and of blocks from the chunks
    heap_type heap_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
