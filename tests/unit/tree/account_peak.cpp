// A tree's accounts at its peak: exactly that moment, whole, and with those that have ended since.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <allot/report/accounts.hpp>

#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using allot::account;
using allot::account_stats;
using allot::limit;
using allot::name;

namespace {

std::vector<account_stats> lines_of(const allot::account_peak& at) {
    std::vector<account_stats> all;
    at.visit([&](const account_stats& f) { all.push_back(f); });
    return all;
}

// Every line's used is its own and what the lines one deeper have of it; the root's is its peak.
bool adds_up(const std::vector<account_stats>& lines) {
    bool good = !lines.empty() && lines[0].used == lines[0].peak;
    for (std::size_t i = 0; i != lines.size(); ++i) {
        std::size_t sum = lines[i].own;
        for (std::size_t c = i + 1; c != lines.size() && lines[c].depth > lines[i].depth; ++c)
            if (lines[c].depth == lines[i].depth + 1) sum += lines[c].subtree_charge;
        good = good && sum == lines[i].used && lines[i].used <= lines[i].peak && lines[i].used <= lines[i].limit;
    }
    return good;
}

} // namespace

TEST_CASE("the tree at its peak is that of the fullest moment", "[accounts]") {
    allot::account_line room[8];
    allot::account_peak at{room};
    account root{name{"root"}, limit{1000}};
    root.keep_peak(&at);
    {
        account query{root, name{"query"}, limit{500}};
        const auto floor = query.reserve_floor_for(50, allot::time_span{0});
        account scan{query, name{"scan"}};
        CHECK(at.used() == 50);
        CHECK(scan.try_charge(300));
        CHECK(root.try_charge(7));
        scan.refund(200);
        account join{query, name{"join"}, limit{190}};
        CHECK(join.try_charge(180)); // 287: less than 307
        CHECK_FALSE(join.try_charge(180));
        scan.refund(100);
        join.refund(180);
        root.refund(7);
    }
    account later{root, name{"later"}};
    CHECK(later.try_charge(200));
    later.refund(200);
    root.keep_peak(nullptr);
    CHECK(later.try_charge(900));
    later.refund(900);

    const auto lines = lines_of(at);
    REQUIRE(lines.size() == 3); // as it was then: no join, no later
    CHECK(at.used() == 307);
    CHECK(at.missing() == 0);
    CHECK(adds_up(lines));
    CHECK(std::string(lines[0].name) == "root");
    CHECK(lines[0].own == 7);
    CHECK(std::string(lines[1].name) == "query");
    CHECK(lines[1].used == 300);
    CHECK(lines[1].own == 0);
    CHECK(lines[1].reservation == 50);
    CHECK(std::string(lines[2].name) == "scan");
    CHECK(lines[2].own == 300);

    char page[4096];
    allot::text_writer out{page};
    allot::write_accounts(out, at);
    CHECK(std::string(out.view()) == "accounts of root at the peak\n"
                                     "  root: 307 bytes used of 1000 bytes, peak 307 bytes, own 7 bytes\n"
                                     "    query: 300 bytes used of 500 bytes, peak 300 bytes, reserved 50 bytes\n"
                                     "      scan: 300 bytes used, peak 300 bytes\n");
    out.clear();
    allot::write_accounts_json(out, at);
    const std::string json(out.view());
    CHECK(json.find("\"name\":\"root\",\"used\":307") != std::string::npos);
    CHECK(json.find("\"name\":\"query\",\"used\":300,\"own\":0") != std::string::npos);
}

TEST_CASE("what is charged and what is promised are two numbers, and neither is cut at the limit", "[accounts]") {
    allot::account_line room[8];
    allot::account_peak at{room};
    account root{name{"root"}, limit{1000}}, query{root, name{"query"}}, scan{query, name{"scan"}};
    account other{root, name{"other"}};
    root.keep_peak(&at);
    auto floor = query.reserve_floor_for(600, allot::time_span{0});
    CHECK(root.promised() == 600);
    CHECK(scan.try_charge(100));
    CHECK(other.try_charge(300));
    CHECK(root.used() == 900);
    CHECK(root.promised() == 500);
    CHECK(query.promised() == 0); // nothing below it has reserved
    CHECK(at.used() == 900);
    CHECK(at.charged() == 400);
    CHECK(at.promised() == 500);
    floor.release();
    CHECK(other.try_charge(450)); // the most that was charged, below the peak
    CHECK(at.charged() == 850);
    CHECK(at.used() == 900);
    CHECK(at.promised() == 500);

    const auto first_line = [&] {
        char text[2048];
        allot::text_writer out{text};
        allot::write_accounts(out, at);
        return std::string(out.view().substr(0, out.view().find('\n')));
    };
    CHECK(first_line() == "accounts of root at the peak: 850 bytes charged, 500 bytes promised, of 1000 bytes each");
    char text[2048];
    allot::text_writer out{text};
    allot::write_accounts_json(out, at);
    CHECK(out.view().find("\"charged\":850,\"promised\":500,") != std::string_view::npos);

    const auto again = query.reserve_floor_for(120, allot::time_span{0}); // 20 beside the 100 that are charged
    CHECK(other.force_charge(300).charged());                             // the limit is broken, and it shows
    CHECK(at.charged() == 1150);
    CHECK(first_line() == "accounts of root at the peak: 1150 bytes charged, 20 bytes promised, of 1000 bytes each");
    out.clear();
    allot::write_accounts(out, root);
    CHECK(out.view().starts_with("accounts of root: 1150 bytes charged, 20 bytes promised, of 1000 bytes each\n"));
    CHECK(out.view().find("root: 1170 bytes used of 1000 bytes, ") != std::string_view::npos);
    CHECK(out.view().find(", charged beyond its limit by force 1\n") != std::string_view::npos);
    root.keep_peak(nullptr);
    other.refund(1050);
    scan.refund(100);
}

TEST_CASE("a limit that was lowered below use is called so", "[accounts]") {
    account root{name{"root"}, limit{1000}};
    CHECK(root.try_charge(700));
    const auto line = [&] {
        char text[512];
        allot::text_writer out{text};
        allot::write_accounts(out, root);
        return std::string(out.view());
    };
    root.set_limit(700);
    CHECK_FALSE(root.stats().lowered);
    root.set_limit(699);
    CHECK(root.stats().lowered);
    CHECK(line().find("root: 700 bytes used of 699 bytes (a limit that was lowered), ") != std::string::npos);
    root.refund(1);
    CHECK(line().find("lowered") == std::string::npos); // it holds again
    root.set_limit(1000);
    CHECK_FALSE(root.stats().lowered);
    root.refund(699);
}

TEST_CASE("what is held and not confirmed is in no copy of a peak", "[accounts]") {
    allot::account_line room[8];
    allot::account_peak at{room};
    account root{name{"root"}};
    account scan{root, name{"scan"}};
    root.keep_peak(&at);
    CHECK(scan.try_hold(100));
    CHECK(at.used() == 0);
    scan.cancel(100);
    CHECK(scan.try_hold(60));
    CHECK(root.try_charge(5));
    CHECK(at.used() == 5);
    CHECK(adds_up(lines_of(at)));
    CHECK(lines_of(at)[1].used == 0);
    scan.confirm(60);
    CHECK(at.used() == 65);
    CHECK(adds_up(lines_of(at)));
    root.keep_peak(nullptr);
    scan.refund(60);
    root.refund(5);
}

TEST_CASE("leaves take no room ahead while a peak is kept; too few lines are reported", "[accounts]") {
    allot::account_line room[2];
    allot::account_peak at{room};
    account root{name{"root"}};
    account other{root, name{"other"}};
    account leaf{root, name{"leaf"}, allot::credit_step{1000}}; // the newest child comes first
    CHECK(leaf.try_charge(10));
    CHECK(leaf.stats().credit == 990);
    root.keep_peak(&at);
    CHECK(leaf.stats().credit == 0);
    CHECK(leaf.try_charge(10));
    CHECK(at.used() == 20);
    CHECK(lines_of(at)[1].used == 20);
    CHECK(at.size() == 2);
    CHECK(at.missing() == 1);
    root.keep_peak(nullptr);
    CHECK(leaf.try_charge(10));
    CHECK(leaf.stats().credit == 970);
    leaf.refund(30);
}

TEST_CASE("the peak of a tree that many threads charge is no sample", "[accounts][threads]") {
    allot::account_line room[32];
    for (unsigned round = 0; round != 20; ++round) {
        allot::account_peak at{room};
        account root{name{"root"}, limit{50'000}};
        account low{root, name{"low"}, limit{20'000}}, high{root, name{"high"}};
        const auto floor = low.reserve_floor_for(500, allot::time_span{0});
        root.keep_peak(&at);
        {
            std::vector<std::jthread> all;
            for (unsigned t = 0; t != 4; ++t)
                all.emplace_back([&, t] {
                    std::mt19937 random(round * 4 + t);
                    for (unsigned turn = 0; turn != 40; ++turn) {
                        account mine{t % 2 == 0 ? low : high, name{"mine"}};
                        std::size_t has = 0;
                        for (unsigned i = 0; i != 50; ++i) {
                            const std::size_t n = random() % 2000;
                            if (i % 7 == 6) {
                                if (mine.try_hold(n)) random() % 2 == 0 ? mine.cancel(n) : (has += n, mine.confirm(n));
                            } else if (random() % 2 == 0) {
                                if (mine.try_charge(n)) has += n;
                            } else if (has != 0) {
                                const std::size_t less = random() % has + 1;
                                mine.refund(less);
                                has -= less;
                            }
                        }
                        mine.refund(has);
                    }
                });
        }
        root.keep_peak(nullptr);
        CHECK(at.used() == root.peak());
        CHECK(adds_up(lines_of(at)));
        CHECK(lines_of(at)[0].used == root.peak());
    }
}
