// memory_timeline: what is kept when it is full. timeline_log: what is marked of an arbiter's log.
#include <support/catch.hpp>
#include <support/json.hpp>

#include <allot/account/account.hpp>
#include <allot/report/memory_timeline.hpp>
#include <allot/report/timeline_log.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace allot::literals;
using allot::memory_timeline;
using allot::timeline_event;
using allot::timeline_mark;
using allot::timeline_sample;

namespace {

std::vector<timeline_sample> samples_of(const memory_timeline& line) {
    std::vector<timeline_sample> all;
    line.visit_samples([&](const timeline_sample& s) { all.push_back(s); });
    return all;
}
std::vector<timeline_mark> marks_of(const memory_timeline& line) {
    std::vector<timeline_mark> all;
    line.visit_marks([&](const timeline_mark& m) { all.push_back(m); });
    return all;
}

support::json json_of(const memory_timeline& line) {
    std::vector<char> text(1 << 20);
    allot::text_writer out{text.data(), text.size()};
    allot::write_timeline_json(out, line);
    REQUIRE_FALSE(out.is_truncated());
    return support::json::parse(out.view());
}
// Of one sample: the bytes of each account that is shown, and of the others together.
std::map<std::string, double> holders_of(const support::json& line, std::size_t sample) {
    std::map<std::string, double> all;
    const support::json& s = line["samples"].items[sample];
    double rest = s["charged"].number;
    for (std::size_t i = 0; i != line["accounts"].items.size(); ++i)
        rest -= all[line["accounts"].items[i]["name"].text] = s["accounts"].items[i].number;
    all["the rest"] = rest;
    return all;
}

} // namespace

TEST_CASE("samples of an account say what it has, and by account who has it", "[timeline]") {
    using allot::account, allot::name;
    account engine{name{"engine"}}, q1{engine, name{"query 1"}}, q2{engine, name{"query 2"}};
    account j1{q1, name{"join"}}, s1{q1, name{"scan"}, allot::credit_step{1000}};
    auto j2 = std::make_unique<account>(q2, name{"join"});
    auto kept = q2.reserve_floor_for(500, 0_ms);
    memory_timeline line{{.by_account = true}}, plain;
    const auto sample = [&](std::uint64_t ns) { line.add(ns, engine, 7), plain.add(ns, engine, 7); };
    REQUIRE(j1.try_charge(100));
    REQUIRE(j2->try_charge(300));
    sample(10);
    REQUIRE(s1.try_charge(50)); // 950 bytes of credit
    REQUIRE(engine.try_charge(5));
    sample(20);
    j2->refund(300), j2.reset(), j1.refund(100);
    sample(30);
    const auto all = samples_of(line);
    REQUIRE(all.size() == 3);
    CHECK(all[0].charged == 400);
    CHECK(all[0].promised == 200);
    CHECK(all[0].resident == 7);
    CHECK(all[1].charged == 1405);
    CHECK(all[2].charged == 1005);
    CHECK(all[2].promised == 500);
    const auto json = json_of(line);
    using holders = std::map<std::string, double>;
    CHECK(holders_of(json, 0) ==
          holders{
              {"query 1 / join", 100}, {"query 1 / scan", 0}, {"query 2 / join", 300}, {"engine", 0}, {"the rest", 0}});
    CHECK(holders_of(json, 1) == holders{{"query 1 / join", 100},
                                         {"query 1 / scan", 1000},
                                         {"query 2 / join", 300},
                                         {"engine", 5},
                                         {"the rest", 0}});
    CHECK(holders_of(json, 2) ==
          holders{
              {"query 1 / join", 0}, {"query 1 / scan", 1000}, {"query 2 / join", 0}, {"engine", 5}, {"the rest", 0}});
    CHECK(json["accounts"].items[0]["name"].text == "query 1 / scan"); // the largest first
    CHECK(json["accounts"].items[0]["most"].number == 1000);
    CHECK_FALSE(json_of(plain).has("accounts"));
    CHECK(json_of(plain)["samples"].items[1]["charged"].number == 1405);
    s1.refund(50), engine.refund(5);
}

TEST_CASE("the eight accounts that held the most are shown, whenever they came, and the rest is one", "[timeline]") {
    using allot::account, allot::name;
    account engine{name{"engine"}};
    std::deque<std::string> names;
    std::vector<std::unique_ptr<account>> all;
    memory_timeline line{{.by_account = true}};
    std::uint64_t ns = 0;
    for (std::size_t i = 0; i != 60; ++i) { // each larger than those before: account 59 is the largest
        names.push_back("q" + std::to_string(i));
        all.push_back(std::make_unique<account>(engine, name{names.back().c_str()}));
        REQUIRE(all.back()->try_charge(1000 + i));
        line.add(++ns, engine);
    }
    account copy{engine, name{"q59"}}; // of one path: they are one
    REQUIRE(copy.try_charge(10));
    line.add(++ns, engine);
    const auto json = json_of(line);
    REQUIRE(json["accounts"].items.size() == 8);
    CHECK(json["accounts"].items[0]["name"].text == "q59");
    CHECK(json["accounts"].items[0]["most"].number == 1069);
    CHECK(json["accounts"].items[7]["name"].text == "q52");
    auto last = holders_of(json, 59), middle = holders_of(json, 55);
    double eight = 0;
    for (std::size_t i = 52; i != 60; ++i) eight += static_cast<double>(1000 + i);
    double others = 0;
    for (std::size_t i = 0; i != 52; ++i) others += static_cast<double>(1000 + i);
    CHECK(last["the rest"] == others);
    CHECK(samples_of(line)[59].charged == static_cast<std::size_t>(eight + others));
    CHECK(middle["q55"] == 1055); // from its first sample on
    CHECK(middle["q56"] == 0);
    CHECK(middle["the rest"] == others);
    for (const auto& a : all) a->refund(a->stats().own);
    copy.refund(10);
    while (!all.empty()) all.pop_back();
}

TEST_CASE("the accounts of an interval are those of its sample with the most bytes", "[timeline]") {
    using allot::account, allot::name;
    account engine{name{"engine"}}, a{engine, name{"a"}}, b{engine, name{"b"}};
    memory_timeline line{{.samples = 16, .by_account = true}};
    for (std::uint64_t i = 0; i != 1000; ++i) { // a and b in turn; never both
        account& one = i % 2 == 0 ? a : b;
        REQUIRE(one.try_charge(1000 + i));
        line.add(i, engine);
        one.refund(1000 + i);
    }
    const auto json = json_of(line);
    REQUIRE(json["samples"].items.size() <= 16);
    for (std::size_t i = 0; i != json["samples"].items.size(); ++i) {
        auto of = holders_of(json, i);
        CHECK(of["the rest"] == 0);
        CHECK(of["a"] * of["b"] == 0);
    }
    CHECK(json["samples"].items[json["samples"].items.size() - 1]["charged"].number == 1999);
}

TEST_CASE("a timeline keeps each sample until it is full, then the most of each interval", "[timeline]") {
    memory_timeline line{{.samples = 64, .marks = 16}};
    for (std::uint64_t i = 0; i != 64; ++i) line.add(1000 + i * 10, i, i % 2 != 0 ? memory_timeline::unknown : 5);
    CHECK(samples_of(line).size() == 64);
    CHECK(line.interval() == 0);
    for (std::uint64_t i = 64; i != 100'000; ++i) {
        line.add(1000 + i * 10, i == 77'777 ? 1'000'000 : i % 50, i == 5'555 ? 9'999 : 5);
        if (i % 4096 == 0) REQUIRE(samples_of(line).size() <= 64);
    }
    const auto all = samples_of(line);
    CHECK(all.size() >= 32);
    CHECK(all.size() <= 64);
    CHECK(line.interval() * 64 >= 1'000'000);     // the time of all
    CHECK(line.interval() * 64 < 4 * 1'000'000u); // and no coarser than need be
    CHECK(all.front().ns == 1000);
    std::size_t most = 0, resident = 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (i != 0) CHECK(all[i].ns >= all[i - 1].ns + line.interval() / 2);
        if (all[i].charged == 1'000'000) CHECK(all[i].ns <= 1000 + 777'770);
        most = std::max(most, all[i].charged), resident = std::max(resident, all[i].resident);
    }
    CHECK(most == 1'000'000);
    CHECK(resident == 9'999);
}

TEST_CASE("a timeline of one moment, of late times, and of hours", "[timeline]") {
    memory_timeline line{{.samples = 1, .marks = 1}}; // 16
    for (std::size_t i = 0; i != 100; ++i) line.add(7, i);
    REQUIRE(samples_of(line).size() <= 16);
    CHECK(samples_of(line).back().charged == 99);
    line.add(3, 5); // before the last: counts as the last
    CHECK(samples_of(line).back().ns == 7);
    for (std::uint64_t hour = 1; hour != 100; ++hour) line.add(hour * 3'600'000'000'000u, hour);
    const auto all = samples_of(line);
    CHECK(all.size() <= 16);
    CHECK(all.back().charged == 99);
    CHECK(all.front().charged == 99);
}

TEST_CASE("no mark of a timeline is lost, and a rise of spilled bytes is one", "[timeline]") {
    memory_timeline line{{.samples = 16, .marks = 32}};
    std::array<std::uint64_t, allot::detail::timeline_events> given{};
    for (std::uint64_t i = 0; i != 10'000; ++i) {
        const auto kind = static_cast<timeline_event>(i % 3);
        line.mark(i, kind,
                  i == 0 ? "the first one, with a text that is longer \xE2\x82\xAC than a mark keeps" : "more");
        ++given[i % 3];
    }
    line.add(10'000, 1, 1, 100);
    line.add(10'001, 1, 1, 100);
    line.add(10'002, 1, 1, 150);
    const auto all = marks_of(line);
    CHECK(all.size() <= 32);
    CHECK(all.size() >= 8);
    std::array<std::uint64_t, allot::detail::timeline_events> kept{};
    for (const timeline_mark& m : all) kept[static_cast<std::size_t>(m.kind)] += m.count;
    given[static_cast<std::size_t>(timeline_event::spill)] = 1;
    CHECK(kept == given);
    CHECK(std::string_view{all.front().text}.starts_with("the first one"));
    CHECK(std::string_view{all.front().text}.ends_with("longer ...")); // not within a character
}

TEST_CASE("waits, rollbacks, splits and refusals of a log are marked, and the log goes on", "[timeline]") {
    using namespace allot::oom;
    memory_timeline line;
    event_log kept{100};
    allot::timeline_log marks{line, kept.sink()};
    const log_sink to = marks.sink();
    const auto change = [&](thread_state from, event by, thread_state now) {
        log_entry e;
        e.is_change = true, e.became = {3, from, by, now};
        to.write(to.context, e);
    };
    to.write(to.context, log_entry{});
    change(thread_state::running, event::announced, thread_state::alloc);
    CHECK(marks_of(line).empty());
    change(thread_state::alloc, event::failed, thread_state::blocked);
    change(thread_state::blocked, event::rolled_back, thread_state::bufn_throw);
    change(thread_state::bufn, event::split, thread_state::split_throw);
    change(thread_state::blocked, event::refused, thread_state::running);
    const auto all = marks_of(line);
    REQUIRE(all.size() == 4);
    CHECK(all[0].kind == timeline_event::wait);
    CHECK(all[1].kind == timeline_event::rollback);
    CHECK(all[2].kind == timeline_event::split);
    CHECK(all[3].kind == timeline_event::refusal);
    CHECK(std::string(all[0].text) == "thread 3");
    CHECK(kept.entries().size() == 6);
}
