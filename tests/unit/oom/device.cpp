// Device memory and host memory of the same tasks: one arbiter decides over both kinds.
#include <support/device_sets.hpp>
#include <support/tasks.hpp>

#include <allot/buffers.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/oom/state_machine.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using namespace allot::oom;
using allot::account;
using allot::limit;
using allot::name;
using support::charged;
using support::part;
using support::until;

namespace {

struct device_of_tasks
    : allot::policies<on_simulated, allot::order::stream, allot::ledger::tree, allot::oom::state_machine> {};
using allocator = allot::device_allocator<device_of_tasks>;

struct both_kinds {
    support::rescue ends{"tasks that wait for ever"};
    allocator_machine m;
    event_log events{100'000};
    arbiter tasks{{}, events.sink()};
    account host{name{"host"}, limit{100}, tasks}, device{name{"device"}, limit{16_MiB}, tasks.device()};
    allocator gpu{m.api, device, unheard};

    explicit both_kinds(allot::device::simulator_options o = {}) : m{o} {}

    ~both_kinds() {
        CHECK(events.check(tasks.rules()) == event_log::consistent);
        CHECK(host.used() == 0);
        gpu.trim();
        CHECK(device.used() == 0);
        CHECK(device.peak() <= 16_MiB);
        CHECK(gpu.valid());
    }
};
// A block of device memory while it lives.
class block {
  public:
    block(both_kinds& of, std::size_t bytes) : of_(of), p_(of.gpu.allocate(bytes, of.m.a)) {}
    block(const block&) = delete;
    block& operator=(const block&) = delete;
    ~block() { of_.gpu.deallocate(p_, of_.m.a); }

  private:
    both_kinds& of_;
    void* p_;
};

} // namespace

TEST_CASE("a request for device memory is split until it fits, and says of which kind it is", "[oom]") {
    both_kinds all;
    task query{all.tasks, "query"};
    const task_thread here{query};
    std::vector<part> inputs{{0, 64}};
    std::string said;
    with_retry(inputs, support::halve, [&](const part& p) {
        try {
            const block b{all, p.bytes() * 1_MiB};
        } catch (const allot::verdict_error& e) {
            CHECK(e.kind() == allot::memory_kind::device);
            said = e.what();
            throw;
        }
    });
    CHECK(query.stats().splits == 3); // 64, 32, 32
    CHECK_THAT(said, ContainsSubstring("device memory"));
    // Outside a scope, and without a task.
    CHECK_THROWS_AS((block{all, 32_MiB}), allot::out_of_memory);
    std::jthread([&] {
        CHECK_ON_THREAD(support::throws<allot::out_of_memory>([&] { const block b{all, 32_MiB}; }));
    }).join();
}

TEST_CASE("a deadlock across host and device memory is resolved", "[oom]") {
    both_kinds all;
    std::atomic<int> here_now{0}, done{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 2; ++t)
        threads.emplace_back([&, t] {
            task query{all.tasks, "query"};
            const task_thread here{query};
            bool first = true;
            const auto both_hold = [&] {
                if (std::exchange(first, false)) ++here_now;
                until([&] { return here_now.load() == 2; });
            };
            with_retry_no_split([&] { // one takes the host's first, one the device's
                if (t == 0) {
                    const charged c{all.host, 60};
                    both_hold();
                    const block b{all, 12_MiB};
                } else {
                    const block b{all, 12_MiB};
                    both_hold();
                    const charged c{all.host, 60};
                }
            });
            ++done;
        });
    threads.clear();
    CHECK(done == 2);
    CHECK(all.tasks.stats().rollbacks >= 1);
    CHECK(all.tasks.stats().splits == 0);
    bool host = false, device = false;
    for (const log_entry& e : all.events.entries())
        if (!e.is_change && e.what.what == event::announced) (e.what.detail == 0 ? host : device) = true;
    CHECK((host && device));
}

TEST_CASE("tasks of both kinds end, whatever they take first", "[oom]") {
    both_kinds all;
    std::atomic<int> done{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            task query{all.tasks, "query"};
            const task_thread here{query};
            std::vector<part> inputs(8, part{0, 12});
            with_retry(inputs, support::halve, [&](const part& p) {
                for (std::size_t i = 0; i != 2; ++i) {
                    if ((static_cast<std::size_t>(t) + i) % 2 == 0) {
                        const block b{all, p.bytes() * 1_MiB};
                        const charged c{all.host, p.bytes() * 6};
                    } else {
                        const charged c{all.host, p.bytes() * 6};
                        const block b{all, p.bytes() * 1_MiB};
                    }
                }
                ++done;
            });
        });
    threads.clear();
    CHECK(done >= 24);
}

TEST_CASE("a request that never fits keeps its kind", "[oom]") {
    both_kinds all;
    task query{all.tasks, "query"};
    const task_thread here{query};
    const retry_scope scope;
    CHECK_THROWS_AS((block{all, 32_MiB}), allot::split_and_retry_out_of_memory);
    CHECK(all.tasks.now()[here.id()].memory == allot::memory_kind::device);
    CHECK(all.tasks.now()[here.id()].bytes >= 32_MiB);
}

TEST_CASE("an attempt alone finds the device's memory whole, whatever streams have cut it", "[oom]") {
    for (unsigned seed = 1; seed != 60; ++seed) {
        both_kinds all{{.execution = allot::device::execution::delayed}};
        std::mt19937 random{seed};
        const auto some = [&](std::size_t most) { return 1 + random() % most; };
        std::vector<std::pair<void*, allot::device::simulated::stream_type>> cut;
        for (int i = 0; i != 60; ++i) { // no task's: nobody is refused
            const auto on = random() % 2 == 0 ? all.m.a : all.m.b;
            const std::size_t bytes = some(4_MiB);
            if (void* const p = all.gpu.try_allocate(bytes, on)) {
                all.m.writes(on, p, bytes);
                cut.emplace_back(p, on);
            }
            if (cut.empty() || random() % 3 == 0) continue;
            std::swap(cut[random() % cut.size()], cut.back());
            all.gpu.deallocate(cut.back().first, cut.back().second);
            cut.pop_back();
        }
        for (const auto& [p, on] : cut) all.gpu.deallocate(p, on);
        task query{all.tasks, "query"};
        const task_thread here{query};
        with_retry_no_split([] {}); // a scope that took nothing
        CHECK_NOTHROW(with_retry_no_split([&] {
            std::mt19937 same{seed};
            std::deque<block> taken;
            for (std::size_t left = 12_MiB; left != 0;) {
                const std::size_t next = std::min<std::size_t>(left, 1 + same() % 4_MiB);
                taken.emplace_back(all, next);
                left -= next;
            }
        }));
    }
}

TEST_CASE("tasks share a pool of device memory: the arbiter counts blocks by their accounts, not pieces of the pool",
          "[oom]") {
    struct shared_pool : allot::policies<on_simulated, allot::order::stream, allot::ledger::pool, allot::oom::null> {};
    const support::rescue ends{"tasks that wait for ever"};
    allocator_machine m;
    arbiter tasks{{.unknown_holders_wait = allot::time_span{60'000}}}; // nothing is unknown
    account device{name{"device"}, limit{16_MiB}, tasks.device()};
    allot::device_allocator<shared_pool> gpu{m.api, unheard, device};
    allot::on_stream at{gpu, m.a};
    const allot::buffer_memory memory{at};
    std::atomic<int> here_now{0}, done{0}, wrong{0}, rollbacks{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 2; ++t)
        threads.emplace_back([&] {
            account mine{device, name{"query"}};
            task query{tasks, "query", 0, &mine};
            const task_thread here{query};
            bool first = true;
            with_retry_no_split([&] { // both have one of two
                const allot::buffer a = memory.allocate(mine, 6_MiB);
                if (std::exchange(first, false)) ++here_now;
                until([&] { return here_now.load() == 2; });
                const allot::buffer b = memory.allocate(mine, 6_MiB);
                wrong += mine.used() != a.block_bytes() + b.block_bytes();
                ++done;
            });
            rollbacks += static_cast<int>(query.stats().rollbacks);
        });
    threads.clear();
    CHECK(done == 2);
    CHECK(wrong == 0);
    CHECK(rollbacks == 1);
    CHECK(device.used() == gpu.used());
    CHECK(gpu.account().used() == gpu.used()); // all blocks are back
}
