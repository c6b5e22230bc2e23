// use::block_cache: a set for the blocks of a cache, as RocksDB's: some KiB each, of a few sizes, freed by any thread.
//
//     allot::account engine{allot::name{"engine"}, allot::limit{512_MiB}};
//     allot::row_manager<allot::use::block_cache> blocks{engine, allot::name{"block cache"}};
//
// A block is freed once, so no links are counted and no row has a header. Sizes are rounded by the list fine. Pages are
// small: a page returns to others once all its blocks are evicted, and each size class in use charges one. A request
// that is refused returns null, and has called the reclaimers of the accounts first (adapt/rocksdb.hpp).
#pragma once

#include <allot/core/policies.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/page/mapped.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row/row_manager.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace use {

/// Policies for a row_manager below an account.
struct block_cache
    : policies<size::bucketed<size::list::fine>, count::none, heap::per_thread, ledger::tree, spill::chain, oom::null,
               page::mapped<page::mapped_options{.page = std::size_t{32} << 10}>> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
