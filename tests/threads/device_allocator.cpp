// One allocator and many threads: each with streams of its own, its per-thread stream, and blocks that it hands to the
// next.
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

using namespace allot::literals;

TEST_CASE("device allocator: many threads, streams and hand-overs") {
    constexpr int threads = 4, rounds = 3000;
    simulated_machine m{{.execution = allot::device::execution::none}};
    allot::device_allocator<task_memory> gpu{m.api, unheard, allot::limit{24_MiB}};
    struct item {
        void* p;
        std::size_t bytes;
        simulated_machine::event ready;
    };
    std::mutex lock;
    std::vector<item> passed; // from any thread to any
    std::atomic<int> failed{0};
    const auto work = [&](int me) {
        const auto own = *m.api.create_stream({0}, allot::device::stream_kind::non_blocking);
        std::uint64_t seed = static_cast<std::uint64_t>(me) * 977 + 1;
        const auto below = [&](std::uint64_t n) {
            return ((seed = seed * 6364136223846793005U + 1442695040888963407U) >> 33) % n;
        };
        for (int i = 0; i != rounds; ++i) {
            const auto s = below(4) == 0 ? allot::device::simulated::per_thread_stream() : own;
            item mine{};
            if (below(2) == 0) {
                const std::lock_guard hold{lock};
                if (!passed.empty()) mine = passed.back(), passed.pop_back();
            }
            if (mine.p != nullptr) {
                if (!m.api.wait(s, mine.ready) || !m.api.destroy_event(mine.ready)) ++failed;
            } else {
                mine.bytes = std::size_t{1} + below(2_MiB);
                mine.p = gpu.try_allocate(mine.bytes, s);
                if (mine.p == nullptr) continue;
            }
            if (!m.sim.launch(s, {}, {{mine.p, mine.bytes}})) ++failed;
            if (below(3) == 0) {
                mine.ready = *m.api.create_event({0});
                if (!m.api.record(mine.ready, s)) ++failed;
                const std::lock_guard hold{lock};
                passed.push_back(mine);
            } else {
                gpu.deallocate(mine.p, s);
            }
            if (i % 512 == 511) gpu.trim();
            if (i % 100 == 99 && gpu.stats().charged > 24_MiB) ++failed;
        }
        gpu.leave(own);
        gpu.leave(allot::device::simulated::per_thread_stream());
        if (!m.api.destroy_stream(own)) ++failed;
    };
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t) all.emplace_back(work, t);
    for (std::thread& t : all) t.join();
    const auto last = m.make_stream();
    for (const item& i : passed) {
        REQUIRE(m.api.wait(last, i.ready));
        REQUIRE(m.api.destroy_event(i.ready));
        gpu.deallocate(i.p, last);
    }
    CHECK(failed == 0);
    CHECK(m.sim.hazards() == 0);
    CHECK(gpu.valid());
    CHECK(gpu.stats().live == 0);
    gpu.trim();
    CHECK(gpu.used() == 0);
}

struct charged_memory : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};

TEST_CASE("device allocator: many threads, and a listener that looks at both allocators of a tree") {
    const support::rescue guard{"threads that charge, and a listener that asks for figures"};
    constexpr int threads = 4, rounds = 500;
    simulated_machine m{{.execution = allot::device::execution::none}};
    allot::account task{allot::name{"task"}, allot::limit{24_MiB}};
    allot::device_allocator<charged_memory> one{m.api, task, unheard}, two{m.api, task, unheard};
    struct looker : allot::account_listener {
        allot::device_allocator<charged_memory>&one, &two;
        std::atomic<std::uint64_t> looks{0};
        looker(allot::device_allocator<charged_memory>& a, allot::device_allocator<charged_memory>& b)
            : one{a}, two{b} {}
        void look() { looks += 1 + 0 * (one.stats().charged + two.stats().charged); }
        void after(const allot::account&, std::size_t, const allot::charge_status&) noexcept override { look(); }
        void released(const allot::account&, std::size_t) noexcept override { look(); }
    } hears{one, two};
    task.add(hears);
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            const auto s = *m.api.create_stream({0}, allot::device::stream_kind::non_blocking);
            auto& gpu = t % 2 == 0 ? one : two;
            for (int i = 0; i != rounds; ++i) {
                const std::size_t bytes = std::size_t{1 + static_cast<unsigned>(i * 7 + t) % 12} << 20;
                void* const p = gpu.try_allocate(bytes, s);
                if (p != nullptr) (void)m.sim.launch(s, {}, {{p, bytes}});
                gpu.deallocate(p, s);
                if (i % 16 == 15) gpu.trim();
            }
            gpu.leave(s);
            (void)m.api.destroy_stream(s);
        });
    for (std::thread& t : all) t.join();
    task.remove(hears);
    CHECK(hears.looks != 0);
    CHECK(one.valid());
    CHECK(two.valid());
    CHECK(task.used() == one.used() + two.used());
    CHECK(task.peak() <= 24_MiB);
    CHECK(m.sim.hazards() == 0);
}
