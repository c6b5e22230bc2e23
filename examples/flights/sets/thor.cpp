// The ready set for jobs with many rows.
#include "../job.hpp"
#include "../sets.hpp"
#include <allot/use/thor.hpp>

namespace flights::sets {

extern const set_entry thor;
const set_entry thor{"thor", run_job<allot::use::thor>,
                     [] { return std::string(allot::describe<charged<allot::use::thor>>().text()); }};

} // namespace flights::sets
