// Umbrella header of the target `allot_tools`: recordings of what a program allocates, memory over time, and the HTML
// page of all reports. It needs the other targets.
//
// Adapters are not included here, since each needs the headers of a third party: include allot/adapt/arrow_pool.hpp,
// allot/adapt/rocksdb.hpp, allot/adapt/sqlite.hpp or allot/adapt/sqlite_pages.hpp beside it.
#pragma once

#include <allot/adapt/recorded.hpp>
#include <allot/report/html.hpp>
#include <allot/report/memory_timeline.hpp>
#include <allot/report/timeline_log.hpp>
#include <allot/watch/recording.hpp>
#include <allot/watch/recording_reader.hpp>
