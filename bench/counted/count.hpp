// The functions that bench/instructions.py counts under callgrind. Each is an instance of a template of this namespace
// that is called once, so callgrind's inclusive cost of that call is the count.
//
//   W1   pairs: a row is allocated, written and released
//   W2   100,000 rows are allocated and written, then released last first: refills and spills, divided among the rows
//   one  a request that takes a page, is refused, waits, or is rolled back: cold.cpp; a call of the simulated device:
//   device.cpp
//
// Sizes are 64 bytes, read from memory, and mixed ones from a table where the subject has rows of any size. Each kind
// of subject has its own source file: the more a compiler has before it, the less it inlines.
#pragma once

#include <harness/job.hpp>
#include <workloads/one_thread.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace measured {

using bench::mixed_sizes;
using bench::one_size;
using bench::word;

template <int Variant, class Sizes, class User>
[[gnu::noinline]] void pair(User& user, const Sizes& sizes, std::size_t n) {
    bench::pairs(user, sizes, n);
}
template <int Variant, class Sizes, class User>
[[gnu::noinline]] void allocate(User& user, const Sizes& sizes, std::vector<word>& rows) {
    bench::fill(user, sizes, rows);
}
template <int Variant, class Sizes, class User>
[[gnu::noinline]] void release(User& user, const Sizes& sizes, std::vector<word>& rows) {
    bench::drain_back(user, sizes, rows);
}
template <int Variant, class Subject> [[gnu::noinline]] void cold(Subject& of) { of.call(); }

} // namespace measured

namespace counted {

inline constexpr std::size_t rows_of_W1 = 10'000, rows_of_W2 = 100'000; // known to instructions.py
inline constexpr int cold_calls = 200;                                  // the same

template <int Variant, class User, class Sizes>
void count_once(User& user, const Sizes& sizes, std::vector<bench::word>& rows) {
    measured::pair<Variant>(user, sizes, rows_of_W1);
    measured::allocate<Variant>(user, sizes, rows);
    measured::release<Variant>(user, sizes, rows);
}

template <int Variant, class Subject, class Sizes> void count_sizes(const Sizes& sizes, std::size_t bytes) {
    constexpr int warm = -1; // the same work unmeasured
    Subject& subject = *new Subject(bench::job{&bench::workloads[1], bytes, 1});
    typename Subject::user user(subject);
    bench::escape(&user);
    bench::escape(&sizes);
    std::vector<bench::word> rows(rows_of_W2);
    for (int time = 0; time < 2; ++time) count_once<warm>(user, sizes, rows);
    count_once<Variant>(user, sizes, rows);
}

// Its variant's number is printed beside the name: the profile knows only that.
template <int Variant, class Subject> void count(const char* name) {
    count_sizes<Variant, Subject>(bench::one_size{64}, 64);
    if constexpr (requires { requires Subject::any_size; }) count_sizes<Variant, Subject>(bench::mixed_sizes{}, 0);
    std::printf("%d %s\n", Variant, name);
}

// The same for a request on a slow path, and for a call of the simulated device.
template <int Variant, class Subject> void count_cold(const char* name, Subject& subject) {
    constexpr int warm = -1; // the same unmeasured
    for (int n = 0; n != 2 * cold_calls; ++n) {
        subject.prepare();
        n < cold_calls ? measured::cold<warm>(subject) : measured::cold<Variant>(subject);
        if (!subject.has_happened()) std::fprintf(stderr, "%s: call %d was none\n", name, n), std::abort();
    }
    std::printf("%d %s\n", Variant, name);
}
template <int Variant, class Subject> void count_cold(const char* name) {
    Subject subject;
    count_cold<Variant>(name, subject);
}

void rows();
void ways();
void chunks();
void accounts();
void faces();
void cold();
void device();
void packets();

} // namespace counted
