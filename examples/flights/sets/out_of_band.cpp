// Link counts and free slots out of band: no header in front of a row.
#include "../job.hpp"
#include "../sets.hpp"

namespace flights::sets {

struct out_of_band_rows : allot::policies<allot::size::bucketed<allot::size::list::fine>, allot::slots::bitmap,
                                          allot::count::links_out_of_band> {};

extern const set_entry out_of_band;
const set_entry out_of_band{"out_of_band", run_job<out_of_band_rows>,
                            [] { return std::string(allot::describe<charged<out_of_band_rows>>().text()); }};

} // namespace flights::sets
