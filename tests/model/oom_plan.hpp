// What happens in a simulated situation of tasks that share too little memory: a plan that follows from a seed.
#pragma once

#include <soak/random.hpp>

#include <allot/core/units.hpp>
#include <allot/oom/rules.hpp>
#include <allot/oom/thread_state.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

namespace oom = allot::oom;
using namespace allot::literals;

// Where a thread takes memory.
enum class source : std::uint8_t {
    charges, // of an account
    timed_charges,
    rows,        // of its task
    shared_rows, // of a manager of all tasks
    blocks,
    buffers,
    pool_buffers, // of a pool of all tasks, with a limit of its own
    pieces,       // of a device, of an allocator of all tasks
    device_charges,
    both, // charges of the host's and the device's memory
};
inline constexpr std::size_t sources = 10;
constexpr bool is_on_device(source s) noexcept { return s == source::pieces || s == source::device_charges; }

// How a task breaks the rules.
enum class misdeed : std::uint8_t {
    none,
    ignores_verdicts, // requests again in the same attempt
    keeps_memory,     // of attempts that were rolled back, to its end
    never_splits,
    throws_others,  // exceptions
    leaves_scopes,  // after a rollback, and goes on
    leaves_by_that, // the same, by the exception
    outside_scopes,
    waits_with_memory, // for permits and pools
};
inline constexpr std::size_t misdeeds = 9;

enum class sizes : std::uint8_t { uniform, skewed, all_equal_the_limit, one_giant, many_tiny };

struct thread_plan {
    source takes = source::charges;
    std::size_t parts = 1, bytes = 0; // of each part
    unsigned pieces = 1;              // requests that a part makes
    bool has_data = false;            // spillable
    bool takes_permit = false, asks_pool = false;
    std::size_t waits_for = SIZE_MAX; // a task
    bool by_latch = false;            // that its first thread counts down
    unsigned workers = 0;             // that join the scope of each part, and take a quarter of its bytes each
    bool joins_by_latch = false;      // it waits for them so, or as for its task
};
struct task_plan {
    std::vector<thread_plan> threads;
    misdeed wrong = misdeed::none;
    std::size_t keeps = 0; // bytes, to its end
};
// Who holds memory without a task, again and again: charged, or reserved, for which it waits patiently.
struct outsider_plan {
    bool on_device = false, announced = false, reserves = false;
    std::size_t bytes = 0;
    unsigned times = 1;
    std::uint64_t longest_ms = 1;
};
struct plan {
    std::uint64_t seed = 0;
    std::size_t limit = 0; // of the host's memory, and of the device's
    std::vector<task_plan> tasks;
    std::vector<outsider_plan> outsiders;
    unsigned pool_threads = 0, shuffle_threads = 0, permits = 1;
    bool pools_queue = false; // a thread of a pool works for the tasks of two jobs before it begins the first
    unsigned kills = 0;
    std::uint8_t killed_in = 0; // the thread's state
    bool has_cache = false;
    bool cache_frees_later = false, cache_may_fail = false; // what it frees is coming
    bool home_is_slow = false, home_may_fail = false;       // that inputs leave for
    std::size_t pool_limit = 0;
    std::uint64_t longest_wait_ms = 0; // 0: none
    oom::rules rules{};
    // Whether each task must end without an error.
    bool all_finish = true;

    // Bytes that are taken in a run without limits.
    std::uint64_t work() const noexcept {
        std::uint64_t all = 0;
        for (const task_plan& t : tasks)
            for (const thread_plan& w : t.threads) all += w.parts * w.bytes;
        return all;
    }
};

inline constexpr std::size_t least_part = 4096;

// Waits for threads of others and of the same task.
inline void add_threads_that_wait(plan& p) {
    soak::dice d(soak::mix(p.seed + 4)); // other dice: the rest of a plan stays as it was
    p.pools_queue = d.one_in(2);
    const bool joins = d.one_in(2);
    for (task_plan& t : p.tasks)
        for (thread_plan& w : t.threads) {
            w.by_latch = d.one_in(2);
            if (!joins || t.wrong != misdeed::none || !d.one_in(3)) continue;
            w.workers = static_cast<unsigned>(d.between(1, 2));
            w.joins_by_latch = d.one_in(2);
        }
}

// `plain`: only well-behaved tasks that differ in their sizes and sources, for comparisons of rules.
inline plan make_plan(std::uint64_t seed, bool plain = false) {
    soak::dice d(soak::mix(seed));
    plan p;
    p.seed = seed;
    p.limit = d.between(16, 48) * 64_KiB;
    const auto pattern = static_cast<sizes>(d.below(5));
    std::size_t tasks = d.one_in(4) ? d.between(2, 16) : d.between(2, 6);
    if (pattern == sizes::all_equal_the_limit && tasks > 4) tasks = 4;
    const bool one_thread = d.one_in(2);
    const auto usual = static_cast<source>(d.below(sources));
    const bool mixed = !d.one_in(3), pools = !plain && d.one_in(3), misbehave = !plain && d.one_in(4);
    if (pools) p.pool_threads = static_cast<unsigned>(d.between(1, 2)), p.shuffle_threads = d.one_in(2);
    p.permits = static_cast<unsigned>(d.between(1, 2));
    p.has_cache = d.one_in(3);
    if (!plain && d.one_in(8)) p.longest_wait_ms = d.between(1, 20);
    if (!plain && d.one_in(4))
        p.kills = static_cast<unsigned>(d.between(1, 3)), p.killed_in = static_cast<std::uint8_t>(d.between(1, 8));
    p.all_finish = !misbehave && p.kills == 0 && p.longest_wait_ms == 0;
    if (!plain && d.one_in(4)) {
        p.rules = {.first_to_split = d.one_in(2) ? oom::splits::highest : oom::splits::lowest,
                   .rolled_back_wakes = d.one_in(2) ? oom::wakes::at_task_end : oom::wakes::at_scope_end,
                   .task_is_blocked = d.one_in(2) ? oom::blocks::any : oom::blocks::all,
                   .tries_alone = !d.one_in(3),
                   .all_are_woken = d.one_in(4),
                   .most_attempts = d.one_in(2) ? 500U : static_cast<std::uint32_t>(d.between(1, 20))};
        p.all_finish = p.all_finish && p.rules.tries_alone && p.rules.most_attempts == 500;
        if (!p.rules.tries_alone) // else there are few
            p.killed_in = static_cast<std::uint8_t>(oom::thread_state::split_throw);
    }
    double weights[2] = {};
    std::vector<double> weight;
    for (std::size_t i = 0; i != tasks; ++i) {
        task_plan t;
        if (misbehave && d.one_in(2)) t.wrong = static_cast<misdeed>(d.between(1, misdeeds - 1));
        if (!plain && d.one_in(16)) t.keeps = d.between(1, p.limit / 8);
        if (t.keeps != 0) p.all_finish = false;
        t.threads.resize(one_thread ? 1 : d.between(1, 3));
        for (thread_plan& w : t.threads) {
            w.takes = mixed ? static_cast<source>(d.below(sources)) : usual;
            w.parts = d.between(1, 3);
            w.pieces = static_cast<unsigned>(d.between(1, 6));
            w.has_data = d.one_in(4);
            w.takes_permit = !plain && d.one_in(6);
            w.asks_pool = pools && d.one_in(2);
            if (!plain && i != 0 && d.one_in(12)) w.waits_for = d.below(i);
            const std::size_t n = weight.size() + 1;
            weight.push_back(pattern == sizes::skewed      ? 1.0 / static_cast<double>(n)
                             : pattern == sizes::one_giant ? (n == 1 ? 20.0 : 1.0)
                                                           : 1.0);
            weights[is_on_device(w.takes)] += weight.back();
        }
        p.tasks.push_back(t);
    }
    const double ratio = 1.2 + static_cast<double>(d.below(281)) / 100;
    std::size_t n = 0;
    for (task_plan& t : p.tasks)
        for (thread_plan& w : t.threads) {
            const double share = weight[n++] / weights[is_on_device(w.takes)];
            auto bytes = static_cast<std::size_t>(ratio * share * static_cast<double>(p.limit));
            if (pattern == sizes::all_equal_the_limit) bytes = p.limit;
            if (pattern == sizes::many_tiny) w.parts = d.between(2, 6), w.pieces = 2;
            if (plain && bytes > p.limit / 8 * 7) bytes = p.limit / 8 * 7;
            w.bytes = bytes > least_part ? bytes : least_part;
        }
    if (!plain && d.one_in(3))
        for (std::size_t i = d.between(1, 3); i != 0; --i) {
            p.outsiders.push_back({d.one_in(3), d.one_in(2), d.one_in(3), d.between(1, p.limit / 2),
                                   static_cast<unsigned>(d.between(1, 8)), d.between(1, 300)});
            if (!p.outsiders.back().announced) p.all_finish = false; // it may come back too late
        }
    p.pool_limit = plain ? p.limit : d.between(1, 4) * p.limit / 4;
    if (!plain) add_threads_that_wait(p);
    if (!plain && p.has_cache && d.one_in(2)) p.cache_frees_later = true, p.cache_may_fail = d.one_in(2);
    if (!plain) {
        soak::dice of_home(soak::mix(seed + 5));
        p.home_is_slow = of_home.one_in(2), p.home_may_fail = p.home_is_slow && of_home.one_in(4);
        if (p.home_may_fail) p.all_finish = false; // an input that cannot leave may be in the way of another task
    }
    return p;
}

} // namespace support
