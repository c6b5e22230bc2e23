// The functions that bench/instructions.py counts under callgrind. Each is an instance measured::allocate<Variant,
// Rows> that is called once, so callgrind's inclusive cost of that call is the count.
//
//   in cache     32 rows from a handle with 64 free slots, and back: the shortest path
//   in batches   20000 rows and back: refills and spills, divided among the rows
//
// Each kind of subject has its own source file: the more a compiler has before it, the less it inlines.
#pragma once

#include <harness/job.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace measured {

template <int Variant, int Rows, class User> [[gnu::noinline]] void allocate(User& user, std::vector<void*>& rows) {
    for (void*& row : rows) {
        row = user.allocate(64);
        bench::escape(row);
    }
}
template <int Variant, int Rows, class User> [[gnu::noinline]] void release(User& user, std::vector<void*>& rows) {
    for (void* row : rows) user.release(row, 64);
}

} // namespace measured

namespace counted {

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

// Its variant's number is told beside the name: the profile knows only that.
template <int Variant, class Subject> void count(const char* name) {
    Subject& subject = *new Subject(bench::job{&bench::workloads[1], 64, 1});
    typename Subject::user user(subject);
    bench::escape(&user);
    count_rows<Variant, 32>(user);
    count_rows<Variant, 20'000>(user);
    std::printf("%d %s\n", Variant, name);
}

void rows();
void chunks();
void accounts();
void faces();

} // namespace counted
