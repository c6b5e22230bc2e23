// The category `fit`: how a free run is found, in device allocators and chunk arenas.
//
// Declarations and contract; the answers are in allot/fit/.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace fit {

struct best;  // best fit, by an index of all free runs, out of band
struct buddy; // a buddy system: powers of two
struct runs;  // size classes, four per doubling

} // namespace fit

namespace category {

struct fit {
    static constexpr std::string_view name = "fit";
    static constexpr std::string_view question = "how is a free run found";
    static constexpr std::string_view contract =
        "bool tags: each free run keeps a tag, which streams need; unsigned classes: the size classes per doubling "
        "that "
        "waste least; bool whole_pages: blocks of more than four pages of a chunk arena are whole pages; of<Tag, "
        "Memory>: the implementation, with the members that allot/chunk/chunk_heap.hpp calls";
    static constexpr std::string_view fallback_rule = "best";
    static constexpr std::string_view room = "fit";
    using fallback = allot::fit::best;

    template <class P>
    static constexpr bool takes = detail::answers<P, fit> && requires {
        { P::tags } -> detail::constant<bool>;
        { P::classes } -> detail::constant<unsigned>;
        { P::whole_pages } -> detail::constant<bool>;
    };
};

} // namespace category

} // namespace allot::inline ALLOT_ABI
