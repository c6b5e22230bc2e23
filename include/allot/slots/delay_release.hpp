// slots::delay_release: as slots::scanning, but a releaser that finds the heap's lock taken defers the count of freed
// slots (slots/deferred_frees.hpp).
//
// A page's state word is updated for some dozen slots at once, so threads that release rows of the same pages contend
// less. A slot that is marked and not counted may be claimed: the page's count is then negative until the flush.
// Counted slots are always found by a hint, so a claim scans no more than under slots::scanning.
// Cost: as slots::scanning, and 520 bytes per cache; free memory is seen later (slots/deferred_frees.hpp: Lag).
// Source: HPCC roxiemem's delayrelease heaps, 2017.
#pragma once

#include <allot/core/category/slots.hpp>
#include <allot/slots/deferred_frees.hpp>
#include <allot/slots/scanning.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace slots {

/// As slots::scanning; under contention releases are counted in batches, which costs less and shows free memory later.
struct delay_release {
    using category = allot::category::slots;
    using needs = scanning::needs;
    using provides = scanning::provides;
    static constexpr std::string_view about =
        "as scanning; under contention the releaser defers counting and counts some dozen slots at once";
    static constexpr std::string_view cost = "as scanning, and 520 bytes per cache; free memory is seen a little later";

    static constexpr std::size_t min_row_bytes = scanning::min_row_bytes;
    static constexpr std::size_t out_of_band_bytes(std::size_t slots, std::size_t stride, std::size_t header) noexcept {
        return scanning::out_of_band_bytes(slots, stride, header);
    }
    using in_page = scanning::in_page;
    using deferred_type = detail::deferred_frees;
};

static_assert(category::slots::takes<delay_release>);

} // namespace slots
} // namespace allot::inline ALLOT_ABI
