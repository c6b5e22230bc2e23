// The category `fit`: how is a free run found, in device allocators and in arenas of chunks.
//
// Declarations and contract; the answers themselves live in allot/heap/.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace fit {

struct best;  // an index of all free runs, out of band
struct buddy; // powers of two: halves of halves of a chunk
struct runs;  // size classes, four a doubling

} // namespace fit

namespace category {

struct fit {
    static constexpr std::string_view name = "fit";
    static constexpr std::string_view question = "how is a free run found";
    static constexpr std::string_view contract =
        "bool tags: a tag is kept with each run, so streams may free; unsigned classes: sizes a doubling that waste "
        "least; "
        "of<Tag, Memory>: the fit itself; what is asked of it stands in allot/chunk/chunk_heap.hpp";
    static constexpr std::string_view fallback_rule = "best";
    static constexpr std::string_view room = "fit";
    using fallback = allot::fit::best;

    template <class P>
    static constexpr bool takes = detail::answers<P, fit> && requires {
        { P::tags } -> detail::constant<bool>;
        { P::classes } -> detail::constant<unsigned>;
    };
};

} // namespace category

} // namespace allot::inline ALLOT_ABI
