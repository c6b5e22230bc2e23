// Pools that are not general allocators, inlined as in a program: the two pool resources of std::pmr, and Boost.Pool,
// with a pool for each 8 bytes of size if sizes are mixed. They are shown beside the peers, but no goal is judged by
// them, since they serve one thread (pmr's synchronized pool: a mutex) and do not return memory.
#pragma once

#include <harness/counted_over.hpp>
#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <peers/peer.hpp>

#include <cstddef>
#include <memory_resource>
#include <vector>

#if __has_include(<boost/pool/pool.hpp>)
#include <boost/pool/pool.hpp>
#include <boost/version.hpp>
#define BENCH_HAS_BOOST 1
#else
#define BENCH_HAS_BOOST 0
#endif

namespace bench {

template <bool Rows, class Resource, bool Threads> struct pmr_subject : peer_traits {
    static constexpr bool threads = Threads, hands_over = false; // W6 would take microseconds a row, and a run minutes
    explicit pmr_subject(const job&) {}
    Resource pool;
    struct memory {
        Resource* pool;
        BENCH_INLINE void* allocate(std::size_t bytes) { return pool->allocate(bytes, 8); }
        BENCH_INLINE void release(void* block, std::size_t bytes) { pool->deallocate(block, bytes, 8); }
    };
    struct user : counted_over<Rows, memory> {
        explicit user(pmr_subject& of) noexcept : counted_over<Rows, memory>(memory{&of.pool}) {}
    };
};
template <bool Rows> using pmr_sync = pmr_subject<Rows, std::pmr::synchronized_pool_resource, true>;
template <bool Rows> using pmr_unsync = pmr_subject<Rows, std::pmr::unsynchronized_pool_resource, false>;

#if BENCH_HAS_BOOST
template <bool Rows> struct boost_pool_subject : peer_traits {
    static constexpr bool threads = false;
    using pool = boost::pool<boost::default_user_allocator_malloc_free>;
    explicit boost_pool_subject(const job& what) {
        const std::size_t lists = (what.largest_bytes() + (Rows ? 8 : 0) + 7) / 8 + 1;
        pools.reserve(lists);
        for (std::size_t i = 0; i < lists; ++i) pools.push_back(new pool(i == 0 ? 8 : i * 8));
    }
    std::vector<pool*> pools;
    struct memory {
        pool** pools;
        BENCH_INLINE void* allocate(std::size_t bytes) { return pools[(bytes + 7) / 8]->malloc(); }
        BENCH_INLINE void release(void* block, std::size_t bytes) { pools[(bytes + 7) / 8]->free(block); }
    };
    struct user : counted_over<Rows, memory> {
        explicit user(boost_pool_subject& of) noexcept : counted_over<Rows, memory>(memory{of.pools.data()}) {}
    };
};
#endif

} // namespace bench
