// expected-error {{needs a constructor argument that is missing}} {{chunk_arena}} {{buffers}} {{arena}}
#include <allot/chunk_arena.hpp>

struct buffers : allot::policies<allot::page::of<allot::arena<>>> {};

int main() {
    allot::arena<> pages{allot::limit{1 << 20}};
#if WRONG
    allot::chunk_arena<buffers> blocks{allot::limit{1 << 20}};
#else
    allot::chunk_arena<buffers> blocks{pages, allot::limit{1 << 20}};
#endif
    blocks.deallocate(blocks.allocate(8).address);
}
