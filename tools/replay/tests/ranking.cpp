// The ranks and the sentence of allot_replay, for figures that are known.
#include "../ranking.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace {

int wrong = 0;

void check(bool good, const char* what) {
    if (good) return;
    std::printf("wrong: %s\n", what);
    ++wrong;
}
void check_has(const std::string& text, const char* part) {
    if (text.find(part) == std::string::npos) std::printf("in: %s\n", text.c_str());
    check(text.find(part) != std::string::npos, part);
}

replay::result set(const char* name, std::vector<double> seconds, std::size_t peak, std::size_t refused = 0) {
    replay::result r;
    r.name = name, r.what = "rows", r.seconds = std::move(seconds), r.peak = peak, r.refused = refused;
    return r;
}
replay::result malloc_with(std::vector<double> seconds, std::size_t peak) {
    replay::result r = set("malloc", std::move(seconds), peak);
    r.is_reference = true;
    return r;
}
const replay::result& named(const std::vector<replay::result>& all, std::string_view name) {
    for (const auto& r : all)
        if (r.name == name) return r;
    return all.front();
}

} // namespace

int main() {
    replay::sequence_counts of;
    of.peak = 800;
    std::vector<replay::result> all{set("slow", {4, 4, 4, 4, 4}, 900),
                                    set("noisy", {1, 2, 1.1, 3, 1.2}, 2000), // quartiles 1.1 and 2
                                    set("quick", {1.0, 1.05, 1.15, 1.2, 1.3}, 4000), set("refuses", {0.1}, 100, 3),
                                    malloc_with({3, 3, 3, 3, 3}, 905)};
    replay::rank(all);
    check(all[0].name == "quick", "the set with the lowest median is the first");
    check(named(all, "quick").time_rank == 1, "quick is 1st in time");
    check(named(all, "noisy").time_rank == 1, "1.1 to 2 s overlaps with 1.05 to 1.2 s");
    check(named(all, "malloc").time_rank == 3, "malloc is beyond it");
    check(named(all, "slow").time_rank == 4, "slow is 4th");
    check(named(all, "slow").peak_rank == 1, "slow has the least peak");
    check(named(all, "malloc").peak_rank == 1, "905 is less than 1 % above 900");
    check(named(all, "noisy").peak_rank == 3, "noisy is 3rd in peak");
    check(named(all, "refuses").time_rank == 0, "a set that refused has no rank");
    check(replay::payload(named(all, "noisy"), of) == 0.4, "800 of 2000 is 40 %");
    const std::string text = replay::advice(all, of);
    check_has(text, "Take noisy: "); // equal in time, less memory
    check_has(text, "equal (quick)");
    check_has(text, "2.50 times as fast as malloc");                   // 3 : 1.2
    check_has(text, "with 2.21 times its peak and a payload of 40 %"); // 2000 : 905
    check_has(text, "take slow: 55 % less peak for 233 % more time.");

    std::vector<replay::result> sole{set("one", {1, 1}, 1000), malloc_with({0.5, 0.5}, 1000)};
    replay::rank(sole);
    check_has(replay::advice(sole, of), "the only set");
    check_has(replay::advice(sole, of), "2.00 times as slow as malloc");
    std::vector<replay::result> once{set("a", {1}, 1000), set("b", {9}, 500)};
    replay::rank(once);
    check(named(once, "a").time_rank == 1 && named(once, "b").time_rank == 2, "one round: the medians give the ranks");
    check_has(replay::advice(once, of), "Take a: it is the fastest set of allot (b needs 800 % more time)");
    check_has(replay::advice(once, of), "; its payload is 80 %; where memory counts more than time, take b: ");
    check_has(replay::advice(once, of), "; of one round the spread is not known, so differences may be noise");
    check(text.find("spread is not known") == std::string::npos, "of five rounds the spread is known");
    std::vector<replay::result> twice{set("a", {1, 3}, 1000), malloc_with({2, 4}, 1000)};
    replay::rank(twice);
    check_has(replay::advice(twice, of),
              "replayed and served every request; it is 1.50 times as fast as malloc, with 1.00 "
              "times its peak and a payload of 80 %; of two rounds the spread is not known");
    std::vector<replay::result> single{set("a", {1, 1, 1}, 1000)};
    replay::rank(single);
    check_has(replay::advice(single, of), "replayed and served every request; its payload is 80 %.");
    std::vector<replay::result> alone{malloc_with({1, 1}, 100)};
    replay::rank(alone);
    check_has(replay::advice(alone, of), "No set of allot was timed");
    std::vector<replay::result> none{set("refuses", {1}, 100, 1), malloc_with({1}, 100)};
    replay::rank(none);
    check_has(replay::advice(none, of), "No set served every request: raise --limit");
    return wrong == 0 ? 0 : 1;
}
