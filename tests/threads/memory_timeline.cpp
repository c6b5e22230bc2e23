// A timeline that several threads fill: nothing is lost, and it stays ordered.
#include <support/catch.hpp>

#include <allot/report/memory_timeline.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

TEST_CASE("threads add samples and marks to one timeline", "[timeline][threads]") {
    constexpr std::uint64_t each = 5000;
    allot::memory_timeline line{{.samples = 100, .marks = 50}};
    std::atomic<std::uint64_t> clock{0};
    std::vector<std::thread> team;
    for (unsigned t = 0; t != 4; ++t)
        team.emplace_back([&, t] {
            for (std::uint64_t i = 0; i != each; ++i) {
                line.add(++clock, t == 2 && i == 3333 ? 1'000'000 : i);
                line.mark(++clock, static_cast<allot::timeline_event>(t), "a thread");
            }
        });
    for (std::thread& t : team) t.join();
    std::uint64_t last = 0, samples = 0, marks = 0;
    std::size_t most = 0;
    bool ordered = true;
    line.visit_samples([&](const allot::timeline_sample& s) {
        ordered = ordered && s.ns >= last;
        last = s.ns, most = s.charged > most ? s.charged : most, ++samples;
    });
    last = 0;
    line.visit_marks([&](const allot::timeline_mark& m) {
        ordered = ordered && m.ns >= last;
        last = m.ns, marks += m.count;
    });
    CHECK(ordered);
    CHECK(samples <= 100);
    CHECK(most == 1'000'000);
    CHECK(marks == 4 * each);
}
