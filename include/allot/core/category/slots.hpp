// The category `slots`: how is a free slot found in a heaplet.
//
// Declarations and contract; the answers themselves live in allot/slots/.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace slots {

struct linked;        // a list through the free slots
struct bitmap;        // out of band: the memory itself is not touched
struct scanning;      // marks in front of the rows
struct delay_release; // the same; counted later

} // namespace slots

namespace category {

struct slots {
    static constexpr std::string_view name = "slots";
    static constexpr std::string_view question = "how is a free slot found in a heaplet";
    static constexpr std::string_view contract = "its category is slots; what heaplets ask of it stands in allot/slots";
    static constexpr std::string_view fallback_rule = "bitmap";
    static constexpr std::string_view room = "slots";
    using fallback = allot::slots::bitmap;

    template <class P> static constexpr bool takes = detail::answers<P, slots>;
};

} // namespace category

} // namespace allot::inline ALLOT_ABI
