// use::drill: for buffers of record batches, as Apache Drill has them: chunks of 16 MiB cut into halves of halves,
// caches of threads.
//
//     allot::chunk_arena<allot::use::drill> pool{allot::limit{64_GiB}, allot::use::drill::chunk};
//     allot::buffer_memory memory{pool};     allot::buffer batch = memory.allocate(scan, 100'000);   // scan is charged
//     128 KiB
//
// What is charged where: accounts are charged for buffers, by the block that each takes; the pool has a limit of its
// own, on pages, free ones among them, and is in no tree. So it is not what adds up in a tree of accounts, but may be
// the larger: give it the engine's limit and a chunk or two more. With ledger::tree in the place of its ledger the tree
// would have all twice. More than a chunk is pages of the pool, of no more bytes than it takes, where Drill asks the
// system. `fit::runs` in the place of `fit::buddy` wastes a fifth of a block at most, where halves waste up to a half.
// Source: Drill's PooledByteBufAllocatorL over Netty's arenas, 2013.
#pragma once

#include <allot/chunk/chunk_arena.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/fit/buddy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace use {

struct drill : policies<fit::buddy, heap::per_thread, ledger::counter> {
    static constexpr chunk_bytes chunk{std::size_t{16} << 20};
};

} // namespace use
} // namespace allot::inline ALLOT_ABI
