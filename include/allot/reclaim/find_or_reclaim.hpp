// A product's request, made again while reclaimers free memory: the face of spill::chain.
//
// Requires that the thread holds no lock, and that each cache is as it is between two requests: a reclaimer may use the
// product. Cost: none without spill::chain; with it, one byte is written where a cache is empty. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/last_refusal.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

// What find() returns; if that is null since an account refused, what again() returns while its reclaimers free memory.
// again() looks into caches first, since a reclaimer may have filled them.
template <bool Asks, class Ledger, class Find, class Again>
ALLOT_ALWAYS_INLINE auto find_or_reclaim([[maybe_unused]] Ledger& ledger, Find find, [[maybe_unused]] Again again) {
    if constexpr (!Asks) {
        return find();
    } else {
        forget_refusal();
        auto got = find();
        if (ALLOT_UNLIKELY(!got)) ledger.serve([&] { return static_cast<bool>(got = again()); });
        return got;
    }
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
