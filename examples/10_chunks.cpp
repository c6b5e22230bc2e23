// Blocks of any size, for buffers: an arena of chunks that are cut into size classes. Metadata is kept out of band, so
// the same code works for the memory of a device (page::on_device).
#include <allot/chunk_arena.hpp>
#include <allot/report/chunks.hpp>
#include <cstdio>
#include <cstring>

using namespace allot::literals;

struct query_memory : allot::policies<allot::fit::runs,        // 4 size classes per doubling; fit::buddy: powers of two
                                      allot::heap::per_thread, // each thread caches a few free blocks
                                      allot::retain::on_call> {};

int main() {
    allot::chunk_arena<query_memory> blocks{allot::limit{256_MiB}, allot::name{"query"}};

    allot::block batch = blocks.allocate(100'000); // throws out_of_memory, with a report
    std::printf("100000 bytes requested, %zu usable\n", batch.bytes);
    std::memset(batch.address, 1, batch.bytes);

    if (const allot::block more = blocks.resize(batch.address, 150'000)) batch = more; // in place, or not at all
    std::printf("after resize: %zu usable\n", blocks.capacity(batch.address));
    blocks.deallocate(batch.address);                     // on any thread
    blocks.deallocate(blocks.allocate(100).address, 100); // with the size, no lookup is needed

    const allot::block table = blocks.allocate(40_MiB); // larger than a chunk: whole pages of the same arena
    blocks.deallocate(table.address);

    static char page[4096];
    allot::text_writer out{page};
    allot::write_report(out, blocks);
    std::fputs(page, stdout);

    blocks.trim(); // empties the caches of all threads, then returns free memory to the system
    std::printf("held after trim: %zu bytes\n", blocks.stats().charged);
    return blocks.stats().charged == 0 ? 0 : 1;
}
