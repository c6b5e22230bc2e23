// expected-error {{a chunk_arena serves all threads; name heap::shared or heap::per_thread}} {{buffers}}
// {{heap::unique}}
#include <allot/chunk_arena.hpp>

#if WRONG
struct buffers : allot::policies<allot::heap::unique, allot::fit::runs> {};
#else
struct buffers : allot::policies<allot::heap::per_thread, allot::fit::runs> {};
#endif

int main() {
    allot::chunk_arena<buffers> blocks{allot::limit{1 << 20}};
    blocks.deallocate(blocks.try_allocate(8).address);
}
