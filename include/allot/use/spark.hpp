// use::spark: rows, blocks and device memory of tasks that share too little memory, as in Spark-RAPIDS: requests wait,
// reclaimers are asked first, and the arbiter rolls back and splits.
//
//     allot::oom::arbiter tasks;
//     allot::account memory{allot::name{"engine"}, allot::limit{8_GiB}, tasks};
//     allot::row_manager<allot::use::spark> rows{memory};
//
// Retry: oom/retry.hpp. Source: Spark-RAPIDS, 2022.
#pragma once

#include <allot/core/policies.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/reclaim/chain.hpp>

namespace allot::inline ALLOT_ABI {
namespace use {

/// Policies for a row_manager or chunk_arena below an account. With page::on_device<Api>, for a device_allocator:
/// struct gpu : allot::with<allot::use::spark, allot::page::on_device<Api>, allot::fit::best, allot::order::stream> {};
struct spark : policies<ledger::tree, spill::chain, oom::state_machine> {};

} // namespace use
} // namespace allot::inline ALLOT_ABI
