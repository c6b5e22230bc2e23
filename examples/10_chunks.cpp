// Blocks of any size for buffers: an arena of chunks, cut into size classes. All that is kept about a block stands
// beside the memory, so the same lines serve a device's (page::on_device).
#include <allot/chunk_arena.hpp>
#include <allot/report/chunks.hpp>
#include <cstdio>
#include <cstring>

using namespace allot::literals;

struct query_memory
    : allot::policies<allot::fit::runs,        // size classes, 4 a doubling; fit::buddy: powers of two
                      allot::heap::per_thread, // threads keep a few free blocks, until somebody needs them
                      allot::retain::on_call> {};

int main() {
    allot::chunk_arena<query_memory> blocks{allot::limit{256_MiB}, allot::name{"query"}};

    allot::block batch = blocks.allocate(100'000); // throws out_of_memory, with a page of who holds it
    std::printf("100000 bytes asked, %zu usable\n", batch.bytes);
    std::memset(batch.address, 1, batch.bytes);

    if (const allot::block more = blocks.resize(batch.address, 150'000)) batch = more; // in place, or not at all
    std::printf("now it has %zu\n", blocks.capacity(batch.address));
    blocks.deallocate(batch.address);                     // by any thread
    blocks.deallocate(blocks.allocate(100).address, 100); // told the bytes, it need not look them up

    const allot::block table = blocks.allocate(40_MiB); // more than a chunk: pages of the same arena
    blocks.deallocate(table.address);

    static char page[4096];
    allot::text_writer out{page};
    allot::write_report(out, blocks);
    std::fputs(page, stdout);

    blocks.trim(); // all caches, whoever's they are; then what is free goes back to the system
    std::printf("held after trim: %zu bytes\n", blocks.stats().held);
    return blocks.stats().held == 0 ? 0 : 1;
}
