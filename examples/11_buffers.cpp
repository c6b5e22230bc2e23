// Buffers that operators share without copies: slices, charges and transfers, reserved bytes, foreign memory, and an
// owner that releases its buffer first.
#include <allot/buffers.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>

using namespace allot::literals;

struct batches : allot::policies<> {};

int main() {
    allot::row_manager<batches> rows{allot::limit{64_MiB}};
    allot::buffer_memory memory{rows}; // or over a chunk arena, the process' heap, a device allocator and a stream

    allot::account query{allot::name{"query"}, allot::limit{1_MiB}};
    allot::account scan{query, allot::name{"scan"}}, join{query, allot::name{"join"}},
        sort{query, allot::name{"sort"}, allot::limit{4_KiB}};

    allot::buffer block = memory.allocate(scan, 8'000); // charged by the bytes of its block
    block.set<std::uint32_t>(0, 42);
    allot::buffer head = block.slice(0, 100); // one atomic addition
    allot::buffer theirs = head.retain(join); // join has a view of the same bytes; scan remains charged
    std::printf("scan %zu, join %zu bytes\n", scan.used(), join.used());
    if (scan.used() != block.block_bytes() || join.used() != 0 || theirs.get<std::uint32_t>(0) != 42) return 1;

    block.release(), head.release(); // scan has no view any more: join is charged from now on
    if (scan.used() != 0 || theirs.charged() != &join) return 2;

    const std::size_t before = query.used(), peak = query.peak();
    auto [mine, how] = std::move(theirs).transfer(sort); // succeeds, and exceeds the limit of sort
    std::printf("transferred to sort; %s\n", how.fitted() ? "it fits" : "sort is over its limit");
    if (how.fitted() || query.used() != before || query.peak() != peak) return 3; // no change for the query

    if (join.reserve_for(2_MiB, 0_ms)) return 4; // more than the query's limit: refused before anything is allocated
    allot::account_reservation sure = join.reserve_for(memory.capacity_for(3_KiB + 1_KiB), 0_ms);
    allot::buffer page = memory.allocate(join, 3_KiB + 1_KiB); // is paid by the reserved bytes
    sure.release();
    if (page.size() != 4_KiB || page.charged() != &join) return 5;
    if (!page.reallocate_if_needed(16_KiB) || page.size() != 16_KiB) return 6; // a new block; contents are not copied

    static std::byte file[512]; // memory that allot did not allocate
    auto unmap = [](void* done, std::byte*, std::size_t) noexcept { *static_cast<bool*>(done) = true; };
    bool unmapped = false;
    allot::buffer foreign = allot::buffer::of_foreign(scan, file, sizeof file, unmap, &unmapped);
    allot::buffer line = foreign.slice(100, 80);
    foreign.release();
    if (unmapped || scan.used() != 512) return 7;
    line.release();

    mine.release(), page.release();
    return unmapped && query.used() == 0 && query.verify() ? 0 : 8;
}
