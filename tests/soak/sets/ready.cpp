// The fallbacks of every category, and the sets that the library names.
#include <soak/add_sets.hpp>

#include <allot/use/containers.hpp>
#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>

namespace {
struct fallbacks : allot::policies<> {};
} // namespace

ALLOT_SOAK_SET(fallbacks, "fallbacks", fallbacks)
ALLOT_SOAK_SET(roxie, "use::roxie", allot::use::roxie)
ALLOT_SOAK_SET(thor, "use::thor", allot::use::thor)
ALLOT_SOAK_SET(containers, "use::containers", allot::use::containers)
