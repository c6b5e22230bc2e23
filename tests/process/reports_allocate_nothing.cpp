// Reports, maps and traces are written without allocating; so is what is recorded for them.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/report/page_map.hpp>
#include <allot/report/rows.hpp>
#include <allot/report/trace.hpp>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::atomic<std::size_t> news{0};

void* counted_new(std::size_t bytes, std::size_t align) {
    ++news;
    void* const p = align > alignof(std::max_align_t) ? std::aligned_alloc(align, (bytes + align - 1) / align * align)
                                                      : std::malloc(bytes);
    if (p == nullptr) std::abort();
    return p;
}

} // namespace

void* operator new(std::size_t bytes) { return counted_new(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align) { return counted_new(bytes, static_cast<std::size_t>(align)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_new(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
    return counted_new(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace allot::literals;

TEST_CASE("reports are written without allocating, and nothing is allocated for a trace", "[process][report]") {
    struct set : allot::policies<allot::watch::trace<>, allot::oom::null> {};
    allot::row_manager<set> rows{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> all;
    all.reserve(400'000);
    static char text[200'000];
    allot::text_writer out{text};
    rows.release(rows.allocate(100)); // the heap itself is made
    void* const huge = rows.allocate(1'000'000);
    REQUIRE(news != 0);
    news = 0;
    while (void* const row = rows.try_allocate(100)) all.push_back(row);
    CHECK(news == 0);
    allot::write_report(out, rows);
    allot::write_report_json(out, rows);
    allot::write_page_map(out, rows);
    allot::write_page_map_json(out, rows);
    allot::write_trace(out, rows);
    allot::write_trace_json(out, rows);
    rows.report(out);
    CHECK_FALSE(out.was_cut());
    CHECK(rows.usage_at_peak().types.rows() > 100'000);
    for (void* row : all) rows.release(row);
    rows.release(huge);
    rows.trim();
    CHECK(news == 0);
}
