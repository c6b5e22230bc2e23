// Single calls at a given occupancy: nanoseconds, or under a tracer instructions.
//
// A subject with a limit fills its heap, others allocate as many rows as would fit; random rows are released until the
// given share is live. Then 1 to 256 random rows are released and as many allocated, repeatedly, each call on its own.
// A handle caches 64 slots, so spills and refills occur, with free slots spread over all pages. Pages are committed and
// touched before; the cost of reading the clock is subtracted. Heaps that search for free slots also report how many
// slots they inspected per slot found.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/timed.hpp>
#include <workloads/one_thread.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace bench {

class call_times {
  public:
    explicit call_times(std::size_t calls) : scale_(tick_scale::now()) { all_.resize(calls, 1), all_.clear(); }
    template <class Call> BENCH_INLINE void time(part p, Call&& call) {
        if (traced_operations != nullptr) {
            mark(p);
            call();
            mark(p);
            return;
        }
        const std::uint64_t start = ticks();
        call();
        all_.push_back(ticks() - start);
    }
    // p50, p99.9 and the longest.
    std::array<double, 3> tail() {
        if (all_.empty()) return {};
        std::sort(all_.begin(), all_.end());
        const auto at = [&](std::size_t i) {
            return static_cast<double>(all_[i] - std::min(all_[i], scale_.reading)) * scale_.ns;
        };
        return {at(all_.size() / 2), at((all_.size() - 1) * 999 / 1000), at(all_.size() - 1)};
    }

  private:
    std::vector<std::uint64_t> all_;
    tick_scale scale_;
};

// Null when no memory is left, where the user can say so.
template <class User> void* allocate_or_null(User& user, std::size_t bytes) {
    if constexpr (requires { user.try_allocate(bytes); }) return user.try_allocate(bytes);
    else return user.allocate(bytes);
}

struct scan_counts {
    double looked = 0, found = 0;
};

// `looks` tells the scan_counts so far.
template <class User, class Looks> sample run_single(User& user, const job& what, Looks looks) {
    const std::size_t calls = traced_operations != nullptr ? 3 * what.scaled(0) : what.scaled(400'000);
    const std::size_t fit = what.limit() / (what.bytes + 8);
    std::vector<void*> rows;
    rows.reserve(fit * 2);
    random_source random;
    const bool has_limit = requires { user.try_allocate(what.bytes); };
    while (has_limit ? rows.size() < fit * 2 : rows.size() < fit) {
        void* const row = allocate_or_null(user, what.bytes);
        if (row == nullptr) break;
        touch(row, what.bytes, 1);
        rows.push_back(row);
    }
    const auto drop_random = [&](auto release) {
        void*& place = rows[random.below(rows.size())];
        void* const row = std::exchange(place, rows.back());
        rows.pop_back();
        release(row);
    };
    const std::size_t live = rows.size() * what.of->n / 100;
    while (rows.size() > live) drop_random([&](void* row) { user.release(row, what.bytes); });

    call_times allocations(calls), releases(calls);
    const auto operate = [&](std::size_t upto, auto timing_release, auto timing_allocate) {
        for (std::size_t done = 0; done < upto;) {
            const std::size_t k = std::min<std::size_t>(1 + random.below(256), upto - done);
            for (std::size_t i = 0; i < k; ++i) drop_random(timing_release);
            for (std::size_t i = 0; i < k; ++i) {
                void* row = nullptr;
                timing_allocate(row);
                if (row == nullptr) std::abort(); // there was room
                touch(row, what.bytes, i);
                rows.push_back(row);
            }
            done += k;
        }
    };
    const auto release = [&](void* row) { user.release(row, what.bytes); };
    const auto allocate = [&](void*& row) { row = allocate_or_null(user, what.bytes); };
    operate(std::max<std::size_t>(calls / 4, 2000), release, allocate);
    if (traced_operations != nullptr) *traced_operations += calls;
    const scan_counts before = looks();
    operate(
        calls, [&](void* row) { releases.time(part::release, [&] { release(row); }); },
        [&](void*& row) { allocations.time(part::allocate, [&] { allocate(row); }); });
    const scan_counts after = looks();
    const double looked = after.looked - before.looked, found = after.found - before.found;
    const auto a = allocations.tail(), r = releases.tail();
    return {a[0], a[1], a[2], r[0], r[1], r[2], found > 0 ? looked / found : std::numeric_limits<double>::quiet_NaN()};
}

} // namespace bench
