// allot_instructions: what bench/instructions.py counts under callgrind. Each measured function is an instance
// measured::allocate<Variant, Rows> that is called once, so callgrind's inclusive cost of that call is its count.
//
//   in cache     32 rows from a handle that has 64 free slots, and back: the shortest path
//   in batches   20000 rows and back: refilling and spilling shared out over the rows
#include <allot/chunk_arena.hpp>

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

namespace measured { // named, so that no two of their functions are folded into one

// Blocks of a chunk arena; Sized: told their bytes.
template <bool Sized, class... Ps> struct chunk_subject {
    struct set : allot::policies<allot::fit::runs, allot::oom::null, Ps...> {};
    allot::chunk_arena<set> blocks{allot::limit{std::size_t{1} << 30}};

    explicit chunk_subject(const bench::job&) {}
    struct user {
        explicit user(chunk_subject& of) : blocks(of.blocks) {}
        void* allocate(std::size_t bytes) { return blocks.try_allocate(bytes).address; }
        void release(void* p, [[maybe_unused]] std::size_t bytes) {
            if constexpr (Sized) blocks.deallocate(p, bytes);
            else blocks.deallocate(p);
        }
        allot::chunk_arena<set>& blocks;
    };
};

} // namespace measured

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
    using allot::heap::per_thread;
    using measured::chunk_subject;
    count<11, chunk_subject<false>>("chunks_shared");
    count<12, chunk_subject<false, per_thread>>("chunks_per_thread");
    count<13, chunk_subject<true, per_thread>>("chunks_per_thread_told_bytes");
    count<14, chunk_subject<true, per_thread, allot::watch::none>>("chunks_per_thread_unwatched");
}
