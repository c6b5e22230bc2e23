// The report of a tree of accounts whose first waiter was passed. Other lines: unit/account/closing, account_peak.
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
    std::thread waits{[&] { CHECK(big.charge_for(500, allot::forever)); }};
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
