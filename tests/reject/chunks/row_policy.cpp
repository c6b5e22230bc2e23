// expected-error {{this product does not read the category of a policy}} {{buffers}} {{chunk_arena}} {{slots::bitmap}}
#include <allot/chunk_arena.hpp>
#include <allot/report/chunks.hpp>
#include <allot/slots/bitmap.hpp>

#if WRONG
struct buffers : allot::policies<allot::slots::bitmap, allot::fit::runs> {};
#else
struct buffers : allot::policies<allot::fit::runs> {};
#endif

int main() {
    allot::chunk_arena<buffers> blocks{allot::limit{1 << 20}};
    auto b = blocks.allocate(8);
    b = blocks.resize(b.address, 16);
    blocks.deallocate(b.address, blocks.capacity(b.address));
    blocks.trim();
    blocks.release_empty_pages();
    return static_cast<int>(blocks.chunk_bytes());
}
