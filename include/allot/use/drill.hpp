// use::drill: a set for buffers of record batches, as in Apache Drill: chunks of 16 MiB, cut into powers of two, with
// caches per thread.
//
//     allot::account engine{allot::name{"engine"}, allot::limit{32_GiB}};
//     allot::chunk_arena<allot::use::drill> pool{engine, allot::use::drill::chunk};
//     allot::buffer_memory memory{pool};
//     allot::account scan{engine, allot::name{"scan"}, allot::credit_step{}};
//     allot::buffer batch = memory.allocate(scan, 100'000); // 128 KiB, which the account scan is charged for
//
// - The limit of `engine` bounds all memory: a buffer's block is charged to its account, the pool's other pages to an
//   account of the pool below `engine`. They are idle memory: requests that `engine` refuses have them returned. Pass
//   the account that all accounts of buffers are below.
// - The pool's own limit, if any, counts all its pages, with the free bytes in its chunks and caches.
// - A request above a chunk takes whole pages of the pool, not a power of two; Drill asks the system.
// - fit::runs in place of fit::buddy leaves at most a fifth of a block unused; fit::buddy up to a half.
// Source: Drill's PooledByteBufAllocatorL over Netty's arenas, 2013.
#pragma once

#include <allot/chunk/chunk_arena.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/fit/buddy.hpp>
#include <allot/ledger/pool.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace use {

/// Policies for a chunk_arena. Pass `chunk` to its constructor.
struct drill : policies<fit::buddy, heap::per_thread, ledger::pool> {
    static constexpr chunk_bytes chunk{std::size_t{16} << 20};
};

} // namespace use
} // namespace allot::inline ALLOT_ABI
