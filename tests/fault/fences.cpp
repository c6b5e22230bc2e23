// The caches of threads where the system has no fence of all threads, or where it fails.
#include <support/catch.hpp>

#include <allot/row_manager.hpp>
#include <allot/sys/fault.hpp>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

using namespace allot::literals;
namespace fault = allot::detail::sys::fault;

namespace {

struct quiet : allot::policies<allot::heap::per_thread, allot::oom::null> {};

// The calling thread gets its caches at its 32nd row; the system call that asks for fences is the next one.
std::vector<void*> get_caches(allot::row_manager<quiet>& rows, bool without_fences) {
    std::vector<void*> all;
    for (int i = 0; i != 31; ++i) all.push_back(rows.try_allocate(100));
    fault::fail_nth(without_fences ? 1 : 0);
    all.push_back(rows.try_allocate(100));
    CHECK_ON_THREAD(fault::has_failed() == without_fences);
    fault::fail_nth(0);
    return all;
}

} // namespace

TEST_CASE("a thread that must fence at each call loses no slot, and its caches are emptied", "[fault][rows]") {
    allot::row_manager<quiet> rows{allot::limit{1_MiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> all = get_caches(rows, true);
    for (int round = 0; round != 3; ++round) {
        while (void* const row = rows.try_allocate(100)) all.push_back(row);
        CHECK(std::set<void*>(all.begin(), all.end()).size() == all.size());
        CHECK(rows.live_rows() == all.size());
        for (std::size_t i = all.size(); i-- != 0;)
            if (i % 3 != 0) {
                rows.release(all[i]);
                all[i] = all.back();
                all.pop_back();
            }
        CHECK(rows.live_rows() == all.size());
    }
    for (void* const row : all) rows.release(row);
    void* const most = rows.try_allocate(900_KiB);
    CHECK(most != nullptr);
    rows.release(most);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("where the fence of all threads fails, other threads keep their slots, and the next attempt gets them",
          "[fault][rows]") {
    allot::row_manager<quiet> rows{allot::limit{1_MiB}, allot::page_bytes{64_KiB}};
    std::atomic<int> step{0};
    std::thread idle{[&] {
        for (void* const row : get_caches(rows, false)) rows.release(row);
        step = 1;
        step.notify_all();
        step.wait(1);
    }};
    step.wait(0);
    fault::fail_nth(1);
    rows.trim();
    CHECK(fault::has_failed());
    fault::fail_nth(0);
    CHECK(rows.used() != 0);
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
    step = 2;
    step.notify_all();
    idle.join();
    CHECK(rows.valid());
}
