// Reports of a row manager and maps of its pages, as text and JSON.
#include <support/catch.hpp>
#include <support/json.hpp>
#include <support/row_sets.hpp>

#include <allot/account/account.hpp>
#include <allot/report/page_usage.hpp>
#include <allot/report/rows.hpp>

#include <string>
#include <vector>

using namespace allot::literals;

namespace {

struct peaks : allot::policies<allot::watch::peaks, allot::oom::null, allot::guard::none> {};
struct plain : allot::policies<allot::oom::null, allot::watch::none, allot::ledger::none> {};
using lent_arena = allot::arena<>;
struct on_arena : allot::policies<allot::page::of<lent_arena>, allot::oom::null> {};

template <class T>
concept is_reported = requires(allot::text_writer& out, const T& of) {
    allot::write_report(out, of);
    allot::write_report_json(out, of);
};
static_assert(is_reported<allot::row_manager<plain>> && !is_reported<allot::account>);

constexpr allot::row_type order{.name = "order"}, odd{.name = "a \"quoted\\\" \n type"};

// What a writer made of it, whole.
template <class Write> std::string text_of(Write write) {
    std::vector<char> buffer(200'000);
    allot::text_writer out{buffer.data(), buffer.size()};
    write(out);
    REQUIRE_FALSE(out.is_truncated());
    return std::string(out.view());
}
template <class Rows> std::string page_letters(const Rows& rows) {
    std::string all;
    allot::detail::draw_pages(rows, [&](std::string_view letters) { all += letters; });
    return all;
}

} // namespace

TEST_CASE("a report has manager, arena, heaps and row types", "[report]") {
    allot::row_manager<peaks> rows{allot::limit{8_MiB}, allot::page_bytes{64_KiB}, allot::name{"orders"}};
    std::vector<void*> all;
    for (int i = 0; i < 3000; ++i) all.push_back(rows.allocate(56, i % 2 == 0 ? order : odd));
    all.push_back(rows.allocate(100'000, order));
    const std::string text = text_of([&](auto& out) { allot::write_report(out, rows); });
    CHECK_THAT(text, ContainsSubstring("row manager orders"));
    CHECK_THAT(text, ContainsSubstring("peaks"));
    CHECK_THAT(text, ContainsSubstring("limit 8 MiB, charged 320 KiB, peak 320 KiB"));
    CHECK_THAT(text, ContainsSubstring("rows of 64 bytes: 3000 live"));
    CHECK_THAT(text, ContainsSubstring("order: 1501 rows"));
    CHECK_THAT(text, ContainsSubstring("were charged"));
    const auto json = support::json::parse(text_of([&](auto& out) { allot::write_report_json(out, rows); }));
    CHECK(json["manager"].text == "orders");
    CHECK(json["charged"].number == 320 * 1024);
    CHECK(json["live_rows"].number == 3001);
    CHECK(json["live_percent_of_charged"].number > 50);
    CHECK(json["arena"]["page_bytes"].number == 64 * 1024);
    CHECK(json["charges"]["succeeded"].number == 4);
    CHECK(json["heaps"].items.size() == 2);
    CHECK(json["heaps"].items[1]["name"].text == "huge");
    CHECK(json["now"]["exact"].text == "true");
    REQUIRE(json["now"]["types"].items.size() == 2);
    CHECK(json["now"]["types"].items[0]["type"].text == "order");
    CHECK(json["now"]["types"].items[0]["rows"].number == 1501);
    CHECK(json["now"]["types"].items[1]["type"].text == odd.name);
    CHECK(json["at_peak"]["charged"].number == 320 * 1024);
    CHECK(json["at_peak"]["types"].items[0]["bytes"].number > 2 * 65536); // the huge row is in it
    for (void* p : all) rows.release(p);
}

TEST_CASE("a report of a set that records nothing says what it knows", "[report]") {
    allot::row_manager<plain> rows{allot::page_bytes{64_KiB}, allot::reserve_bytes{16_MiB}};
    void* const row = rows.allocate(5);
    const auto json = support::json::parse(text_of([&](auto& out) { allot::write_report_json(out, rows); }));
    CHECK(json["charged"].number == 64 * 1024);
    CHECK_FALSE(json.has("at_peak"));
    CHECK_FALSE(json.has("charges"));
    CHECK_THAT(text_of([&](auto& out) { allot::write_report(out, rows); }), ContainsSubstring("row types now"));
    rows.release(row);
}

TEST_CASE("a page map has a letter for every page", "[report]") {
    allot::row_manager<peaks> rows{allot::limit{8_MiB}, allot::page_bytes{64_KiB}, allot::reserve_bytes{16_MiB}};
    CHECK(page_letters(rows) == std::string(256, '-'));
    auto unique = rows.heap(allot::as<allot::heap::unique>, 1000, order);
    std::vector<void*> full;
    while (unique.pages() < 2) full.push_back(unique.allocate());
    void* const huge = rows.allocate(150'000, order);
    std::string map = page_letters(rows);
    REQUIRE(map.size() == 256);
    CHECK(map.substr(253) == "Hhh");
    CHECK((map[0] == 'F' || map[0] == '9'));
    CHECK((map[1] >= '0' && map[1] <= '6')); // the second page has some slots in a cache
    rows.release(huge);
    map = page_letters(rows);
    CHECK(map.substr(253) == ",,,");
    rows.arena().trim();
    CHECK(page_letters(rows).substr(253) == "...");
    const std::string text = text_of([&](auto& out) { allot::write_page_usage(out, rows); });
    CHECK_THAT(text, ContainsSubstring("pages of 64 KiB"));
    CHECK_THAT(text, ContainsSubstring("\n64       ----"));
    const auto json = support::json::parse(text_of([&](auto& out) { allot::write_page_usage_json(out, rows); }));
    CHECK(json["pages"].number == 256);
    double pages = 0;
    for (const auto& run : json["runs"].items) {
        CHECK(run["first"].number == pages);
        pages += run["pages"].number;
    }
    CHECK(pages == 256);
    CHECK(json["runs"].items[0]["kind"].text == "slots");
    CHECK(json["runs"].items[0]["tenths"].number >= 9);
    for (void* p : full) unique.release(p);
}

TEST_CASE("pages of others and untouched lines are reported in short", "[report]") {
    lent_arena pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{1_GiB}};
    allot::row_manager<on_arena> one{pages, allot::limit{8_MiB}}, two{pages, allot::limit{8_MiB}};
    void* const a = one.allocate(100);
    void* const b = two.allocate(100);
    void* const first = one.allocate(200'000);
    void* const second = one.allocate(200'000); // two huge rows side by side
    CHECK(page_letters(one).substr(0, 3).substr(1, 1) == "#");
    CHECK(page_letters(two).substr(0, 1) == "#");
    const std::string text = text_of([&](auto& out) { allot::write_page_usage(out, one); });
    CHECK(text.size() < 2000);
    CHECK_THAT(text, ContainsSubstring("lines like this"));
    CHECK_THAT(text, ContainsSubstring("HhhhHhhh\n"));
    const auto json = support::json::parse(text_of([&](auto& out) { allot::write_page_usage_json(out, one); }));
    std::size_t huge = 0;
    for (const auto& run : json["runs"].items) huge += run["kind"].text == "huge";
    CHECK(huge == 2);
    for (void* row : {a, first, second}) one.release(row);
    two.release(b);
}

TEST_CASE("a buffer that is too small is cut and says so", "[report]") {
    allot::row_manager<peaks> rows{allot::limit{8_MiB}};
    char small[100];
    allot::text_writer out{small};
    allot::write_report_json(out, rows);
    CHECK(out.is_truncated());
    CHECK(out.view().size() < sizeof small);
}
