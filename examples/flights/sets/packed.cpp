// Heaps of one row size round it up to 4 bytes; other rows are rounded by the list `fine`.
#include "../job.hpp"
#include "../sets.hpp"

namespace flights::sets {

struct packed_rows : allot::policies<allot::size::packed> {};

extern const set_entry packed;
const set_entry packed{"packed", run_job<packed_rows>,
                       [] { return std::string(allot::describe<charged<packed_rows>>().text()); }};

} // namespace flights::sets
