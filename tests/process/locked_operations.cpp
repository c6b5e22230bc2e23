// Locked operations of a release, counted by stepping through it: what other threads allocated is given back in
// batches.
#include <support/catch.hpp>

#include <allot/row_manager.hpp>
#include <harness/traced.hpp>

#include <cstddef>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct counted : allot::policies<allot::heap::per_thread, allot::oom::null> {};
struct uncounted : allot::policies<allot::heap::per_thread, allot::count::none, allot::oom::null> {};

// A release of rows that another thread allocated, by a thread that allocates, too, or never did.
template <class Set> double locked_of_release(bool allocates) {
    const auto measured = bench::counted(100, false, [&] {
        allot::row_manager<Set> rows{allot::limit{64_MiB}};
        std::vector<void*> out;
        std::thread([&] {
            for (int i = 0; i < 320; ++i) out.push_back(rows.allocate(64));
        }).join();
        if (allocates)
            for (int i = 0; i < 100; ++i) rows.release(rows.allocate(64));
        bench::timed(out.size(), [&] {
            for (void* row : out) rows.release(row);
        });
    });
    return measured ? (*measured)[1] : -1;
}

} // namespace

TEMPLATE_TEST_CASE("remote releases are batched", "[process]", counted, uncounted) {
    if (ALLOT_ASAN || ALLOT_TSAN || !bench::can_count()) SKIP("no process may be stepped through here");
    const double both = locked_of_release<TestType>(true), only = locked_of_release<TestType>(false);
    INFO(both << " and " << only << " locked operations a release");
    CHECK(both >= 0);
    CHECK(both < 0.25); // a batch of 32: the heap's lock, and one for each page
    CHECK(only < 1.25); // a shared cache borrowed, then the same
}
