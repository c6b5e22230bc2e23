// The report of a tree of accounts whose first waiter was passed, and names of any bytes. Other lines:
// unit/account/closing, account_peak.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/report/accounts.hpp>

#include <string>
#include <thread>

using allot::account;
using allot::limit;
using allot::name;

TEST_CASE("a report says how many requests passed the first one that waits", "[reports][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{1000}}, hog{root, name{"hog"}}, big{root, name{"big"}};
    REQUIRE(hog.try_charge(900));
    std::thread waits{[&] { CHECK_ON_THREAD(big.charge_for(500, allot::forever)); }};
    while (root.stats().waiting == 0) std::this_thread::yield();
    for (int i = 0; i != 3; ++i) REQUIRE(hog.try_charge(1));
    char text[2048];
    allot::text_writer out{text};
    allot::write_accounts(out, root);
    CHECK_THAT(std::string(out.c_str()), ContainsSubstring(", 1 waiting, passed by 3\n"));
    out.clear();
    allot::write_accounts_json(out, root);
    CHECK_THAT(std::string(out.c_str()), ContainsSubstring("\"waiting\":1,\"passed\":3,"));
    hog.refund(903);
    waits.join();
    out.clear();
    allot::write_accounts(out, root);
    CHECK(std::string(out.c_str()).find("passed by") == std::string::npos);
    big.refund(500);
}

TEST_CASE("JSON of accounts may leave out zeros, and limits that there are not", "[reports]") {
    account root{name{"root"}, limit{0}}, below{root, name{"below"}, allot::watermark{50}};
    CHECK(root.force_charge(7).charged());
    char text[2048];
    allot::text_writer out{text};
    allot::write_accounts_json(out, root, allot::account_numbers::known);
    const std::string tree = std::to_string(root.tree_number());
    CHECK(out.view() ==
          "{\"name\":\"root\",\"used\":7,\"own\":7,\"subtree_charge\":7,\"peak\":7,\"limit\":0,\"beyond\":1,\"tree\":" +
              tree + ",\"children\":[{\"name\":\"below\",\"watermark\":50,\"children\":[]}]}");
    out.clear();
    allot::write_accounts_json(out, below);
    CHECK_THAT(std::string(out.c_str()), ContainsSubstring("{\"name\":\"below\",\"used\":0,\"own\":0,\"credit\":0,"));
    root.refund(7);
}

TEST_CASE("JSON of accounts is UTF-8, and says of which tree it is", "[reports]") {
    const std::string euro = "\xE2\x82\xAC";
    char text[4096];
    allot::text_writer out{text};
    for (std::size_t before = 40; before != 47; ++before) { // a copy at the peak has 47 bytes of a name
        const std::string long_name = std::string(before, 'a') + euro + euro + euro;
        account root{name{long_name.c_str()}}, other{name{long_name.c_str()}}, below{root, name{"a\xFF\n"}};
        allot::account_line lines[1];
        allot::account_peak at{lines};
        root.keep_peak(&at);
        CHECK(below.try_charge(1));
        root.keep_peak(nullptr);
        std::string kept(before < 44 ? before : 44, 'a');
        while (kept.size() + 3 <= 44) kept += euro;
        out.clear();
        allot::write_accounts_json(out, at);
        CHECK_THAT(std::string(out.c_str()), ContainsSubstring("{\"name\":\"" + kept + "...\""));
        const std::string tree = "\"tree\":" + std::to_string(root.tree_number()) + ',';
        CHECK_THAT(std::string(out.c_str()), ContainsSubstring(tree));
        out.clear();
        allot::write_accounts_json(out, root);
        CHECK_THAT(std::string(out.c_str()), ContainsSubstring(tree));
        CHECK_THAT(std::string(out.c_str()), ContainsSubstring("\"name\":\"a\xEF\xBF\xBD\\u000a\""));
        out.clear();
        allot::write_accounts_json(out, below); // no root
        CHECK(std::string(out.c_str()).find("\"tree\"") == std::string::npos);
        CHECK_THAT(std::string(out.c_str()), ContainsSubstring("\"path\":\"a\xEF\xBF\xBD\\u000a\",\"children\":[]"));
        CHECK(root.tree_number() == at.tree_number());
        CHECK(root.tree_number() == below.tree_number());
        CHECK(root.tree_number() != other.tree_number());
        CHECK(other.tree_number() != 0);
        below.refund(1);
    }
}
