// use::drill: a set for buffers of record batches, as in Apache Drill: chunks of 16 MiB, cut into powers of two, with
// caches per thread.
//
//     allot::account engine{allot::name{"engine"}, allot::limit{32_GiB}};
//     allot::chunk_arena<allot::use::drill> pool{allot::limit{64_GiB}, allot::use::drill::chunk};
//     allot::buffer_memory memory{pool};
//     allot::buffer batch = memory.allocate(scan, 100'000); // charges 128 KiB to the account scan
//
// - Accounts are charged for buffers, by the bytes of their blocks. The pool's own limit counts pages, with the free
//   bytes in its chunks and caches, and is in no account tree: set it to twice the engine's limit; to that limit and 8
//   chunks if no buffer exceeds 1 MiB and sizes do not change with time. With less the pool refuses buffers that their
//   accounts allow (docs/chunks.md).
// - Do not replace its ledger by ledger::tree: the tree would charge everything twice.
// - A request above a chunk takes whole pages of the pool, not a power of two; Drill asks the system.
// - fit::runs in place of fit::buddy leaves at most a fifth of a block unused; fit::buddy up to a half.
// Source: Drill's PooledByteBufAllocatorL over Netty's arenas, 2013.
#pragma once

#include <allot/chunk/chunk_arena.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/fit/buddy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace use {

/// Policies for a chunk_arena. Pass `chunk` to its constructor.
struct drill : policies<fit::buddy, heap::per_thread, ledger::counter> {
    static constexpr chunk_bytes chunk{std::size_t{16} << 20};
};

} // namespace use
} // namespace allot::inline ALLOT_ABI
