// The ways in which users reach rows: the ones that docs/bench/rows.md compares with peers.
#include <counted/count.hpp>

#include <ours/sets.hpp>
#include <ours/subjects.hpp>

void counted::ways() {
    using namespace bench;
    count<20, manager_subject<allot::use::roxie>>("roxie");
    count<21, manager_subject<allot::use::thor>>("thor");
    count<22, manager_subject<thread_rows>>("per_thread");
    count<23, manager_subject<uncounted_thread_rows>>("per_thread_uncounted");
    count<24, local_rows_subject<bitmap_rows>>("rows_local");
    count<25, local_rows_subject<uncounted_rows>>("rows_local_uncounted");
    count<26, local_heap_subject<bitmap_rows>>("heap_handle");
    count<27, local_heap_subject<uncounted_rows>>("heap_handle_uncounted");
}
