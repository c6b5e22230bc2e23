// 8 threads run tasks that need several times the memory there is: rows, blocks, buffers and charges; spillable inputs;
// a permit that is waited for; errors of their own; tasks that are removed. Each task ends, answers are right, the
// limit is kept, all memory is refunded. ALLOT_STORM_SECONDS: how long, 1 by default.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/use/spark.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <random>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using stored_buffer = allot::stored<allot::buffer>;
namespace oom = allot::oom;

namespace {

struct rows_of_tasks : allot::with<allot::use::spark, allot::heap::shared> {};
struct blocks_of_tasks : allot::with<allot::use::spark, allot::fit::best> {};

std::chrono::milliseconds storm_time() {
    const char* const asked = std::getenv("ALLOT_STORM_SECONDS");
    return std::chrono::milliseconds(asked != nullptr ? 1000L * std::atol(asked) : 1000L);
}

// What the threads share.
struct shared_engine {
    oom::event_log events{200'000};
    oom::arbiter tasks{{}, events.sink()};
    account engine{name{"engine"}, limit{2_MiB}, tasks}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_memory far{memory, disk};
    allot::store inputs{engine, far};
    allot::row_manager<rows_of_tasks> rows{engine, name{"rows"}, allot::page_bytes{16_KiB}};
    allot::chunk_arena<blocks_of_tasks> blocks{engine, name{"blocks"}, allot::page_bytes{16_KiB}};
    std::counting_semaphore<2> permits{2};
    oom::resource held_permits{tasks};
    std::atomic<std::size_t> finished{0}, removed{0}, failed{0}, wrong{0};
};

// Frees what an attempt took, however it ends.
class attempt {
  public:
    explicit attempt(shared_engine& of) : of_(of) {}
    attempt(const attempt&) = delete;
    attempt& operator=(const attempt&) = delete;
    ~attempt() {
        for (void* const r : rows_) of_.rows.release(r);
        for (void* const b : blocks_) of_.blocks.deallocate(b);
    }
    void take_row(std::size_t bytes) {
        rows_.reserve(rows_.size() + 1);
        rows_.push_back(of_.rows.allocate(bytes));
    }
    void take_block(std::size_t bytes) {
        blocks_.reserve(blocks_.size() + 1);
        blocks_.push_back(of_.blocks.allocate(bytes).address);
    }

  private:
    shared_engine& of_;
    std::vector<void*> rows_, blocks_;
};

// While it lives, the calling thread's task holds a permit, for which it has waited.
class permit {
  public:
    explicit permit(shared_engine& of) : of_(of) {
        oom::scoped_wait waits{of.held_permits};
        of.permits.acquire();
    }
    permit(const permit&) = delete;
    permit& operator=(const permit&) = delete;
    ~permit() { of_.permits.release(); }

  private:
    shared_engine& of_;
};

class query {
  public:
    query(shared_engine& of, unsigned seed)
        : of_(of), random_(seed), mine_{of.engine, name{"query"}}, task_{of.tasks, "query", 0, &mine_} {}

    oom::task& task() noexcept { return task_; }
    void run() {
        const oom::task_thread here{task_};
        try {
            std::vector<stored_buffer> inputs;
            std::uint64_t expected = 0, sum = 0;
            for (int i = 0; i != 3; ++i) {
                const std::uint64_t end = (1 + random_() % 32) * 1024;
                expected += end * (end - 1) / 2;
                inputs.push_back(oom::with_retry_no_split([&] {
                    allot::buffer b = allocate(end * 8);
                    for (std::uint64_t n = 0; n != end; ++n) b.set(n * 8, n);
                    return of_.inputs.put(std::move(b));
                }));
            }
            const auto halve = [](const stored_buffer& b) { return b.halves(8); };
            const auto body = [&](const stored_buffer& b) { return sum_of(b); };
            for (const std::uint64_t part : oom::with_retry(inputs, halve, body)) sum += part;
            of_.wrong += sum != expected;
            ++of_.finished;
        } catch (const allot::task_removed&) {
            ++of_.removed;
        } catch (const std::runtime_error&) {
            ++of_.failed;
        }
    }

  private:
    allot::buffer allocate(std::size_t bytes) { return of_.memory.allocate(mine_, bytes); }
    std::uint64_t sum_of(const stored_buffer& input) {
        const auto pinned = input.pin();
        if (random_() % 64 == 0) throw std::runtime_error("the body's own");
        attempt takes{of_};
        std::optional<permit> may;
        std::optional<oom::resource::holder> holds;
        if (random_() % 4 == 0) holds.emplace((may.emplace(of_), of_.held_permits));
        const allot::buffer table = allocate(input.bytes()), other = allocate(input.bytes());
        for (int i = 0; i != 40; ++i) takes.take_row(random_() % 8192);
        for (int i = 0; i != 8; ++i) takes.take_block(random_() % 65536);
        std::uint64_t sum = 0;
        for (std::size_t at = 0; at != input.bytes(); at += 8) sum += pinned->get<std::uint64_t>(at);
        return sum;
    }

    shared_engine& of_;
    std::mt19937 random_;
    account mine_;
    oom::task task_;
};

} // namespace

TEST_CASE("tasks of 8 threads in too little memory all end, with right answers", "[oom][threads]") {
    const support::rescue ends{"a storm of tasks", std::chrono::minutes(2) + 2 * storm_time()};
    shared_engine all;
    {
        const auto end = std::chrono::steady_clock::now() + storm_time();
        std::mutex lock; // of the tasks that run
        std::vector<query*> running(8, nullptr);
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t != 8; ++t)
            threads.emplace_back([&, t] {
                // At least until one was rolled back and one has finished, however slow the threads are.
                const auto goes_on = [&] {
                    return std::chrono::steady_clock::now() < end || all.finished == 0 ||
                           all.tasks.stats().rollbacks == 0;
                };
                for (unsigned n = 0; goes_on(); ++n) {
                    query mine{all, t * 1'000'000 + n};
                    const auto announce = [&](query* q) {
                        const std::lock_guard hold(lock);
                        running[t] = q;
                        if (query* const next = running[(t + 1) % 8]; n % 16 == 15 && next) next->task().remove();
                    };
                    announce(&mine);
                    mine.run();
                    announce(nullptr);
                }
            });
        threads.emplace_back([&] { // works for no task: its refunds wake those that wait
            while (std::chrono::steady_clock::now() < end)
                if (all.engine.try_charge(64_KiB)) all.engine.refund(64_KiB);
                else std::this_thread::yield();
        });
    }
    INFO(all.finished << " finished, " << all.removed << " removed, " << all.failed << " failed");
    const oom::task_stats stats = all.tasks.stats();
    CHECK(all.finished != 0);
    CHECK(all.wrong == 0);
    CHECK(stats.refused == 0);
    CHECK((stats.waits != 0 && stats.rollbacks != 0));
    CHECK(all.events.check({}) == oom::event_log::consistent);
    CHECK(all.engine.peak() <= 2_MiB);
    static_cast<void>(all.rows.trim());
    static_cast<void>(all.blocks.trim());
    CHECK(all.rows.live_rows() == 0);
    CHECK(all.engine.used() + all.disk.used() == 0);
    CHECK(all.engine.verify());
}
