// Each thread has its own heaplets; fine size classes.
#include "../job.hpp"
#include "../sets.hpp"
#include <allot/row_manager.hpp>

namespace flights::sets {

struct per_thread_rows : allot::policies<allot::heap::per_thread, allot::size::bucketed<allot::size::list::fine>> {};

extern const set_entry per_thread;
const set_entry per_thread{"per_thread", run_job<per_thread_rows>,
                           [] { return std::string(allot::describe<charged<per_thread_rows>>().text()); }};

} // namespace flights::sets
