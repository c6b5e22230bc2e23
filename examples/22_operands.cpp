// Tasks that depend on each other's results, one of which fails; and a task that waits for an answer from elsewhere.
#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/task/operand_graph.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

using namespace allot::literals;
using batch = allot::stored<allot::buffer>;
using pins = std::span<batch::pinned>;
using number = std::uint64_t;

// ---- operands
// Two scans, and a join that begins when both are done. Their results may leave memory meanwhile.
number join(allot::executor& run, allot::store& data, const allot::buffer_memory& memory) {
    constexpr number rows = 32'768, bytes = 8 * rows;
    allot::task_group query{run, allot::name{"query 7"}};
    allot::operand_graph<batch> graph{query};
    const auto scan = [&](number first) {
        return [&, first](pins, allot::task_step& step) {
            allot::buffer b = memory.allocate(step.memory(), bytes);
            for (number i = 0; i != rows; ++i) b.set(i * 8, first + i);
            return data.put(std::move(b));
        };
    };
    const auto left = graph.add({.name = "left", .output = bytes}, {}, scan(0));
    const auto right = graph.add({.name = "right", .output = bytes}, {}, scan(1000));
    const auto sums = graph.add({.name = "sums", .output = bytes}, {left, right}, [&](pins in, allot::task_step& step) {
        allot::buffer b = memory.allocate(step.memory(), bytes);
        for (number i = 0; i != rows; ++i) b.set(i * 8, in[0]->get<number>(i * 8) + in[1]->get<number>(i * 8));
        return data.put(std::move(b));
    });
    graph.start(); // when all are added
    query.wait();
    const std::optional<batch> result = graph.take(sums); // no operand needs it
    return result->pin()->get<number>(bytes - 8);
}
// ---- on_error
// A scan whose source fails twice, and then reads a copy. What depends on it knows nothing of that.
number scan_copy(allot::executor& run, allot::store& data, const allot::buffer_memory& memory) {
    allot::task_group query{run, allot::name{"query 9"}};
    allot::operand_graph<batch> graph{query};
    const auto store_number = [&](number n) {
        allot::buffer b = memory.allocate(query.memory(), sizeof(n));
        b.set(0, n);
        return data.put(std::move(b));
    };
    const auto scan = graph.add({.name = "scan"}, {},
                                [](pins, allot::task_step&) -> batch { throw std::runtime_error("no answer"); });
    const auto next = graph.add({.name = "next"}, {scan},
                                [&](pins in, allot::task_step&) { return store_number(in[0]->get<number>(0) + 1); });
    int failed = 0;
    graph.on_error(scan, [&](const std::exception_ptr&) -> std::optional<batch> {
        if (++failed == 1) return std::nullopt; // another run
        return store_number(41);                // from the copy; an exception would end the query
    });
    graph.start();
    query.wait();
    return graph.take(next)->pin()->get<number>(0);
}
// ---- waker
// An answer that another thread gives, and the task that waits for it.
class answer {
  public:
    std::optional<number> get(const allot::task_step& step) {
        const std::lock_guard hold(lock_);
        if (!value_) asks_ = step.waker();
        return value_;
    }
    void give(number n) {
        const std::lock_guard hold(lock_);
        value_ = n;
        if (asks_) (*asks_)();
    }

  private:
    std::mutex lock_;
    std::optional<number> value_;
    std::optional<allot::task_waker> asks_;
};

// The kernel is called again once the answer is there. Meanwhile it holds no thread, no pin and no memory.
number ask(allot::executor& run) {
    answer reply;
    number got = 0;
    allot::task_group query{run, allot::name{"query 8"}};
    query.add({.name = "ask"}, [&](allot::task_step& step) {
        const std::optional<number> n = reply.get(step);
        if (!n) return allot::task_outcome::would_block;
        got = *n;
        return allot::task_outcome::done;
    });
    std::thread elsewhere([&] { reply.give(42); });
    query.wait();
    elsewhere.join();
    return got;
}
// ----

int main() {
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{1_MiB}, tasks}, disk{allot::name{"disk"}};
    allot::heap_memory heap;
    const allot::buffer_memory memory{heap};
    allot::spill_memory far{memory, disk};
    allot::store data{engine, far};
    allot::executor run{tasks, engine, {.threads = 2}};
    const number last = join(run, data, memory), of_copy = scan_copy(run, data, memory), answered = ask(run);
    std::printf("the last sum is %ju, that of the copy %ju, the answer %ju\n", std::uintmax_t{last},
                std::uintmax_t{of_copy}, std::uintmax_t{answered});
    return last == 66'534 && of_copy == 42 && answered == 42 ? 0 : 1;
}
