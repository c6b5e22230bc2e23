// Rows and bytes by row type, now and at the peak.
#include <support/catch.hpp>
#include <support/from_environment.hpp>
#include <support/row_sets.hpp>

#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct peaks : allot::policies<allot::watch::peaks, allot::oom::null> {};
struct peaks_unlimited : allot::policies<allot::watch::peaks, allot::oom::null, allot::ledger::none> {};
struct peaks_uncounted : allot::policies<allot::watch::peaks, allot::oom::null, allot::count::none> {};
struct plain : allot::policies<allot::oom::null, allot::guard::none> {};

constexpr allot::row_type order{.name = "order"}, line{.name = "line"}, part{.name = "part"};

template <class Rows> concept knows_its_peak = requires(const Rows& rows) { rows.usage_at_peak(); };

std::map<std::string, std::size_t> rows_of(const allot::type_histogram& count_types) {
    std::map<std::string, std::size_t> rows;
    count_types.for_each(
        [&](const allot::type_usage& u) { rows[u.type != nullptr ? u.type->name : "others"] = u.rows; });
    return rows;
}

bool about(std::size_t n, std::size_t expected, double share) {
    const auto a = static_cast<double>(n), b = static_cast<double>(expected);
    return a >= b * (1 - share) && a <= b * (1 + share);
}

} // namespace

TEST_CASE("rows are reported by type, those in shared heaps too, exactly when they are few", "[report]") {
    allot::row_manager<plain> rows{allot::limit{64_MiB}, allot::page_bytes{256_KiB}};
    auto lines = rows.heap(allot::as<allot::heap::unique>, 100, line);
    std::vector<void*> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(rows.allocate(40, i % 3 == 0 ? order : part));
        if (i % 2 == 0) all.push_back(lines.allocate());
    }
    for (int i = 0; i < 3; ++i) all.push_back(rows.allocate(1'000'000, part));
    for (int i = 0; i < 7; ++i) all.push_back(rows.allocate(40));
    const allot::type_histogram now = rows.usage_by_type();
    CHECK(now.exact());
    CHECK(rows_of(now) == std::map<std::string, std::size_t>{{"order", 334}, {"part", 669}, {"line", 500}, {"row", 7}});
    CHECK(now.rows() == rows.live_rows());
    std::string first;
    now.for_each([&](const allot::type_usage& u) {
        if (first.empty()) first = u.type->name;
        if (u.type == &order) CHECK(u.bytes == 334 * 48);
        if (u.type == &part) CHECK(u.bytes == 666 * 48 + 3 * 1_MiB);
    });
    CHECK(first == "part"); // the most bytes come first
    for (void* p : all) rows.release(p);
    CHECK(rows.usage_by_type().rows() == 0);
}

TEST_CASE("rows beyond the budget are estimated, and it is said", "[report]") {
    allot::row_manager<plain> rows{allot::limit{256_MiB}};
    std::vector<void*> all;
    for (int i = 0; i < 400'000; ++i) all.push_back(rows.allocate(24, i % 8 == 0 ? order : line)); // in turns
    for (std::size_t i = 0; i < all.size(); i += 5) rows.release(all[i]);
    const allot::type_histogram now = rows.usage_by_type();
    CHECK_FALSE(now.exact());
    auto found = rows_of(now);
    CHECK(about(found["order"], 40'000, 0.05));
    CHECK(about(found["line"], 280'000, 0.01));
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i % 5 != 0) rows.release(all[i]);
}

TEST_CASE("more types than entries are reported together", "[report]") {
    allot::row_manager<plain> rows{allot::limit{16_MiB}};
    static std::vector<allot::row_type> types(100, allot::row_type{.name = "one of many"});
    std::vector<void*> all;
    for (const auto& type : types) all.push_back(rows.allocate(8, type));
    const allot::type_histogram now = rows.usage_by_type();
    CHECK(now.rows() == 100);
    std::size_t entries = 0, others = 0;
    now.for_each([&](const allot::type_usage& u) {
        ++entries;
        if (u.type == nullptr) others = u.rows;
    });
    CHECK(entries == allot::type_histogram::max_types + 1);
    CHECK(others == 100 - allot::type_histogram::max_types);
    for (void* p : all) rows.release(p);
}

TEMPLATE_TEST_CASE("the peak is remembered by type when the rows have gone", "[report]", peaks, peaks_unlimited) {
    allot::row_manager<TestType> rows{allot::page_bytes{64_KiB}};
    auto lines = rows.heap(allot::as<allot::heap::unique>, 92, line); // 96 with its count
    std::vector<void*> all;
    for (int i = 0; i < 20'000; ++i) all.push_back(lines.allocate());
    for (int i = 0; i < 60'000; ++i) all.push_back(rows.allocate(40, i % 2 == 0 ? order : part));
    void* const huge = rows.allocate(500'000, order);
    for (void* p : all) rows.release(p);
    rows.release(huge);
    rows.trim();
    CHECK(rows.usage_by_type().rows() == 0);
    for (int i = 0; i < 1000; ++i) rows.release(rows.allocate(40, part)); // no new peak
    const allot::peak_usage peak = rows.usage_at_peak();
    const std::size_t most = rows.stats().peak;
    CHECK(peak.charged <= most);
    CHECK(static_cast<double>(peak.charged) >= 0.93 * static_cast<double>(most));
    auto found = rows_of(peak.types);
    CHECK(found["line"] >= 19'900);
    CHECK(found["line"] <= 20'000);
    CHECK(static_cast<double>(found["order"] + found["part"]) >= 0.85 * 60'000);
    CHECK(found["order"] + found["part"] <= 60'100);
    CHECK(about(found["order"], found["part"], 0.2));
    CHECK(peak.types.bytes() <= peak.charged);
}

TEST_CASE("a look that ended within a heap goes on when the page where it ended has gone", "[report]") {
    allot::row_manager<peaks> rows{allot::page_bytes{64_KiB}};
    auto lines = rows.heap(allot::as<allot::heap::unique>, 1000, line);
    std::vector<void*> all;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 9000 + 2000 * round; ++i)
            all.push_back(lines.allocate()); // more pages than a look at the peak has
        REQUIRE(lines.pages() > 2 * allot::detail::histogram_at_peak.pages);
        CHECK(rows.usage_by_type().rows() == all.size());
        for (void* p : all) lines.release(p);
        all.clear();
        rows.trim();
        for (int i = 0; i < 500; ++i) all.push_back(lines.allocate());
        CHECK(rows.usage_by_type().rows() == all.size());
    }
    for (void* p : all) lines.release(p);
}

TEST_CASE("what watches no peak has none to report, and no room for one", "[report]") {
    STATIC_REQUIRE(knows_its_peak<allot::row_manager<peaks>>);
    STATIC_REQUIRE_FALSE(knows_its_peak<allot::row_manager<plain>>);
    STATIC_REQUIRE(sizeof(allot::row_manager<plain>) + sizeof(allot::peak_usage) < sizeof(allot::row_manager<peaks>));
}

TEST_CASE("rows that are not counted are reported without their types", "[report]") {
    allot::row_manager<peaks_uncounted> rows{allot::limit{16_MiB}};
    void* const one = rows.allocate(8, order);
    CHECK(rows_of(rows.usage_by_type()) == std::map<std::string, std::size_t>{{"row", 1}});
    rows.release(one);
}

TEST_CASE("figures report live bytes and the largest free run", "[report]") {
    allot::row_manager<plain> rows{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> all;
    for (int i = 0; i < 100; ++i) all.push_back(rows.allocate(56));
    const auto f = rows.stats();
    CHECK(f.live_rows == 100);
    CHECK(f.live_bytes == 5600);
    CHECK(f.charged == 64_KiB);
    CHECK(f.largest_free_run + f.charged == rows.arena().stats().reserved);
    for (void* p : all) rows.release(p);
}

TEST_CASE("reports may be asked for while others allocate and release", "[report][threads]") {
    allot::row_manager<peaks> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    std::atomic<bool> done{false};
    std::vector<std::thread> team;
    for (int t = 0; t < 2; ++t)
        team.emplace_back([&, t] {
            auto mine = rows.local();
            std::vector<void*> all;
            for (int i = 0; i < (ALLOT_TSAN || (ALLOT_ASAN && support::in_short_run()) ? 20'000 : 200'000); ++i) {
                const bool huge = i % 1000 == 0;
                void* const p = mine.try_allocate(huge ? 300'000u : 24u + static_cast<unsigned>(i % 5) * 16,
                                                  i % 2 == 0 ? order : line);
                if (p != nullptr) all.push_back(p);
                if (all.size() > 4000 + static_cast<std::size_t>(t)) {
                    for (void* row : all) mine.release(row);
                    all.clear();
                }
            }
            for (void* row : all) mine.release(row);
        });
    std::thread reader([&] {
        while (!done) {
            const auto now = rows.usage_by_type();
            CHECK_ON_THREAD(now.bytes() <= 64_MiB);
            std::size_t pages = 0;
            rows.visit_pages([&](const allot::page_use& use) { pages += use.pages; });
            CHECK_ON_THREAD(pages * 64_KiB <= 2 * 64_MiB);
            CHECK_ON_THREAD(rows.usage_at_peak().charged <= 64_MiB);
        }
    });
    for (auto& t : team) t.join();
    done = true;
    reader.join();
    CHECK(rows.usage_by_type().rows() == 0);
}
