// allot_instructions: what bench/instructions.py counts under callgrind. Each measured function is a template
// instance named measured::...; callgrind writes its counts when one ends.
//
//   in cache     32 rows from a handle that has 64 free slots, and back: the shortest path
//   in batches   20000 rows and back: refilling and spilling shared out over the rows
#include <bounds/free_list.hpp>
#include <ours/subjects.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace measured {

template <class User>
[[gnu::noinline]] void allocate(User& user, std::vector<void*>& rows) {
    for (void*& row : rows) {
        row = user.allocate(64);
        bench::escape(row);
    }
}
template <class User>
[[gnu::noinline]] void release(User& user, std::vector<void*>& rows) {
    for (void* row : rows) user.release(row);
}

} // namespace measured

namespace {

// The same work unmeasured: under other names.
template <class User>
void warm(User& user, std::vector<void*>& rows) {
    for (void*& row : rows) row = user.allocate(64);
    for (void* row : rows) user.release(row);
}

template <class Subject>
void count(const char* name) {
    const bench::job what{bench::workload::lifo, 64, 1};
    Subject& subject = *new Subject(what);
    typename Subject::user user(subject);
    bench::escape(&user);
    for (const std::size_t n : {std::size_t{32}, std::size_t{20'000}}) {
        std::vector<void*> rows(n);
        for (int time = 0; time < 3; ++time) warm(user, rows);
        std::printf("%s %zu\n", name, n); // instructions.py pairs these lines with callgrind's dumps
        measured::allocate(user, rows);
        measured::release(user, rows);
    }
}

} // namespace

int main() {
    using namespace bench;
    using unique = allot::heap::unique;
    count<null_bound>("null");
    count<free_list_bound<false>>("free_list");
    count<free_list_bound<true>>("free_list_counted");
    count<local_heap_subject<bitmap_rows, unique>>("heap_local_bitmap");
    count<local_heap_subject<linked_rows, unique>>("heap_local_linked");
    count<local_heap_subject<bitmap_rows, unique, allot::size::packed>>("heap_local_packed");
    count<local_rows_subject<bitmap_rows>>("rows_local");
    count<heap_subject<bitmap_rows>>("heap_no_handle");
    count<manager_subject<bitmap_rows>>("manager_shared");
    count<manager_subject<thread_rows>>("manager_per_thread");
}
