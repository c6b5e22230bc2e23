// The category `slots`: how a free slot is found in a heaplet.
//
// Declarations and contract; the answers are in allot/slots/.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace slots {

struct linked;        // a list through the free slots
struct bitmap;        // out of band: the memory itself is not accessed
struct scanning;      // marks in front of the rows
struct delay_release; // as scanning; releases are counted later

} // namespace slots

namespace category {

struct slots {
    static constexpr std::string_view name = "slots";
    static constexpr std::string_view question = "how is a free slot found in a heaplet";
    static constexpr std::string_view contract =
        "category, needs, provides; allot/slots/ shows the members that heaplets call";
    static constexpr std::string_view fallback_rule = "bitmap";
    static constexpr std::string_view room = "slots";
    using fallback = allot::slots::bitmap;

    template <class P> static constexpr bool takes = detail::answers<P, slots>;
};

} // namespace category

} // namespace allot::inline ALLOT_ABI
