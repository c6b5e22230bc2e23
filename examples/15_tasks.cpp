// Four queries share too little memory: they are rolled back, they split their inputs, and all of them end.
#include <allot/oom/retry.hpp>
#include <allot/spill/spillable_buffer.hpp>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::spillable_buffer;
namespace oom = allot::oom;

// While no thread uses a batch, it may leave for `far`. To read it needs memory, so this is a retry scope too.
spillable_buffer read_batch(std::uint64_t end, allot::buffer_home near, allot::buffer_home far) {
    return oom::with_retry_no_split([&] {
        allot::buffer batch = near.allocate(end * 8);
        for (std::uint64_t n = 0; n != end; ++n) batch.set(n * 8, n);
        return spillable_buffer{std::move(batch), near, far};
    });
}

// Adds a batch up, by way of four tables. It can be begun again: it frees all that it took, and changes nothing else.
std::uint64_t sum_of(const spillable_buffer& batch, allot::buffer_home near) {
    const auto pinned = batch.pin(); // back in near memory, and stays there
    std::uint64_t sum = 0;
    std::vector<allot::buffer> tables(4);
    for (std::size_t t = 0; t != 4; ++t) {
        tables[t] = near.allocate(batch.bytes());
        for (std::size_t at = t * 8; at < batch.bytes(); at += 32) tables[t].set(at, pinned->get<std::uint64_t>(at));
        for (std::size_t at = t * 8; at < batch.bytes(); at += 32) sum += tables[t].get<std::uint64_t>(at);
    }
    return sum;
}

int main() {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::account disk{allot::name{"disk"}}; // takes the place of a disk: what leaves is charged here
    oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}, tasks};

    std::uint64_t sums[4] = {};
    const auto run = [&](std::uint64_t* sum) {
        allot::account mine{engine, allot::name{"query"}};
        const allot::buffer_home near{memory, mine}, far{memory, disk};
        oom::task query{tasks, "query"};
        oom::task_thread here{query};
        std::vector<spillable_buffer> batches; // of 256 KiB to 1 MiB; the last one needs 5 MiB to be added up
        for (std::uint64_t b = 1; b <= 4; ++b) batches.push_back(read_batch(b << 15, near, far));
        const auto halve = [](const spillable_buffer& b) { return b.halves(8); };
        const auto body = [&](const spillable_buffer& b) { return sum_of(b, near); };
        for (const std::uint64_t part : oom::with_retry(batches, halve, body)) *sum += part;
    };
    for (std::vector<std::jthread> threads; std::uint64_t& s : sums) threads.emplace_back(run, &s);
    const oom::task_stats all = tasks.stats();
    std::printf("%lu rollbacks, %lu splits\n", all.rollbacks, all.splits);
    for (const std::uint64_t s : sums)
        if (s != 16'105'963'520) return 1;
    return all.splits >= 4 && engine.peak() <= 4_MiB && engine.used() + disk.used() == 0 ? 0 : 2;
}
