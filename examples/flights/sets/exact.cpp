// Heaps of one row size have slots of exactly that size; other rows are rounded by the list `fine`.
#include "../job.hpp"
#include "../sets.hpp"

namespace flights::sets {

struct exact_rows : allot::policies<allot::size::exact> {};

extern const set_entry exact;
const set_entry exact{"exact", run_job<exact_rows>,
                      [] { return std::string(allot::describe<charged<exact_rows>>().text()); }};

} // namespace flights::sets
