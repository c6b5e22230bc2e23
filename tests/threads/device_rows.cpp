// Rows in a device's memory, taken and released by threads at once: headers aside come and go as pages in a page do.
#include <support/catch.hpp>

#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct on_device : allot::policies<allot::page::on_device<allot::device::simulated>, allot::oom::null> {};
const allot::row_type some{"some"};

} // namespace

TEST_CASE("threads share device rows, under a limit, with trims between", "[threads]") {
    allot::device::simulator gpu{{.total_bytes = std::size_t{256} << 20, .execution = allot::device::execution::none}};
    {
        allot::row_manager<on_device> rows{allot::device::simulated{gpu}, allot::limit{4_MiB},
                                           allot::page_bytes{64_KiB}};
        std::vector<std::atomic<void*>> places(256);
        std::atomic<std::size_t> refused{0};
        std::atomic<int> at_work{3};
        std::vector<std::thread> all;
        for (unsigned t = 0; t < 3; ++t)
            all.emplace_back([&, t] {
                std::mt19937 random{t};
                auto local = rows.local();
                auto heap = rows.heap(allot::as<allot::heap::unique>, 2000, some);
                for (int i = 0; i < 20000; ++i) {
                    const std::size_t bytes = random() % 64 == 0 ? 70000 + random() % 100000 : random() % 5000;
                    void* p = i % 4 == 0   ? heap.try_allocate()
                              : i % 2 == 0 ? local.try_allocate(bytes)
                                           : rows.try_allocate(bytes);
                    if (p == nullptr) ++refused;
                    else rows.link(p), allot::release(p);
                    void* const old = places[random() % places.size()].exchange(p);
                    if (old == nullptr) continue;
                    if (i % 3 == 0) local.release(old);
                    else if (i % 3 == 1) rows.release(old);
                    else allot::release(old);
                }
                --at_work;
            });
        while (at_work != 0) {
            rows.trim();
            CHECK(rows.used() <= 4_MiB);
            std::this_thread::yield();
        }
        for (auto& t : all) t.join();
        for (auto& place : places) rows.release(place.load());
        CHECK(rows.valid());
        CHECK(rows.live_rows() == 0);
        rows.trim();
        CHECK(rows.used() == 0);
        CHECK(rows.arena().valid());
        CHECK(rows.arena().stats().committed == 0);
    }
    CHECK(gpu.leaks() == 0);
    CHECK(gpu.hazards() == 0);
}
