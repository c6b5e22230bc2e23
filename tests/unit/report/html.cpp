// html_page: what is embedded is what the reports write, whatever the names and the length; a page that lost something
// is not called whole. That a browser shows it: tests/browser.
#include <support/catch.hpp>
#include <support/json.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/report/html.hpp>
#include <allot/row_manager.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using support::json;

namespace {

struct page_rows : allot::policies<allot::watch::peaks, allot::ledger::tree> {};
struct page_blocks : allot::policies<allot::ledger::tree> {};

constexpr const char* awful =
    "</script><!-- \"\\ \n \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xff \xC3( \xE2\x82 \xED\xA0\x80";
constexpr const char* awful_shown =
    "</script><!-- \"\\ \n \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xEF\xBF\xBD \xEF\xBF\xBD( \xEF\xBF\xBD "
    "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD";
constexpr allot::row_type awful_type{.name = awful};
constexpr std::string_view end_of_script = "</script>", whole = "<template id=\"whole\">";

template <class Fill> std::string page_of(Fill fill) {
    std::string all;
    const auto to = [&](std::string_view part) { all += part; };
    allot::html_page page{to, "a <title> & more"};
    fill(page);
    CHECK_FALSE(page.finish());
    return all;
}
// The JSON of the n-th report of a kind.
json report_of(const std::string& page, const std::string& kind, unsigned n = 0) {
    std::size_t at = 0;
    for (unsigned i = 0; i <= n; ++i) {
        at = page.find(" data-kind=\"" + kind + "\"", at);
        REQUIRE(at != std::string::npos);
        at = page.find('>', at) + 1;
    }
    return json::parse(std::string_view{page}.substr(at, page.find(end_of_script, at) - at));
}
std::size_t count_of(std::string_view page, std::string_view text) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = page.find(text, at)) != std::string_view::npos; ++at) ++n;
    return n;
}
std::size_t accounts_in(const json& tree) {
    std::size_t n = 1;
    for (const json& child : tree["children"].items) n += accounts_in(child);
    return n;
}
std::string file_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

TEST_CASE("a page has what the reports write, whatever the names are", "[html]") {
    account root{name{awful}, limit{8_MiB}}, query{root, name{"query"}};
    std::vector<allot::account_line> lines(2);
    allot::account_peak fullest{lines};
    root.keep_peak(&fullest);
    allot::row_manager<page_rows> rows{query, allot::page_bytes{64_KiB}, name{awful}};
    allot::chunk_arena<page_blocks> blocks{query, name{awful}};
    std::vector<void*> held;
    for (int i = 0; i != 100; ++i) held.push_back(rows.allocate(1000, awful_type));
    void* const block = blocks.allocate(5000).address;
    root.keep_peak(nullptr);
    allot::memory_timeline line;
    line.add(50, 1000, 2000);
    line.mark(60, allot::timeline_event::wait, awful);
    const std::string page = page_of([&](allot::html_page& to) {
        to.peak(fullest)
            .accounts(root)
            .timeline(line, query)
            .rows(rows)
            .chunks(blocks)
            .out_of_memory("a < b & c\x01\n");
    });

    const json now = report_of(page, "accounts");
    CHECK(now["name"].text == awful_shown);
    CHECK(now["used"].number == static_cast<double>(root.used()));
    CHECK(now["children"].items[0]["children"].items.size() == 2);
    CHECK(now["tree"].number == root.tree_number());
    CHECK(report_of(page, "peak")["tree"].number == root.tree_number());
    CHECK(report_of(page, "peak")["used"].number == static_cast<double>(fullest.used()));
    CHECK(count_of(page, "data-missing=\"2\"") == 1); // two lines for four accounts
    const json report = report_of(page, "rows");
    CHECK(report["now"]["types"].items[0]["type"].text == awful_shown);
    CHECK(report["now"]["types"].items[0]["rows"].number == 100);
    CHECK(report["account"].text.starts_with("query / </script>")); // the manager's own, by its path
    CHECK(report_of(page, "chunks")["account"].text.starts_with("query / </script>"));
    CHECK(report["at_peak"]["charged"].number > 0);
    const json map = report_of(page, "pages");
    double pages = 0;
    for (const json& run : map["runs"].items) pages += run["pages"].number;
    CHECK(pages == map["pages"].number);
    CHECK(report_of(page, "chunks")["live_blocks"].number == 1);
    const json drawn = report_of(page, "timeline");
    CHECK(drawn["account"]["name"].text == "query");
    CHECK(drawn["account"]["limit"].number == static_cast<double>(SIZE_MAX));
    CHECK(drawn["samples"].items[0]["ns"].number == 0);
    CHECK(drawn["samples"].items[0]["resident"].number == 2000);
    CHECK_FALSE(drawn["samples"].items[0].has("spilled"));
    CHECK(drawn["marks"].items[0]["ns"].number == 10);
    CHECK(drawn["marks"].items[0]["text"].text.starts_with("</script><!--"));

    CHECK(count_of(page, "<script") == count_of(page, end_of_script));
    CHECK(count_of(page, "<!--") == 0);
    CHECK(count_of(page, "<title>a &lt;title> &amp; more: ") == 1);
    CHECK(count_of(page, "<h1>a &lt;title> &amp; more</h1>") == 1);
    CHECK(count_of(page, "<pre>\na &lt; b &amp; c\xEF\xBF\xBD\n</pre>") == 1);
    CHECK(count_of(page, whole) == 1);
    CHECK(count_of(page, "http://www.w3.org/2000/svg") == count_of(page, "://")); // a name; nothing is fetched
    for (void* const p : held) rows.release(p);
    blocks.deallocate(block);
}

TEST_CASE("the title of a page says program, host and time", "[html]") {
    char host[256] = "";
    REQUIRE(::gethostname(host, sizeof host - 1) == 0);
    const auto at = [&](std::time_t when) {
        char text[64];
        std::strftime(text, sizeof text, ", %Y-%m-%d %H:%M:%S UTC", std::gmtime(&when));
        return std::string(program_invocation_short_name) + " on " + host + text;
    };
    const std::time_t before = std::time(nullptr);
    const std::string page = page_of([](allot::html_page&) {});
    std::size_t titles = 0, lines = 0;
    for (std::time_t t = before; t <= std::time(nullptr); ++t) {
        titles += count_of(page, "<title>a &lt;title> &amp; more: " + at(t) + "</title>");
        lines += count_of(page, "<p class=\"quiet\">" + at(t) + "</p>");
    }
    CHECK(titles == 1);
    CHECK(lines == 1);
}

TEST_CASE("a page without a part has no section for it", "[html]") {
    const std::string page = page_of([](allot::html_page&) {});
    CHECK(count_of(page, "application/json\" id") == 0);
    CHECK(count_of(page, "<section") == 0);
    CHECK(count_of(page, whole) == 1);
}

TEST_CASE("a tree of 2,000 accounts is longer than the page's buffers, and whole", "[html]") {
    account root{name{"root"}};
    std::deque<std::string> names;
    std::vector<std::unique_ptr<account>> all;
    for (std::size_t i = 0; i != 2000; ++i) {
        names.push_back("\xE2\x82\xAC" + std::string(i % 7, '<') + std::to_string(i)); // cut anywhere by a buffer's end
        all.push_back(std::make_unique<account>(i < 10 ? root : *all[i % 10], name{names.back().c_str()}));
    }
    std::vector<char> large(1 << 20);
    allot::text_writer out{large.data(), large.size()};
    allot::write_accounts_json(out, root, allot::account_numbers::known);
    REQUIRE(out.size() > 4 * 16 * 1024);
    const std::string page = page_of([&](allot::html_page& to) { to.accounts(root); });
    CHECK(accounts_in(report_of(page, "accounts")) == 2001);
    std::string same;
    for (const char c : out.view()) same += c == '<' ? "\\u003c" : std::string(1, c);
    CHECK(page.find(same) != std::string::npos);
    while (!all.empty()) all.pop_back();
}

TEST_CASE("a page whose sink fails is not whole, and the sink is not called again", "[html]") {
    account root{name{"root"}};
    unsigned parts = 0, fails = 0;
    std::string all;
    const auto to = [&](std::string_view part) {
        if (++parts >= fails) return false;
        all += part;
        return true;
    };
    bool done = false;
    for (fails = 1; !done; ++fails) {
        REQUIRE(fails < 20);
        parts = 0, all.clear();
        allot::html_page page{to};
        page.accounts(root).out_of_memory("text");
        const std::error_code wrong = page.finish();
        done = parts < fails;
        CHECK(static_cast<bool>(wrong) == !done);
        CHECK(page.error() == wrong);
        CHECK(count_of(all, whole) == (done ? 1u : 0u));
        if (done) break;
        CHECK(wrong == std::errc::io_error);
        CHECK(parts == fails); // no call after the one that failed
    }
    CHECK(fails > 2);
    fails = 20, parts = 0, all.clear();
    {
        allot::html_page page{to};
        page.accounts(root).out_of_memory("last\n");
    } // as where an exception leaves the scope
    CHECK(count_of(all, "<pre>\nlast\n</pre>") == 1);
    CHECK(count_of(all, whole) == 0);
    fails = 1, parts = 0;
    {
        allot::html_page page{to};
    }
    CHECK(parts == 1);
}

TEST_CASE("a page's file: written, cut, not to be opened, on a full disk", "[html]") {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("allot_page_" + std::to_string(::getpid()))).string();
    account root{name{"root"}};
    {
        allot::html_page page{path.c_str()};
        page.accounts(root);
        CHECK_FALSE(page.finish());
        CHECK_FALSE(page.finish());
    }
    CHECK(report_of(file_of(path), "accounts")["name"].text == "root");
    CHECK(count_of(file_of(path), whole) == 1);
    {
        allot::html_page{path.c_str()}.accounts(root);
    } // as where an exception leaves the scope
    CHECK(report_of(file_of(path), "accounts")["name"].text == "root");
    CHECK(count_of(file_of(path), whole) == 0);
    std::filesystem::remove(path);

    allot::html_page nowhere{"/nowhere/at/all.html"};
    CHECK(nowhere.error() == std::errc::no_such_file_or_directory);
    CHECK(nowhere.accounts(root).finish() == std::errc::no_such_file_or_directory);
    if (!std::filesystem::exists("/dev/full")) return;
    allot::html_page full{"/dev/full"};
    CHECK(full.accounts(root).finish() == std::errc::no_space_on_device);
}
