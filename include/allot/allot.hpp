// Umbrella header of the target `allot`: sets of policies, rows, chunk arenas, accounts, requests, buffers, their
// reports, and the ready sets. It needs the standard library and the system, and is all that `allot` alone installs.
//
// Index headers compile less: allot/row_manager.hpp, allot/chunk_arena.hpp, allot/buffers.hpp. Other targets have
// allot/engine.hpp, allot/device.hpp and allot/tools.hpp; docs/layers.txt gives the target of each header.
#pragma once

#include <allot/adapt/pmr.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/buffer/charged_blocks.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/describe.hpp>
#include <allot/guard/canary.hpp>
#include <allot/guard/encoded_links.hpp>
#include <allot/guard/quarantine.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/report/accounts.hpp>
#include <allot/report/chunks.hpp>
#include <allot/report/page_usage.hpp>
#include <allot/report/rows.hpp>
#include <allot/report/trace.hpp>
#include <allot/row/moving/row_compactor.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/block_cache.hpp>
#include <allot/use/containers.hpp>
#include <allot/use/drill.hpp>
#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>
