// memory_timeline: what is kept when it is full. timeline_log: what is marked of an arbiter's log.
#include <support/catch.hpp>

#include <allot/report/memory_timeline.hpp>
#include <allot/report/timeline_log.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

} // namespace

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
    std::array<std::uint64_t, allot::timeline_events> given{};
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
    std::array<std::uint64_t, allot::timeline_events> kept{};
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
