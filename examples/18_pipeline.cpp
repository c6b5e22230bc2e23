// A pipeline in a quarter of its data: tasks scan, partition and add up; the executor starts those that fit.
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/task_cache.hpp>
#include <allot/tree/account_peak.hpp>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <span>

using namespace allot::literals;
using batch = allot::stored<allot::buffer>;
using pins = std::span<batch::pinned>;
using number = std::uint64_t;

struct blocks : allot::policies<allot::fit::runs, allot::ledger::pool> {};

int main() {
    constexpr number batches = 64, parts = 8, rows = 32'768, bytes = 8 * rows; // 16 MiB of numbers
    allot::account_line lines[8];
    allot::account_peak most{lines};
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{4_MiB}, tasks}, disk{allot::name{"disk"}};
    engine.keep_peak(&most);
    allot::chunk_arena<blocks> pool{engine, allot::name{"pool"}}; // bounded by the engine's limit, with what it keeps
    allot::buffer_memory memory{pool};
    allot::spill_files files{disk, "/tmp"};
    allot::store data{engine, files};
    allot::executor run{tasks, engine, {.threads = 2}};
    allot::task_group query{run, allot::name{"query"}};
    std::array<allot::task_cache<batch>, parts> parted;

    const auto scan = [&](number n, allot::task_step& step) {
        allot::buffer b = memory.allocate(step.memory(), bytes);
        for (number i = 0; i != rows; ++i) b.set(i * 8, (n * rows + i) * 0x9e37'79b9'7f4a'7c15);
        return data.put(std::move(b));
    };
    const auto partition = [&](pins in, allot::task_step& step) { // by the first bits; a part begins with its end
        std::array<allot::buffer, parts> out;
        for (auto& part : out) part = memory.allocate(step.memory(), bytes / parts * 5 / 4), part.set(0, number{8});
        for (number i = 0; i != rows; ++i) {
            const auto n = in[0]->get<number>(i * 8), end = out[n >> 61].get<number>(0);
            out[n >> 61].set(end, n), out[n >> 61].set(0, end + 8);
        }
        std::array<batch, parts> stored;
        for (number p = 0; p != parts; ++p) stored[p] = data.put(std::move(out[p]));
        return stored;
    };
    const auto add_up = [](pins in) {
        number sum = 0;
        for (const auto& b : in)
            for (number at = 8; at != b->get<number>(0); at += 8) sum += b->get<number>(at);
        return sum;
    };

    const auto put_parts = [&](std::array<batch, parts> stored) {
        for (number p = 0; p != parts; ++p) parted[p].put(std::move(stored[p]));
    };
    for (number n = 0; n != batches; ++n)
        query.add(
            {.name = "scan", .output = bytes}, [&, n](auto& step) { return scan(n, step); },
            [&](batch b) {
                query.add({.name = "partition", .output = 2 * bytes}, allot::inputs(std::move(b)), partition,
                          put_parts);
            });
    query.wait();
    std::atomic<number> sum{0};
    for (auto& part : parted) {
        part.finish();
        query.add({.name = "add up"}, part.pull_bytes(SIZE_MAX), add_up, [&](number of_part) { sum += of_part; });
    }
    query.wait();

    for (number n = 0; n != batches * rows; ++n) sum -= n * 0x9e37'79b9'7f4a'7c15;
    std::printf("%lu tasks, %lu began again; %lu MiB left memory, peak %zu KiB\n", run.stats().done,
                run.stats().ran_out, data.stats().bytes_left >> 20, most.charged() >> 10);
    return sum == 0 && most.charged() <= 4_MiB ? 0 : 1;
}
