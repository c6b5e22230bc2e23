// release_all by a heap's owner, while other threads use the manager: are short of pages, and report.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/report/rows.hpp>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

std::atomic<std::uint64_t> ended{0};
const allot::row_type ending{"ending", [](void*) noexcept { ended.fetch_add(1, std::memory_order_relaxed); }};

struct linked : allot::policies<allot::slots::linked> {};
struct delayed : allot::policies<allot::slots::delay_release> {};
struct waiting : allot::policies<allot::slots::bitmap, allot::guard::quarantine<32>> {};

} // namespace

TEMPLATE_TEST_CASE("an owner frees all rows of a heap while others are short of pages", "[threads]", linked, delayed,
                   waiting) {
    allot::row_manager<TestType> rows{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    std::atomic<bool> over{false};
    std::thread other([&] {
        std::vector<char> buffer(1 << 16);
        while (!over) {
            rows.trim();
            if (void* const row = rows.try_allocate(1000)) rows.release(row);
            allot::text_writer out(buffer.data(), buffer.size());
            allot::write_report(out, rows);
        }
    });
    ended = 0;
    std::uint64_t due = 0;
    {
        auto heap = rows.heap(allot::as<allot::heap::unique>, 200, ending);
        for (int round = 0; round < (ALLOT_TSAN ? 300 : 3000); ++round) {
            for (int i = 0; i < 400; ++i, ++due) {
                void* const row = heap.allocate();
                allot::finalize(row);
                if (i % 3 == 0) rows.release(row);
            }
            heap.release_all();
            REQUIRE(heap.live_rows() == 0);
        }
    }
    over = true;
    other.join();
    CHECK(ended == due);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    rows.trim();
    CHECK(rows.used() == 0);
}
