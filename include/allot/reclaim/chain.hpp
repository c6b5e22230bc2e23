// spill::chain: requests for rows, blocks and device memory that an account refuses call its reclaimers.
//
// A product reads `asks`, and climbs the ladder (request/ladder.hpp) where no lock is held.
// Source: HPCC roxiemem's callbacks of rows (IBufferedRowCallback), 2011.
#pragma once

#include <allot/core/category/spill.hpp>
#include <allot/core/property.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {

namespace spill {

/// The reclaimers of the accounts at and below the one that refuses free memory, then the request is made again.
struct chain {
    using category = category::spill;
    using needs = types<property::accounts>;
    using provides = types<>;
    static constexpr bool asks = true;
    static constexpr std::string_view about = "the reclaimers of the accounts, the lowest cost first (docs/reclaim.md)";
    static constexpr std::string_view cost = "0 until an account refuses";
};

static_assert(category::spill::takes<chain>);

} // namespace spill

} // namespace allot::inline ALLOT_ABI
