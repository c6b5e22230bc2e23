// Memory that goes from operator to operator without a copy: views, who is charged, a reservation, foreign memory, and
// what happens when the owner lets go first.
#include <allot/buffers.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>

using namespace allot::literals;

struct pool : allot::policies<> {};

int main() {
    allot::row_manager<pool> rows{allot::limit{64_MiB}};
    allot::buffer_memory memory{rows}; // or a chunk arena, the process' heap, a device allocator at a stream

    allot::account query{allot::name{"query"}, allot::limit{1_MiB}};
    allot::account scan{query, allot::name{"scan"}}, join{query, allot::name{"join"}},
        sort{query, allot::name{"sort"}, allot::limit{4_KiB}};

    allot::buffer block = memory.allocate(scan, 8'000); // charged by what it really takes
    block.set<std::uint32_t>(0, 42);
    allot::buffer head = block.slice(0, 100); // one atomic addition
    allot::buffer theirs = head.retain(join); // join sees the same bytes; scan stays charged
    std::printf("scan %zu, join %zu bytes\n", scan.used(), join.used());
    if (scan.used() != block.block_bytes() || join.used() != 0 || theirs.get<std::uint32_t>(0) != 42) return 1;

    block.release(), head.release(); // scan lets go: join, who has a view, is charged from now on
    if (scan.used() != 0 || theirs.charged() != &join) return 2;

    const std::size_t before = query.used(), peak = query.peak();
    auto [mine, how] = std::move(theirs).transfer(sort); // by force: it is more than sort may have
    std::printf("sort has it; %s\n", how.fitted() ? "it fits" : "it is over its limit");
    if (how.fitted() || query.used() != before || query.peak() != peak) return 3; // nobody above has noticed

    allot::buffer_reservation result{memory, join}; // sizes first, one allocation then
    if (!result.add(3_KiB) || !result.add(1_KiB) || result.add(2_MiB)) return 4;
    allot::buffer page = result.allocate();
    if (page.size() != 4_KiB || page.charged() != &join) return 5;
    if (!page.reallocate_if_needed(16_KiB) || page.size() != 16_KiB) return 6; // another block; contents are not copied

    static std::byte file[512]; // of somebody else
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
