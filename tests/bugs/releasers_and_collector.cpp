// Threads that release the last rows of a heap while another collects its empty pages and hands them to another heap.
#include <support/catch.hpp>
#include <support/sets_home.hpp>

#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

namespace {

struct linked : allot::policies<allot::slots::linked, allot::oom::null> {};
struct bitmap : allot::policies<allot::slots::bitmap, allot::oom::null> {};
struct scanning : allot::policies<allot::slots::scanning, allot::oom::null> {};
struct delayed : allot::policies<allot::slots::delay_release, allot::oom::null> {};

} // namespace

TEMPLATE_TEST_CASE("a page is not given away under its releasers", "[threads]", linked, bitmap, scanning, delayed) {
    static const allot::row_type type{"short-lived"};
    // Two slots a page: the first release lists it. Then 33 slots: only the third does.
    constexpr std::size_t bytes[] = {30000, 1900}, counts[] = {60, 300};
    sets::home<TestType> home;
    auto& rows = home.rows;
    std::atomic<bool> good{true};
    std::atomic<int> releasing{0};
    std::vector<void*> out[2];
    std::barrier start(3), end(3);
    std::vector<std::thread> releasers;
    constexpr int rounds = ALLOT_TSAN ? 30 : 150;
    for (int t = 0; t < 2; ++t)
        releasers.emplace_back([&, t] {
            for (int round = 0; round < rounds; ++round) {
                start.arrive_and_wait();
                for (void* p : out[t]) allot::release(p);
                --releasing;
                end.arrive_and_wait();
            }
        });
    for (int round = 0; round < rounds; ++round) {
        for (auto& mine : out) mine.clear();
        {
            auto heap = rows.heap(allot::as<allot::heap::unique>, bytes[round % 2], type);
            for (std::size_t i = 0; i < counts[round % 2]; ++i)
                if (void* const p = heap.try_allocate()) {
                    std::memset(p, 1, bytes[round % 2]);
                    out[i % 2].push_back(p);
                }
        }
        releasing = 2;
        start.arrive_and_wait();
        // What was collected is written from end to end.
        std::vector<unsigned char*> taken;
        const auto check = [&] {
            for (unsigned char* p : taken) {
                for (std::size_t i = 0; i < 50000; ++i)
                    if (p[i] != 2) good = false;
                rows.release(p);
            }
            taken.clear();
        };
        do {
            rows.release_empty_pages();
            if (void* const p = rows.try_allocate(50000)) {
                std::memset(p, 2, 50000);
                taken.push_back(static_cast<unsigned char*>(p));
            } else check();
        } while (releasing != 0);
        end.arrive_and_wait();
        check();
        if (!rows.valid() || rows.live_rows() != 0) good = false;
        rows.trim();
        if (rows.used() != 0) good = false;
        if (!good) break;
    }
    if (!good) std::_Exit(1); // threads wait
    for (auto& t : releasers) t.join();
    CHECK(good);
}
