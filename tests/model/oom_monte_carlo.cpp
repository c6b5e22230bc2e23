// Random situations of tasks that share too little memory, on real accounts, managers and devices: each ends.
//
//     ALLOT_SITUATIONS=100000 allot_model_tests "[monte_carlo]"      that many; ALLOT_SEED=n: from that one on
//     ALLOT_SITUATIONS=1 ALLOT_SEED=n ...                            one of them again
#define ALLOT_FAULTS 1 // for the stage; it is in the name of the library's inline namespace
#include <support/catch.hpp>
#include <support/from_environment.hpp>

#include <model/oom_situation.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace support;

TEST_CASE("random situations of tasks end, and all memory is refunded", "[oom][monte_carlo]") {
    const std::uint64_t first = support::from_environment("ALLOT_SEED", 1),
                        many = support::from_environment("ALLOT_SITUATIONS", 1500);
    outcome all;
    for (std::uint64_t seed = first; seed != first + many; ++seed) {
        const plan p = make_plan(seed);
        const bool is_repeated = seed % 16 == 0;
        if (is_repeated) stage::dismiss();
        const outcome o = situation(p, is_repeated).run();
        INFO(o.wrong);
        CHECK(o.wrong.empty());
        if (is_repeated) {
            stage::dismiss();
            const outcome again = situation(p, true).run();
            INFO("seed " << seed);
            CHECK(again.trace == o.trace);
            CHECK((again.log == o.log));
        }
        all.finished += o.finished, all.refused += o.refused, all.removed += o.removed, all.misbehaved += o.misbehaved;
        all.stats += o.stats;
        for (std::size_t s = 0; s != allot::oom::detail::thread_states; ++s) all.killed_in[s] |= o.killed_in[s];
        all.steps += o.steps;
    }
    std::printf("%llu situations, %llu steps: threads finished %zu, refused %zu, removed %zu, misbehaved %zu; "
                "rollbacks %llu, splits %llu, waits %llu\n",
                static_cast<unsigned long long>(many), static_cast<unsigned long long>(all.steps), all.finished,
                all.refused, all.removed, all.misbehaved, static_cast<unsigned long long>(all.stats.rollbacks),
                static_cast<unsigned long long>(all.stats.splits), static_cast<unsigned long long>(all.stats.waits));
    if (many < 1500) return;
    for (std::size_t s = 1; s != allot::oom::detail::thread_states; ++s) {
        INFO("killed in " << text_of(static_cast<oom::thread_state>(s)));
        const auto state = static_cast<oom::thread_state>(s); // alloc_free is left in the step that enters it
        CHECK((all.killed_in[s] || state == oom::thread_state::remove_throw || state == oom::thread_state::alloc_free));
    }
}

// 2326: a request slept inside the call of a chunk arena's tenant, whose end waited for that call. 1439: a reservation
// without a task was let pass one that waits for memory of those behind it, which it has none of, and tried for ever.
TEST_CASE("situations that once did not end do so", "[oom][monte_carlo]") {
    for (const std::uint64_t seed : {1439U, 2326U}) {
        const outcome o = situation(make_plan(seed)).run();
        INFO(o.wrong);
        CHECK(o.wrong.empty());
    }
}

TEST_CASE("the default rules redo less work than the document's and than to abort the youngest", "[oom][monte_carlo]") {
    using oom::rules;
    constexpr std::uint64_t most_steps = 5000; // twenty times those of a usual run
    const auto by = [](rules r, bool restarts = false) { return policy{r, restarts, most_steps}; };
    const struct {
        const char* name;
        policy is;
    } policies[] = {
        {"default", by({})},
        {"document's plain rules",
         by({.first_to_split = oom::splits::lowest, .rolled_back_wakes = oom::wakes::at_free, .tries_alone = false})},
        {"abort the youngest", by({.tries_alone = false, .most_attempts = 0}, true)},
        {"splits::lowest", by({.first_to_split = oom::splits::lowest})},
        {"all_are_woken (code's)", by({.all_are_woken = true})},
        {"wakes::at_scope_end", by({.rolled_back_wakes = oom::wakes::at_scope_end})},
        {"wakes::at_free", by({.rolled_back_wakes = oom::wakes::at_free})},
        {"blocks::all", by({.task_is_blocked = oom::blocks::all})},
        {"tries_alone = false", by({.tries_alone = false})},
    };
    const std::uint64_t first = support::from_environment("ALLOT_SEED", 1),
                        many = support::from_environment("ALLOT_TABLE", 60);
    std::vector<double> means;
    std::printf("%-24s %9s %9s %9s %9s %9s %9s %9s\n", "work redone / work", "mean", "median", "p95", "no end",
                "refused", "splits", "steps");
    for (const auto& p : policies) {
        std::vector<double> redone;
        std::uint64_t unended = 0, refused = 0, splits = 0, steps = 0;
        for (std::uint64_t seed = first; seed != first + many; ++seed) {
            const plan what = make_plan(seed, true);
            const outcome o = situation(what, p.is).run();
            INFO(p.name << ": " << o.wrong);
            CHECK(o.wrong.empty());
            unended += !o.ended, refused += o.ended && o.stats.refused + o.refused != 0, splits += o.stats.splits,
                steps += o.steps;
            redone.push_back(static_cast<double>(o.lost) / static_cast<double>(what.work()));
        }
        std::sort(redone.begin(), redone.end());
        double sum = 0;
        for (const double r : redone) sum += r;
        const auto n = static_cast<double>(many);
        means.push_back(sum / n);
        std::printf("%-24s %9.3f %9.3f %9.3f %8.2f%% %8.2f%% %9.2f %9.1f\n", p.name, means.back(), redone[many / 2],
                    redone[many - 1 - many / 20], 100 * static_cast<double>(unended) / n,
                    100 * static_cast<double>(refused) / n, static_cast<double>(splits) / n,
                    static_cast<double>(steps) / n);
    }
    CHECK(means[0] < means[1]);
    CHECK(means[0] < means[2]);
}
