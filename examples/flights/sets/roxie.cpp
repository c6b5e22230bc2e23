// The ready set for queries with few rows: Roxie's size classes.
#include "../job.hpp"
#include "../sets.hpp"
#include <allot/use/roxie.hpp>

namespace flights::sets {

extern const set_entry roxie;
const set_entry roxie{"roxie", run_job<allot::use::roxie>,
                      [] { return std::string(allot::describe<charged<allot::use::roxie>>().text()); }};

} // namespace flights::sets
