// The free slots of a page under a guard: the slot policy's, with encoded links where the guard asks for them and the
// policy keeps links in rows.
//
// Cost: none here; that of encoding is in slots/link_code.hpp.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Slots, class Guard>
inline constexpr bool encodes_links = Guard::encodes && requires { typename Slots::in_page_encoded; };

template <class Slots, bool Encoded> struct free_slots_of {
    using type = typename Slots::in_page;
};
template <class Slots> struct free_slots_of<Slots, true> {
    using type = typename Slots::in_page_encoded;
};
template <class Slots, class Guard> using free_slots = typename free_slots_of<Slots, encodes_links<Slots, Guard>>::type;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
