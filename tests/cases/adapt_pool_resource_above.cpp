// std::pmr::unsynchronized_pool_resource (libstdc++) with pool blocks of 64 KiB over adapt::memory_resource of a row
// manager and of a chunk_arena: expected to work, as over new_delete_resource; libstdc++ asks its upstream for chunks
// aligned to the block size, and both refuse (rows above 4096, blocks above the page of 16 KiB) although chunk_arena
// itself serves alignments up to 16 MiB. Today: falls short in every build.
#include <allot/adapt/pmr.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <cstdio>
#include <memory_resource>
using namespace allot::literals;
struct blocks : allot::policies<> {};
static bool refused = false;
static void run(const char* name, std::pmr::memory_resource& up) {
    std::pmr::unsynchronized_pool_resource pool{{.max_blocks_per_chunk = 0, .largest_required_pool_block = 65536}, &up};
    for (std::size_t n : {100ul, 5000ul, 20000ul, 60000ul}) try {
            void* p = pool.allocate(n);
            pool.deallocate(p, n);
            std::printf("%s: %zu ok\n", name, n);
        } catch (const std::bad_alloc& e) {
            refused = true;
            std::printf("%s: %zu: %s\n", name, n, e.what());
        }
}
int main() {
    allot::row_manager<allot::use::containers> rows{allot::limit{256_MiB}};
    allot::chunk_arena<blocks> chunks{allot::limit{256_MiB}};
    allot::adapt::memory_resource r{rows};
    allot::adapt::memory_resource c{chunks};
    run("new_delete", *std::pmr::new_delete_resource());
    run("rows", r);
    run("chunks", c);
    const allot::block b = chunks.allocate(100, 1 << 20);
    std::printf("chunks.allocate(100, 1 MiB) itself: %s\n", b ? "works" : "refused");
    chunks.deallocate(b.address);
    return refused;
}
