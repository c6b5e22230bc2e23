// Compile with -DALLOT_CHECKED=1: std_allocator::allocate(SIZE_MAX / 4) of int, and memory_resource::allocate beyond
// PTRDIFF_MAX: the standard wants an exception (bad_alloc or bad_array_new_length). It was: a checked build aborts as
// for misuse. Today: holds in every build.
#include <allot/adapt/std_allocator.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <cstdio>
using namespace allot::literals;
int main() {
    allot::row_manager<allot::use::containers> rows{allot::limit{64_MiB}};
    allot::adapt::std_allocator<int, decltype(rows)> a{rows};
    try {
        (void)a.allocate(SIZE_MAX / 4);
    } catch (const std::bad_alloc& e) {
        std::printf("thrown: %s\n", e.what());
    }
}
