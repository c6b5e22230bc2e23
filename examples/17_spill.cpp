// A table is sorted in a sixteenth of its size: sorted runs leave memory for a file, and come back block by block.
//
//     17_spill          1 GiB in 64 MiB; 17_spill 64: 64 MiB in 4 MiB
#include <algorithm>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

using namespace allot::literals;
using block = allot::stored<allot::buffer>;

struct blocks_of_bytes : allot::policies<allot::ledger::pool, allot::fit::runs> {};

static std::span<std::uint64_t> numbers(const allot::buffer& b) {
    return {reinterpret_cast<std::uint64_t*>(b.data()), b.size() / 8};
}

int main(int argc, char** argv) {
    const std::size_t table = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024) * 1_MiB; // MiB; 1 GiB
    const std::size_t limit = table / 16, run = limit / 4, part = limit / 512;

    allot::account engine{allot::name{"sort"}, allot::limit{limit}}, disk{allot::name{"disk"}};
    allot::chunk_arena<blocks_of_bytes> pool{engine, allot::chunk_bytes{1_MiB}};
    allot::buffer_memory memory{pool};
    allot::spill_files files{disk, "/tmp"};
    allot::store store{engine, files};

    auto progress = [&, shown = std::size_t{0}](const char* what, std::size_t done) mutable {
        if (const std::size_t percent = done * 100 / table; percent != std::exchange(shown, percent))
            std::fprintf(stderr, "\r%s: %3zu %%, %4zu MiB in memory, %4zu MiB on disk ", what, percent,
                         engine.used() >> 20, disk.used() >> 20);
    };
    std::uint64_t seed = 1, sum = 0;
    std::vector<std::vector<block>> runs;
    for (std::size_t at = 0; at < table; at += run) {
        allot::buffer b = memory.allocate(engine, run); // earlier runs leave, if they must
        for (std::uint64_t& n : numbers(b)) sum += n = seed = seed * 6364136223846793005u + 1442695040888963407u;
        std::ranges::sort(numbers(b));
        runs.emplace_back();
        for (std::size_t from = 0; from != run; from += part) {
            allot::buffer copy = memory.allocate(engine, part);
            std::ranges::copy(b.bytes().subspan(from, part), copy.data());
            runs.back().push_back(store.put(std::move(copy)));
        }
        progress("sort ", at + run);
    }

    // Merges the runs: of each one block is pinned. A block that was read ends, in memory and on disk.
    struct cursor {
        std::vector<block>* of;
        std::size_t block_at = 0, at = 0;
        std::optional<block::pinned> pin;
        std::uint64_t now() const { return numbers(**pin)[at]; }
    };
    std::vector<cursor> cursors;
    cursors.reserve(runs.size());
    for (std::vector<block>& r : runs) cursors.push_back({&r, 0, 0, r[0].pin()});
    const auto later = [](const cursor* a, const cursor* b) { return a->now() > b->now(); };
    std::priority_queue<cursor*, std::vector<cursor*>, decltype(later)> next(later);
    for (cursor& c : cursors) next.push(&c);
    std::size_t done = 0;
    for (std::uint64_t last = 0; !next.empty(); done += 8) {
        cursor* const c = next.top();
        next.pop();
        if (c->now() < last) return 1;
        sum -= last = c->now();
        if (++c->at == part / 8) {
            c->at = 0, c->pin.reset();
            (*c->of)[c->block_at] = {};
            if (++c->block_at != c->of->size()) c->pin.emplace((*c->of)[c->block_at].pin());
            progress("merge", done + 8);
        }
        if (c->pin) next.push(c);
    }
    const allot::store_stats s = store.stats();
    std::printf("\n%zu MiB sorted below %zu MiB: %lu MiB left memory, %lu MiB were written, %lu MiB read\n", done >> 20,
                limit >> 20, s.bytes_left >> 20, s.bytes_written >> 20, s.bytes_read >> 20);
    return done == table && sum == 0 && engine.peak() <= limit && disk.used() == 0 ? 0 : 2;
}
