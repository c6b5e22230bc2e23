// A pipeline in a quarter of its data: tasks scan, partition and aggregate; the executor starts those that fit.
#include <allot/chunk_arena.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/task_cache.hpp>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

using namespace allot::literals;
using batch = allot::stored<allot::buffer>;
using pins = std::span<batch::pinned>;

int main() {
    constexpr std::size_t batches = 64, parts = 8, rows = 32'768; // 16 MiB of numbers
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}, tasks}, disk{allot::name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_files files{disk, "/tmp"};
    allot::store data{engine, files};
    allot::executor run{tasks, engine, {.threads = 2}};
    allot::task_group query{run, allot::name{"query"}};

    allot::task_cache<batch> scanned{query};
    std::array<allot::task_cache<batch>, parts> parted;
    std::array<std::uint64_t, parts> sums{};

    const auto scan = [&](std::uint64_t n) {
        return [&, n](allot::task_step& step) {
            allot::buffer b = memory.allocate(step.memory(), rows * 8);
            for (std::uint64_t i = 0; i != rows; ++i) b.set(i * 8, (n * rows + i) * 0x9e37'79b9'7f4a'7c15);
            return data.put(std::move(b));
        };
    };
    const auto partition = [&](pins in, allot::task_step& step) { // by the first bits
        std::array<std::size_t, parts> ends{};
        for (std::size_t i = 0; i != rows; ++i) ends[in[0]->get<std::uint64_t>(i * 8) >> 61] += 8;
        std::array<allot::buffer, parts> out;
        for (std::size_t p = 0; p != parts; ++p) out[p] = memory.allocate(step.memory(), std::exchange(ends[p], 0) + 8);
        for (std::size_t i = 0; i != rows; ++i) {
            const auto n = in[0]->get<std::uint64_t>(i * 8);
            out[n >> 61].set(ends[n >> 61], n), ends[n >> 61] += 8;
        }
        std::array<batch, parts> stored;
        for (std::size_t p = 0; p != parts; ++p) stored[p] = data.put(std::move(out[p]));
        return stored;
    };
    const auto add_up = [](pins in) {
        std::uint64_t sum = 0;
        for (const auto& b : in)
            for (std::size_t at = 0; at + 8 < b->size(); at += 8) sum += b->get<std::uint64_t>(at);
        return sum;
    };

    for (std::uint64_t n = 0; n != batches; ++n)
        query.add({.name = "scan", .output = rows * 8}, scan(n), scanned.sink());
    query.wait();
    while (auto b = scanned.try_pull())
        query.add({.name = "partition", .output = rows * 8}, allot::inputs(*std::move(b)), partition, [&](auto stored) {
            for (std::size_t p = 0; p != parts; ++p) parted[p].put(std::move(stored[p]));
        });
    query.wait();
    for (std::size_t p = 0; p != parts; ++p) {
        parted[p].finish();
        query.add({.name = "add up"}, parted[p].pull_bytes(SIZE_MAX), add_up,
                  [&, p](std::uint64_t sum) { sums[p] = sum; });
    }
    query.wait();

    std::uint64_t expected = 0, sum = 0;
    for (std::uint64_t n = 0; n != batches * rows; ++n) expected += n * 0x9e37'79b9'7f4a'7c15;
    for (const std::uint64_t s : sums) sum += s;
    const allot::executor_stats s = run.stats();
    std::printf("%lu tasks, %lu began again; %lu MiB left memory, peak %zu KiB\n", s.done, s.ran_out,
                data.stats().bytes_left >> 20, engine.peak() >> 10);
    return sum == expected && engine.peak() <= 4_MiB ? 0 : 1;
}
