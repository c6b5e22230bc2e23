// RocksDB's block cache in the memory of a row manager, a chunk arena or charged_blocks, under the limit of an account.
//
//     allot::account engine{allot::name{"engine"}, allot::limit{512_MiB}};
//     allot::row_manager<allot::use::block_cache> blocks{engine, allot::name{"block cache"}};
//     rocksdb::LRUCacheOptions size;
//     size.capacity = 256_MiB;
//     allot::adapt::rocksdb_cache cache{blocks, size};
//     rocksdb::BlockBasedTableOptions table;
//     table.block_cache = cache.cache();
//
// RocksDB writes to what Allocate() returns without a test for null. So a request that the source refuses has blocks
// evicted from the cache, and is made again. Where that does not help, since readers pin all blocks, it is served by
// the heap of the process, charged by force to an account beside the source's, and counted: beyond().
//
// The cache evicts for others, too: it is a reclaimer of the source's account. Blocks leave in the order of RocksDB's
// LRU lists: an entry of a large charge, which owns nothing, is inserted and erased. It is never pinned, so that no
// insert of another thread fails by it.
//
// No deadlock. Eviction takes the mutex of one shard at a time. RocksDB calls neither an allocator nor a deleter with
// one held, so no thread that requests memory has it; but for a callback of Cache::ApplyToAllEntries(), which must not
// request memory of these accounts. SetCapacity() calls deleters below its mutex, which GetCapacity() takes, too: an
// eviction inside an account's callback, which may be below a deleter, uses the capacity that it last read.
//
// Invariant: bytes of the source and beyond().live_bytes are all that RocksDB has. Cost: a request is that of the
// source, a release that and two reads; an eviction takes the mutex of each shard once, one for each insert, and that
// of SetCapacity().
// Threads: any. Source: RocksDB's MemoryAllocator, 2018, and its CacheReservationManager, 2021.
#pragma once

#include <allot/account/account.hpp>
#include <allot/adapt/bytes.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/request/reclaimers.hpp>
#include <allot/row/row.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/memory_allocator.h>
#include <rocksdb/slice.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace adapt {

static_assert(ROCKSDB_MAJOR == 7, "allot: adapt/rocksdb.hpp needs RocksDB 7, whose Cache::Insert takes a deleter");

/// A row manager, a chunk arena or charged_blocks.
template <class S> concept rocksdb_source = row_source<S> || block_source<S>;

/// Requests that no eviction could serve: how many, and the bytes of those that live, now and at most.
struct rocksdb_beyond {
    std::size_t requests = 0;
    std::size_t live_bytes = 0;
    std::size_t peak_bytes = 0;
};

namespace detail {

// Evicts unpinned entries of an LRU cache. It must not outlive the cache.
class rocksdb_eviction {
  public:
    static constexpr std::size_t all = SIZE_MAX;

    rocksdb_eviction(rocksdb::Cache& cache, std::size_t capacity, int shard_bits) noexcept
        : cache_(&cache), shards_(std::size_t{1} << shard_bits), capacity_(capacity) {}

    // A call for fewer bytes evicts this many: a cache at its limit evicts once for many requests. A limit far below
    // the capacity has it evict an eighth at most.
    std::size_t least() noexcept { return std::min(shards_ * shard_bytes() / 128, usage() / 8); }
    // What the cache counts, now.
    std::size_t usage() const noexcept { return cache_->GetUsage(); }
    // Returns: bytes that were deallocated meanwhile, by any thread.
    std::size_t evict(std::size_t bytes) noexcept {
        running_.fetch_add(1, std::memory_order_relaxed);
        const std::size_t before = freed_.load(std::memory_order_relaxed);
        const auto freed = [&] { return freed_.load(std::memory_order_relaxed) - before; };
        const std::size_t most = shard_bytes(), unused = most - std::min(usage() / shards_, most);
        std::size_t each = std::max<std::size_t>(bytes / shards_, 16 << 10);
        if (bytes != all)
            for (std::size_t n = 0; n != 4 * shards_ && freed() < bytes; ++n) {
                if (n != 0 && n % shards_ == 0) each *= 2;
                evict_from_a_shard(std::min(unused + each, most));
            }
        if (freed() < bytes && (bytes == all || bytes >= usage())) cache_->EraseUnRefEntries();
        running_.fetch_sub(1, std::memory_order_relaxed);
        return freed();
    }
    bool is_running() const noexcept { return running_.load(std::memory_order_relaxed) != 0; }
    void count(std::size_t bytes) noexcept {
        freed_.fetch_add(bytes, std::memory_order_relaxed);
        last_freed_.store(bytes, std::memory_order_relaxed);
    }
    // The capacity of a block that an eviction deallocated.
    std::size_t last_freed() const noexcept { return last_freed_.load(std::memory_order_relaxed); }

  private:
    // The capacity of a shard, as RocksDB computes it.
    std::size_t shard_bytes() noexcept {
        if (allot::detail::user_call::may_wait_for_holders()) // of the mutex: this thread may be one
            capacity_.store(cache_->GetCapacity(), std::memory_order_relaxed);
        return (capacity_.load(std::memory_order_relaxed) + shards_ - 1) / shards_;
    }
    // RocksDB spreads keys over the shards by a hash. Its own keys have 16 bytes.
    void evict_from_a_shard(std::size_t charge) noexcept {
        char key[24] = "allot: eviction ";
        const std::uint64_t n = next_.fetch_add(1, std::memory_order_relaxed);
        std::memcpy(key + 16, &n, sizeof n);
        const rocksdb::Slice name{key, sizeof key};
        const auto nothing = [](const rocksdb::Slice&, void*) {};
        cache_->Insert(name, nullptr, charge, nothing, nullptr, rocksdb::Cache::Priority::BOTTOM)
            .PermitUncheckedError();
        cache_->Erase(name);
    }

    rocksdb::Cache* cache_;
    const std::size_t shards_;
    std::atomic<std::size_t> capacity_; // as last read
    std::atomic<std::uint64_t> next_{0};
    std::atomic<std::size_t> running_{0}, freed_{0}, last_freed_{0};
};

template <class Source>
concept has_account = requires(Source& s) {
    { s.account() } -> std::convertible_to<allot::account&>;
};

} // namespace detail

/// A rocksdb::MemoryAllocator that refers to a source, which must outlive it and its blocks. rocksdb_cache makes one;
/// alone it serves one cache that evicts nothing: each refusal is beyond().
template <rocksdb_source Source> class rocksdb_memory final : public rocksdb::MemoryAllocator {
  public:
    /// Throws: out_of_memory if the account of the source, or one above, is closed.
    explicit rocksdb_memory(Source& source) : source_(&source) {
        if constexpr (detail::has_account<Source>)
            if (allot::account& a = source.account(); !a.is_open())
                allot::detail::raise_refused(
                    [](text_writer& out) { out.put("out of memory: RocksDB's cache"); }, "its source", "",
                    {.outcome = charge_outcome::closed, .by = refuser::account, .name = a.name()}, 0,
                    [](text_writer&) {});
    }
    Source& source() const noexcept { return *source_; }

    const char* Name() const override { return "allot"; }
    /// Throws: std::bad_alloc, as RocksDB's own, only if source and heap both have no memory.
    void* Allocate(std::size_t bytes) override {
        charge_status why;
        void* const p = allocate_free(bytes, why);
        return ALLOT_LIKELY(p != nullptr) ? p : allocate_short(bytes, why);
    }
    void Deallocate(void* p) override {
        if (ALLOT_UNLIKELY(beyond_live_.load(std::memory_order_relaxed) != 0) && deallocate_beyond(p)) return;
        if (ALLOT_UNLIKELY(eviction_ != nullptr && eviction_->is_running())) eviction_->count(capacity(p));
        adapt::release(*source_, p);
    }
    /// What the block takes of the source; the cache counts this.
    std::size_t UsableSize(void* p, std::size_t bytes) const override {
        if (ALLOT_UNLIKELY(beyond_live_.load(std::memory_order_relaxed) != 0) && is_beyond(p)) return bytes;
        const std::size_t has = capacity(p);
        return has != 0 ? has : bytes;
    }

    rocksdb_beyond beyond() const noexcept {
        const std::lock_guard hold{lock_};
        return beyond_;
    }
    /// Why the last request that was served beyond the limit was refused.
    charge_status last_refusal() const noexcept {
        const std::lock_guard hold{lock_};
        return why_;
    }

  private:
    template <rocksdb_source> friend class rocksdb_cache;

    static constexpr std::size_t align = alignof(std::max_align_t); // as operator new[], which RocksDB calls otherwise

    std::size_t capacity(void* p) const noexcept {
        if constexpr (row_source<Source>) return allot::capacity(p);
        else return source_->capacity(p);
    }
    // Null: refused. Asks no reclaimer: the cache is to free its own blocks before others.
    void* allocate_free(std::size_t bytes, charge_status& why) noexcept {
        const cost_cap unused_memory{reclaimer::idle};
        return adapt::try_allocate(*source_, bytes, align, &why);
    }
    ALLOT_COLD void* allocate_short(std::size_t bytes, charge_status& why) {
        const bool may_fit =
            why.outcome != charge_outcome::misused && (why.outcome != charge_outcome::over_limit || bytes <= why.limit);
        if (may_fit && eviction_ != nullptr) {
            const std::size_t most = std::max(bytes, eviction_->usage() / 8);
            for (std::size_t want = std::max(bytes, eviction_->least()), sum = 0; sum < most; sum += want, want *= 2)
                if (void* const p = allocate_after(std::min(want, most - sum), bytes, why)) return p;
        }
        if (may_fit)
            if (void* const p = adapt::try_allocate(*source_, bytes, align, &why)) return p;
        if (may_fit && eviction_ != nullptr)
            if (void* const p = allocate_after(detail::rocksdb_eviction::all, bytes, why)) return p;
        return allocate_beyond(bytes, why);
    }
    // Evicts, and tries again. A page whose blocks are all evicted serves any size, and is rare; a block that is
    // evicted serves this request and smaller ones.
    void* allocate_after(std::size_t evicted, std::size_t bytes, charge_status& why) noexcept {
        eviction_->evict(evicted);
        if (void* const p = allocate_free(bytes, why)) return p;
        const std::size_t block = eviction_->last_freed();
        return block > bytes + align ? allocate_free(block - align, why)
                                     : nullptr; // an aligned row's class may be less
    }
    ALLOT_COLD void* allocate_beyond(std::size_t bytes, const charge_status& why) {
        if (bytes == 0) bytes = 1;
        std::unique_ptr<void, decltype(&std::free)> p{std::malloc(bytes), &std::free};
        if (p == nullptr) throw std::bad_alloc{};
        const std::shared_ptr<allot::account> by = payer();
        {
            const std::lock_guard hold{lock_};
            blocks_.emplace(p.get(), beyond_block{bytes, by});
            ++beyond_.requests;
            beyond_.live_bytes += bytes;
            beyond_.peak_bytes = std::max(beyond_.peak_bytes, beyond_.live_bytes);
            why_ = why;
            beyond_live_.store(beyond_.live_bytes, std::memory_order_relaxed);
        }
        if (by != nullptr && !by->force_charge(bytes)) { // closed: nothing is to be refunded
            const std::lock_guard hold{lock_};
            blocks_.find(p.get())->second.payer.reset();
        }
        return p.release();
    }
    // It lives as long as its blocks, so a cache without any may outlive the accounts. Null: the source has no account.
    std::shared_ptr<allot::account> payer() {
        if constexpr (detail::has_account<Source>) {
            {
                const std::lock_guard hold{lock_};
                if (auto there = payer_.lock()) return there;
            }
            allot::account* above = &source_->account();
            if constexpr (row_source<Source> || requires { source_->arena(); }) // that account is the source's own
                if (above->parent() != nullptr) above = above->parent();
            const allot::name who{"RocksDB's blocks beyond the limit"};
            auto made = std::make_shared<allot::account>(*above, who, std::nothrow);
            const std::lock_guard hold{lock_};
            payer_ = made;
            return made;
        } else {
            return nullptr;
        }
    }
    ALLOT_COLD bool is_beyond(void* p) const noexcept {
        const std::lock_guard hold{lock_};
        return blocks_.contains(p);
    }
    // False: it is none of these.
    ALLOT_COLD bool deallocate_beyond(void* p) noexcept {
        beyond_block was;
        {
            const std::lock_guard hold{lock_};
            const auto at = blocks_.find(p);
            if (at == blocks_.end()) return false;
            was = std::move(at->second);
            blocks_.erase(at);
            beyond_.live_bytes -= was.bytes;
            beyond_live_.store(beyond_.live_bytes, std::memory_order_relaxed);
        }
        std::free(p);
        if (was.payer != nullptr) was.payer->refund(was.bytes);
        return true;
    }

    struct beyond_block {
        std::size_t bytes = 0;
        std::shared_ptr<allot::account> payer;
    };

    Source* source_;
    detail::rocksdb_eviction* eviction_ = nullptr; // of the cache that it serves
    std::atomic<std::size_t> beyond_live_{0};      // bytes of the blocks of the heap
    mutable std::mutex lock_;                      // of what follows; nothing else is called below it
    std::unordered_map<void*, beyond_block> blocks_;
    std::weak_ptr<allot::account> payer_;
    rocksdb_beyond beyond_;
    charge_status why_;
};

/// An LRU cache of RocksDB over a source, and the reclaimer that evicts from it for others. RocksDB may use the cache
/// longer than this object lives; then it evicts for its own requests alone.
/// Requires: the source outlives both this object and the databases, iterators and pinned values that use the cache.
/// rocksdb::Options and rocksdb::BlockBasedTableOptions, which keep the cache alive, may live on.
template <rocksdb_source Source> class rocksdb_cache {
    using memory_type = rocksdb_memory<Source>;

  public:
    /// Makes the cache. `cost` is that of the reclaimer: those of lower costs are called first.
    /// Throws: std::invalid_argument if RocksDB refuses the options, or if they name a memory_allocator; out_of_memory
    /// as rocksdb_memory.
    explicit rocksdb_cache(Source& source, rocksdb::LRUCacheOptions options, std::uint32_t cost = 1)
        : state_(make(source, options)), reclaimer_(*state_, cost) {
        if constexpr (detail::has_account<Source>) source.account().add(reclaimer_);
    }
    rocksdb_cache(const rocksdb_cache&) = delete;
    rocksdb_cache& operator=(const rocksdb_cache&) = delete;
    /// Evicts all blocks that no reader pins: what only options keep is then without memory of the source.
    ~rocksdb_cache() {
        if constexpr (detail::has_account<Source>) state_->memory->source().account().remove(reclaimer_);
        evict(detail::rocksdb_eviction::all);
    }

    /// For BlockBasedTableOptions::block_cache.
    std::shared_ptr<rocksdb::Cache> cache() const noexcept { return {state_, state_->cache.get()}; }
    const memory_type& memory() const noexcept { return *state_->memory; }
    rocksdb_beyond beyond() const noexcept { return memory().beyond(); }
    /// Evicts the least recently used blocks that no reader pins. Any thread.
    /// Returns: bytes that became free meanwhile. Those of the source stay charged as its free memory, until a shortage
    /// or its trim().
    std::size_t evict(std::size_t bytes) noexcept { return state_->eviction.evict(bytes); }
    /// The reclaimer's calls, and what they freed.
    const allot::reclaimer& reclaimer() const noexcept { return reclaimer_; }

  private:
    // Shared with the users of the cache.
    struct shared_state {
        std::shared_ptr<memory_type> memory;
        std::shared_ptr<rocksdb::Cache> cache;
        detail::rocksdb_eviction eviction;

        shared_state(std::shared_ptr<memory_type> m, std::shared_ptr<rocksdb::Cache> c,
                     const rocksdb::LRUCacheOptions& o) noexcept
            : memory(std::move(m)), cache(std::move(c)), eviction(*cache, o.capacity, o.num_shard_bits) {
            memory->eviction_ = &eviction;
        }
    };
    static std::shared_ptr<shared_state> make(Source& source, rocksdb::LRUCacheOptions& options) {
        if (options.memory_allocator != nullptr)
            throw std::invalid_argument("allot: a rocksdb_cache has its own memory_allocator; leave that option empty");
        if (options.num_shard_bits < 0) options.num_shard_bits = shard_bits(room(source, options.capacity));
        auto memory = std::make_shared<memory_type>(source);
        options.memory_allocator = memory;
        auto cache = rocksdb::NewLRUCache(options);
        if (cache == nullptr)
            throw std::invalid_argument("allot: RocksDB refuses the options of this LRU cache: num_shard_bits must be "
                                        "below 20, and the ratios 0 to 1 in sum");
        return std::make_shared<shared_state>(std::move(memory), std::move(cache), options);
    }

    // What the cache can hold: of a shard that has less than some blocks an eviction takes all, also those of an index.
    static std::size_t room(Source& source, std::size_t capacity) noexcept {
        if constexpr (detail::has_account<Source>) return std::min(capacity, source.account().headroom());
        else if constexpr (requires { source.limit(); }) return std::min(capacity, source.limit());
        else return capacity;
    }
    // As RocksDB chooses them: shards of 512 KiB at least, 64 at most.
    static int shard_bits(std::size_t bytes) noexcept {
        int bits = 0;
        while (bits != 6 && bytes >> (20 + bits) != 0) ++bits;
        return bits;
    }

    class evicting final : public allot::reclaimer {
      public:
        evicting(shared_state& of, std::uint32_t cost) noexcept : allot::reclaimer("RocksDB's cache", cost), of_(of) {}
        // A block that is freed serves the source at once, and others only once its page is empty.
        bool reclaim(const shortage& s) noexcept override {
            auto& eviction = of_.eviction;
            std::size_t want = std::max(s.missing(), eviction.least());
            if constexpr (row_source<Source> && detail::has_account<Source>)
                if (s.requester != &of_.memory->source().account()) want = std::max(want, eviction.usage() / 6);
            return eviction.evict(s.critical ? detail::rocksdb_eviction::all : want) != 0;
        }
        void describe(text_writer& out) const noexcept override {
            if (const std::size_t bytes = of_.memory->beyond_live_.load(std::memory_order_relaxed); bytes != 0)
                out.put(", pinned blocks beyond the limit: ").bytes(bytes);
        }

      private:
        shared_state& of_;
    };
    std::shared_ptr<shared_state> state_;
    evicting reclaimer_;
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
