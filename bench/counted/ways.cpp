// The ways in which users reach rows: the ones that docs/bench/rows.md compares with peers. Beside them the malloc and
// free of the process, plain and with the link count that a program writes in front of a row.
#include <counted/count.hpp>

#include <bounds/free_list.hpp>
#include <harness/counted_over.hpp>
#include <ours/sets.hpp>
#include <ours/subjects.hpp>

#include <cstddef>
#include <cstdlib>

namespace counted {

struct process_malloc {
    BENCH_INLINE void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes); }
    BENCH_INLINE void release(void* block, std::size_t) noexcept { std::free(block); }
};

template <bool Rows> struct malloc_subject : bench::bound_traits {
    static constexpr bool any_size = true;
    explicit malloc_subject(const bench::job&) noexcept {}
    struct user : bench::counted_over<Rows, process_malloc> {
        explicit user(malloc_subject&) noexcept : bench::counted_over<Rows, process_malloc>(process_malloc{}) {}
    };
};

} // namespace counted

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
    count<28, malloc_subject<false>>("malloc");
    count<29, malloc_subject<true>>("malloc_counted");
}
