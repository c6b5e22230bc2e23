// Huge rows under many threads: each has its place in the register, and is its owner's alone.
#include <support/catch.hpp>

#include <allot/row_manager.hpp>

#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

using namespace allot::literals;

TEST_CASE("huge rows of many threads are each registered once", "[threads]") {
    struct quiet : allot::policies<allot::oom::null> {};
    constexpr int threads = 4, each = 20;
    allot::row_manager<quiet> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    std::barrier step(threads);
    std::atomic<bool> good{true};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (int round = 0; round < 20; ++round) {
                std::vector<unsigned char*> mine;
                step.arrive_and_wait();
                for (int i = 0; i < each; ++i) {
                    auto* const row = static_cast<unsigned char*>(rows.try_allocate(100'000));
                    if (row == nullptr) good = false;
                    else mine.push_back(row);
                }
                for (auto* row : mine) std::memset(row, t + 1, 100'000);
                step.arrive_and_wait();
                if (t == 0) {
                    int seen = 0;
                    rows.visit_pages([&](const allot::page_use& use) { seen += use.slots == 0; });
                    if (seen != threads * each) good = false;
                }
                step.arrive_and_wait();
                for (auto* row : mine) {
                    if (row[0] != t + 1 || row[99'999] != t + 1) good = false;
                    rows.release(row);
                }
            }
        });
    for (auto& t : all) t.join();
    CHECK(good);
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
}
