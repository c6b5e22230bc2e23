// The category `fit`: how is a free run found, in device allocators and in arenas of chunks.
//
// Declarations and contract; the answers themselves live in allot/heap/.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace fit {

struct best; // an index of all free runs, out of band

} // namespace fit

namespace category {

struct fit {
    static constexpr std::string_view name = "fit";
    static constexpr std::string_view question = "how is a free run found";
    static constexpr std::string_view contract =
        "its category is fit; what allocators ask of it stands in allot/heap";
    static constexpr std::string_view fallback_rule = "best";
    static constexpr std::string_view room = "heap";
    using fallback = allot::fit::best;

    template <class P> static constexpr bool takes = detail::answers<P, fit>;
};

} // namespace category

} // namespace allot::inline ALLOT_ABI
