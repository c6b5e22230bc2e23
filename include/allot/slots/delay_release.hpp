// slots::delay_release: as `scanning`, and who gives slots back while the heap's lock is taken counts them in a tally
// of its own first.
//
// A page is told some dozen slots at once, so threads that release rows of the same pages seldom meet at its state
// word. A slot that is marked and not counted yet may be claimed: the page's count is then below zero until the
// tally is told. What is counted is always found by a hint, so no claim looks further than under `scanning`.
// Cost: as `scanning`, and 528 bytes a cache. Free memory is seen later: slots/tally.hpp tells how much.
// Source: HPCC roxiemem's delayrelease heaps, 2017, whose pages do not know how full they are.
#pragma once

#include <allot/core/category/slots.hpp>
#include <allot/slots/deferred_frees.hpp>
#include <allot/slots/scanning.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace slots {

struct delay_release {
    using category = allot::category::slots;
    using needs = scanning::needs;
    using provides = scanning::provides;
    static constexpr std::string_view about =
        "as scanning; under contention the releaser keeps a tally, and counts some dozen at once";
    static constexpr std::string_view cost = "as scanning, and 528 bytes a cache; free memory is seen a little later";

    static constexpr std::size_t min_row_bytes = scanning::min_row_bytes;
    static constexpr std::size_t out_of_band_bytes(std::size_t slots, std::size_t stride, std::size_t header) noexcept {
        return scanning::out_of_band_bytes(slots, stride, header);
    }
    using in_page = scanning::in_page;
    using deferred_type = deferred_frees;
};

static_assert(category::slots::takes<delay_release>);

} // namespace slots
} // namespace allot::inline ALLOT_ABI
