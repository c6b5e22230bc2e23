// Four queries share too little memory: they are rolled back, they split their inputs, and all of them end.
#include <allot/oom/retry.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

using namespace allot::literals;
using batch = allot::stored<allot::buffer>;
namespace oom = allot::oom;

// What all queries use: while no thread pins a batch in the store, it may leave for `disk`.
struct shared_engine {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}, tasks};
    allot::account disk{allot::name{"disk"}}; // takes the place of a disk: what leaves is charged here
    allot::spill_memory far{memory, disk};
    allot::store batches{engine, far};
};

// To read needs memory, so this is a retry scope too.
batch read_batch(shared_engine& all, allot::account& mine, std::uint64_t end) {
    return oom::with_retry_no_split([&] {
        allot::buffer read = all.memory.allocate(mine, end * 8);
        for (std::uint64_t n = 0; n != end; ++n) read.set(n * 8, n);
        return all.batches.put(std::move(read));
    });
}

// Adds a batch up, by way of four tables. It can be begun again: it frees all that it took, and changes nothing else.
std::uint64_t sum_of(shared_engine& all, allot::account& mine, const batch& b) {
    const auto pinned = b.pin(); // back in memory, and stays there
    std::uint64_t sum = 0;
    std::vector<allot::buffer> tables(4);
    for (std::size_t t = 0; t != 4; ++t) {
        tables[t] = all.memory.allocate(mine, b.bytes());
        for (std::size_t at = t * 8; at < b.bytes(); at += 32) tables[t].set(at, pinned->get<std::uint64_t>(at));
        for (std::size_t at = t * 8; at < b.bytes(); at += 32) sum += tables[t].get<std::uint64_t>(at);
    }
    return sum;
}

int main() {
    shared_engine all;
    std::uint64_t sums[4] = {};
    const auto run = [&](std::uint64_t* sum) {
        allot::account mine{all.engine, allot::name{"query"}};
        oom::task query{all.tasks, "query"};
        oom::task_thread here{query};
        std::vector<batch> batches; // of 256 KiB to 1 MiB; the last one needs 5 MiB to be added up
        for (std::uint64_t b = 1; b <= 4; ++b) batches.push_back(read_batch(all, mine, b << 15));
        const auto halve = [](const batch& b) { return b.halves(8); };
        const auto body = [&](const batch& b) { return sum_of(all, mine, b); };
        for (const std::uint64_t part : oom::with_retry(batches, halve, body)) *sum += part;
    };
    for (std::vector<std::jthread> threads; std::uint64_t& s : sums) threads.emplace_back(run, &s);
    const oom::task_stats stats = all.tasks.stats();
    std::printf("%lu rollbacks, %lu splits\n", stats.rollbacks, stats.splits);
    for (const std::uint64_t s : sums)
        if (s != 16'105'963'520) return 1;
    return stats.splits >= 4 && all.engine.peak() <= 4_MiB && all.engine.used() + all.disk.used() == 0 ? 0 : 2;
}
