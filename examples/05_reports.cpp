// Reports of a row manager: rows by type now and at the peak, a map of the pages, and a trace of the last events for
// chrome://tracing or ui.perfetto.dev. Reports allocate nothing.
#include <allot/report/page_usage.hpp>
#include <allot/report/rows.hpp>
#include <allot/report/trace.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>
#include <vector>

using namespace allot::literals;

struct watched
    : allot::policies<allot::watch::trace<allot::watch::trace_options{.events = 512, .every_nth_row = 1000}>> {};

constexpr allot::row_type order_type{.name = "order"}, line_type{.name = "line"}, index_type{.name = "index"};

static char text[64 * 1024];

int main(int count, char** names) {
    allot::row_manager<watched> rows{allot::limit{16_MiB}, allot::page_bytes{256_KiB}, allot::name{"orders"}};
    std::vector<void*> held;
    for (int i = 0; i < 20'000; ++i) {
        if (i % 4 == 0) held.push_back(rows.allocate(56, order_type));
        held.push_back(rows.allocate(120, line_type));
    }
    held.push_back(rows.allocate(1'500'000, index_type)); // a huge row
    for (std::size_t i = 0; i < held.size(); i += 2) rows.release(held[i]);

    allot::text_writer out{text};
    allot::write_report(out, rows);
    std::puts(text);
    out.clear();
    allot::write_page_usage(out, rows);
    std::puts(text);

    for (std::size_t i = 1; i < held.size(); i += 2) rows.release(held[i]);
    rows.trim();
    const allot::peak_usage peak = rows.usage_at_peak(); // the rows when the charge was at its peak
    std::printf("at the peak of %zu KiB:\n", peak.charged / 1024);
    peak.types.for_each([](const allot::type_usage& u) { std::printf("  %zu rows of %s\n", u.rows, u.type->name); });

    out.clear();
    allot::write_trace_json(out, rows); // to the file named on the command line, if any
    if (std::FILE* file = count > 1 ? std::fopen(names[1], "w") : nullptr; file != nullptr) {
        std::fputs(out.c_str(), file);
        std::fclose(file);
    }
    return rows.live_rows() == 0 && peak.types.rows() >= 20'000 && !out.is_truncated() ? 0 : 1;
}
