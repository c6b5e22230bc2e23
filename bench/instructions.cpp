// allot_instructions: what bench/instructions.py counts under callgrind. Each measured function is an instance
// measured::allocate<Variant, Rows> that is called once, so callgrind's inclusive cost of that call is its count.
//
//   in cache     32 rows from a handle that has 64 free slots, and back: the shortest path
//   in batches   20000 rows and back: refilling and spilling shared out over the rows
#include <bounds/free_list.hpp>
#include <ours/list.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace measured {

template <int Variant, int Rows, class User>
[[gnu::noinline]] void allocate(User& user, std::vector<void*>& rows) {
    for (void*& row : rows) {
        row = user.allocate(64);
        bench::escape(row);
    }
}
template <int Variant, int Rows, class User>
[[gnu::noinline]] void release(User& user, std::vector<void*>& rows) {
    for (void* row : rows) user.release(row, 64);
}

} // namespace measured

namespace {

// The same work unmeasured: under other names.
template <class User> void warm(User& user, std::vector<void*>& rows) {
    for (void*& row : rows) row = user.allocate(64);
    for (void* row : rows) user.release(row, 64);
}

template <int Variant, int Rows, class User> void count_rows(User& user) {
    std::vector<void*> rows(Rows);
    for (int time = 0; time < 3; ++time) warm(user, rows);
    measured::allocate<Variant, Rows>(user, rows);
    measured::release<Variant, Rows>(user, rows);
}

template <int Variant, class Subject> void count(const char* name) {
    Subject& subject = *new Subject(bench::job{&bench::workloads[1], 64, 1});
    typename Subject::user user(subject);
    bench::escape(&user);
    count_rows<Variant, 32>(user);
    count_rows<Variant, 20'000>(user);
    std::printf("%d %s\n", Variant, name);
}

} // namespace

int main() {
    using namespace bench;
    using unique = allot::heap::unique;
    count<0, null_bound>("null");
    count<1, free_list_bound<false>>("free_list");
    count<2, free_list_bound<true>>("free_list_counted");
    count<3, local_heap_subject<bitmap_rows, unique>>("heap_local_bitmap");
    count<4, local_heap_subject<linked_rows, unique>>("heap_local_linked");
    count<5, local_heap_subject<bitmap_rows, unique, allot::size::packed>>("heap_local_packed");
    count<6, local_rows_subject<bitmap_rows>>("rows_local");
    count<7, heap_subject<bitmap_rows>>("heap_no_handle");
    count<8, manager_subject<bitmap_rows>>("manager_shared");
    count<9, manager_subject<thread_rows>>("manager_per_thread");
    count<10, local_heap_subject<guarded_rows, unique>>("heap_local_guarded");
}
