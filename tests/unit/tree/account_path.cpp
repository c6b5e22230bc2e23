// account_path: how reports name accounts of one name; at any depth, and whatever the names are.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/account/top_holders.hpp>
#include <allot/tree/account_path.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

std::string path_of(const account& a) { return std::string(a.path().text()); }

// The holders of a tree, as an out-of-memory report has them.
std::string holders_of(const account& root) {
    char text[allot::out_of_memory::report_bytes];
    allot::text_writer out{text};
    allot::write_top_holders(out, root);
    CHECK_FALSE(out.is_truncated());
    return text;
}

} // namespace

TEST_CASE("a path has the first name below the root and the last two", "[accounts][reports]") {
    account root{name{"engine"}}, query{root, name{"query 7"}}, stage{query, name{"stage"}};
    const allot::leak_sink quiet{[](void*, std::string_view) noexcept {}};
    account join{stage, name{"join"}, quiet}, build{join, name{"build"}}, table{build, name{"table"}};
    CHECK(path_of(root) == "engine");
    CHECK(path_of(query) == "query 7");
    CHECK(path_of(stage) == "query 7 / stage");
    CHECK(path_of(join) == "query 7 / stage / join");
    CHECK(path_of(build) == "query 7 / ... / join / build");
    CHECK(path_of(table) == "query 7 / ... / build / table");
    join.close(); // its children become its parent's
    CHECK(path_of(build) == "query 7 / stage / build");
    CHECK(path_of(join) == "join"); // it has no place
}

TEST_CASE("a path of long names has whole characters, and the first and the last name", "[accounts][reports]") {
    const std::string euro = "\xE2\x82\xAC", a(60, 'a'), b = std::string(43, 'b') + euro + euro, c(47, 'c');
    account root{name{"root"}}, first{root, name{a.c_str()}}, middle{first, name{b.c_str()}};
    account last{middle, name{c.c_str()}}, brief{middle, name{"c"}}, deep{brief, name{c.c_str()}};
    const std::string kept = std::string(44, 'a') + "...";
    CHECK(path_of(middle) == kept + " / " + std::string(43, 'b') + "...");
    CHECK(path_of(last) == kept + " / ... / " + c);
    CHECK(path_of(last).size() == 103);
    CHECK(path_of(brief) == kept + " / " + std::string(43, 'b') + "... / c");
    CHECK(path_of(deep) == kept + " / ... / " + c); // "c" is left out, since 47 + 9 + 1 + 3 + 47 bytes are too many
}

TEST_CASE("holders of one name are named by their paths", "[accounts][reports]") {
    account engine{name{"engine"}, limit{64_MiB}};
    account q1{engine, name{"query 1"}}, q2{engine, name{"query 2"}};
    account j1{q1, name{"join"}}, j2{q2, name{"join"}}, low{j2, name{"build"}, limit{1000}};
    REQUIRE(j1.charge(10_MiB));
    REQUIRE(j2.charge(30_MiB));
    REQUIRE(engine.charge(1_MiB));
    CHECK(holders_of(engine) == "  accounts of engine: 41 MiB used of 64 MiB, peak 41 MiB; largest holders:\n"
                                "    query 2 / join: 30 MiB charged, peak 30 MiB\n"
                                "    query 1 / join: 10 MiB charged, peak 10 MiB\n"
                                "    engine: 1 MiB charged, peak 41 MiB, limit 64 MiB\n");
    char text[1024];
    allot::text_writer out{text};
    allot::write_top_holders(out, engine, low.try_charge(2000));
    CHECK_THAT(std::string(out.c_str()), ContainsSubstring("  accounts of query 2 / join / build: 0 bytes used"));
    j1.refund(10_MiB), j2.refund(30_MiB), engine.refund(1_MiB);
}

TEST_CASE("holders of 10,000 levels have paths of their query and the nearest two", "[accounts][reports]") {
    account root{name{"root"}}, empty{root, name{"query 1"}}, query{root, name{"query 2"}};
    std::vector<std::unique_ptr<account>> levels;
    for (int i = 0; i != 10'000; ++i)
        levels.push_back(std::make_unique<account>(levels.empty() ? query : *levels.back(), name{"level"}));
    account last{*levels.back(), name{"last"}}, later{root, name{"query 3"}}, scan{later, name{"scan"}};
    REQUIRE(last.charge(2000));
    REQUIRE(scan.charge(1000));
    const std::string text = holders_of(root);
    CHECK_THAT(text, ContainsSubstring("    query 2 / ... / level / last: 2000 bytes charged"));
    CHECK_THAT(text, ContainsSubstring("    query 3 / scan: 1000 bytes charged"));
    last.refund(2000), scan.refund(1000);
    last.close();
    while (!levels.empty()) levels.pop_back();
}

TEST_CASE("a leak report has the path of the account", "[accounts][reports][closing]") {
    std::string said;
    const allot::leak_sink sink{
        [](void* to, std::string_view text) noexcept { static_cast<std::string*>(to)->assign(text); }, &said};
    account engine{name{"engine"}}, query{engine, name{"query 1"}};
    {
        account join{query, name{"join"}, sink};
        REQUIRE(join.charge(3));
    }
    CHECK_THAT(said, ContainsSubstring("allot: account query 1 / join closed with 3 bytes not refunded"));
}

TEST_CASE("a report of the holders asks no item for its numbers", "[accounts][reports]") {
    static int asked = 0; // an object with pages asks the system for each of them
    account engine{name{"engine"}, limit{100}};
    allot::account_item pool{"pool", "rows",
                             [](const allot::account_item&) noexcept { return ++asked, allot::item_stats{}; }};
    engine.add(pool);
    CHECK_THROWS_AS(engine.charge(101), allot::out_of_memory);
    CHECK(holders_of(engine) ==
          "  accounts of engine: 0 bytes used of 100 bytes, peak 0 bytes; no account holds bytes\n");
    CHECK(asked == 0);
    CHECK((engine.stats().committed == 0 && asked == 1));
    engine.remove(pool);
}
