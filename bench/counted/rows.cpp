// Rows of heaps, handles and managers, and the lists that they are compared with.
#include <counted/count.hpp>

#include <bounds/free_list.hpp>
#include <ours/sets.hpp>
#include <ours/subjects.hpp>

void counted::rows() {
    using namespace bench;
    using unique = allot::heap::unique;
    count<0, null_bound>("null");
    count<1, free_list_bound<false>>("free_list");
    count<2, free_list_bound<true>>("free_list_counted");
    count<3, local_heap_subject<bitmap_rows, unique>>("heap_local_bitmap");
    count<4, local_heap_subject<linked_rows, unique>>("heap_local_linked");
    count<5, local_heap_subject<bitmap_rows, unique, allot::size::packed>>("heap_local_packed");
    count<6, local_heap_subject<guarded_rows, unique>>("heap_local_guarded");
    count<7, heap_subject<bitmap_rows>>("heap_no_handle");
}
