// Reports, maps and traces are written without allocating; so is what is recorded for them.
#include <process/counted_new.hpp>

#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/report/page_usage.hpp>
#include <allot/report/rows.hpp>
#include <allot/report/trace.hpp>

#include <vector>

using namespace allot::literals;

TEST_CASE("reports are written without allocating, and nothing is allocated for a trace", "[process][report]") {
    struct set : allot::policies<allot::watch::trace<>, allot::oom::null> {};
    allot::row_manager<set> rows{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> all;
    all.reserve(400'000);
    static char text[200'000];
    allot::text_writer out{text};
    for (int i = 0; i != 40; ++i) rows.release(rows.allocate(100)); // the heap is made, and the thread's caches
    void* const huge = rows.allocate(1'000'000);
    REQUIRE(news != 0);
    news = 0;
    while (void* const row = rows.try_allocate(100)) all.push_back(row);
    CHECK(news == 0);
    allot::write_report(out, rows);
    allot::write_report_json(out, rows);
    allot::write_page_usage(out, rows);
    allot::write_page_usage_json(out, rows);
    allot::write_trace(out, rows);
    allot::write_trace_json(out, rows);
    rows.report(out);
    CHECK_FALSE(out.is_truncated());
    CHECK(rows.usage_at_peak().types.rows() > 100'000);
    for (void* row : all) rows.release(row);
    rows.release(huge);
    rows.trim();
    CHECK(news == 0);
}
