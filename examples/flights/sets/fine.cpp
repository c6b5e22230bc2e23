// Eight size classes per doubling: rounding wastes at most an eighth of a slot.
#include "../job.hpp"
#include "../sets.hpp"
#include <allot/row_manager.hpp>

namespace flights::sets {

struct fine_rows : allot::policies<allot::size::bucketed<allot::size::list::fine>> {};

extern const set_entry fine;
const set_entry fine{"fine", run_job<fine_rows>,
                     [] { return std::string(allot::describe<charged<fine_rows>>().text()); }};

} // namespace flights::sets
