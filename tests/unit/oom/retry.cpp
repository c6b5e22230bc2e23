// Tasks that share too little memory: with real threads, accounts, rows, blocks and buffers.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::oom::arbiter;
using allot::oom::retry_scope;
using allot::oom::task;
using allot::oom::task_thread;
using allot::oom::thread_state;
using allot::oom::with_retry;

namespace {

// Bytes that are charged while it lives.
class charged {
  public:
    charged(account& by, std::size_t bytes) : by_(&by), bytes_(bytes) { by.charge(bytes); }
    charged(charged&& o) noexcept : by_(std::exchange(o.by_, nullptr)), bytes_(o.bytes_) {}
    ~charged() {
        if (by_ != nullptr) by_->refund(bytes_);
    }

  private:
    account* by_;
    std::size_t bytes_;
};
// An input that holds nothing between attempts.
struct part {
    int from = 0, to = 0;
    int pin() const noexcept { return from; }
    std::size_t bytes() const noexcept { return static_cast<std::size_t>(to - from); }
};
std::vector<part> halve(const part& p) {
    if (p.to - p.from < 2) return {};
    const int middle = (p.from + p.to) / 2;
    return {{p.from, middle}, {middle, p.to}};
}

struct rows_of_tasks : allot::policies<allot::ledger::tree, allot::oom::state_machine> {};

} // namespace

TEST_CASE("a request of one task that does not fit is split until it does", "[oom]") {
    const support::rescue ends{"a task that waits for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    task query{tasks, "query"};
    task_thread here{query};
    std::vector<part> inputs{{0, 1000}};
    const std::vector<int> sizes = with_retry(inputs, halve, [&](part& p) {
        const charged all{memory, static_cast<std::size_t>(p.to - p.from)};
        return p.to - p.from;
    });
    CHECK(inputs.empty());
    CHECK(sizes.size() == 16); // 62 or 63 each
    int sum = 0;
    for (const int s : sizes) sum += s;
    CHECK(sum == 1000);
    CHECK(memory.used() == 0);
    CHECK(tasks.stats().splits == 15);
    CHECK(here.state() == thread_state::running);
}

TEST_CASE("four tasks whose work needs all memory end, in any order", "[oom]") {
    const support::rescue ends{"tasks that wait for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{100}, tasks};
    std::atomic<int> done{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 4; ++t)
            threads.emplace_back([&] {
                account mine{memory, name{"query"}};
                task query{tasks, "query", 0, &mine};
                task_thread here{query};
                std::vector<part> inputs(50, part{0, 100});
                with_retry(inputs, halve, [&](part& p) {
                    std::vector<charged> all;
                    for (int i = p.from; i != p.to; i += 5) {
                        all.emplace_back(mine, 5);
                        if (i % 10 == 0) std::this_thread::yield();
                    }
                    ++done;
                });
            });
    }
    CHECK(done >= 200);
    CHECK(memory.used() == 0);
    CHECK(memory.peak() <= 100);
    CHECK(memory.verify());
}

TEST_CASE("rows, blocks and buffers of tasks wait, and are rolled back", "[oom]") {
    const support::rescue ends{"tasks that wait for ever"};
    arbiter tasks;
    account memory{name{"engine"}, limit{8_MiB}, tasks};
    std::atomic<std::size_t> done{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 3; ++t)
            threads.emplace_back([&, t] {
                task query{tasks, "query"};
                account mine{memory, name{"query"}};
                task_thread here{query};
                std::vector<part> inputs(6, part{0, 6 << 20});
                with_retry(inputs, halve, [&](part& p) {
                    const auto bytes = static_cast<std::size_t>(p.to - p.from);
                    if (t == 0) {
                        allot::row_manager<rows_of_tasks> rows{
                            mine, allot::leak_sink{[](void*, std::string_view) noexcept {}}};
                        for (std::size_t n = 0; n < bytes; n += 64 << 10) std::memset(rows.allocate(60'000), 1, 60'000);
                    } else if (t == 1) {
                        allot::chunk_arena<rows_of_tasks> blocks{
                            mine, allot::leak_sink{[](void*, std::string_view) noexcept {}}};
                        for (std::size_t n = 0; n < bytes; n += 64 << 10)
                            std::memset(blocks.allocate(64 << 10).address, 1, 64 << 10);
                    } else {
                        allot::row_manager<rows_of_tasks> rows{
                            mine, allot::leak_sink{[](void*, std::string_view) noexcept {}}};
                        auto local = rows.local();
                        for (std::size_t n = 0; n < bytes; n += 1 << 10) std::memset(local.allocate(1000), 1, 1000);
                    }
                    ++done;
                });
            });
    }
    CHECK(done >= 18);
    CHECK(memory.used() == 0);
    CHECK(memory.verify());
}
