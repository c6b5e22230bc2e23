// What was done so far, over all threads: for the line a minute and the last one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace soak {

enum class did : unsigned {
    allocate,
    from_heap,
    link,
    release,
    rewrite,
    give,
    take,
    refuse,
    object,
    release_all,
    reclaim,
    report,
    quiet,
    limit,
    heap,
    manager,
    thread,
    leak,
    end
};
inline constexpr const char* did_text[] = {
    "rows of any size", "rows of heaps", "links",    "releases",     "rewrites", "handed over",
    "taken over",       "refusals",      "row_ptrs", "release_alls", "trims",    "reports",
    "quiet points",     "limits met",    "heaps",    "managers",     "threads",  "leaks told"};
inline constexpr std::size_t did_kinds = static_cast<std::size_t>(did::end);
static_assert(sizeof did_text / sizeof *did_text == did_kinds);

// One thread's; added to everybody's now and then.
struct counts {
    std::array<std::uint64_t, did_kinds> n{};

    void add(did what, std::uint64_t times = 1) noexcept { n[static_cast<std::size_t>(what)] += times; }
};

class all_counts {
  public:
    void add(counts& some) noexcept {
        for (std::size_t i = 0; i < did_kinds; ++i) n_[i].fetch_add(some.n[i], std::memory_order_relaxed);
        some = {};
    }
    void charged(std::size_t bytes) noexcept {
        std::uint64_t most = most_.load(std::memory_order_relaxed);
        while (bytes > most && !most_.compare_exchange_weak(most, bytes, std::memory_order_relaxed)) {
        }
    }
    void print(double seconds, std::size_t sets) const {
        std::uint64_t steps = 0;
        for (const auto& n : n_) steps += n.load(std::memory_order_relaxed);
        std::printf("soak: %.0f s: %.2f million steps over %zu sets", seconds, static_cast<double>(steps) / 1e6, sets);
        for (std::size_t i = 0; i < did_kinds; ++i)
            std::printf(", %llu %s", static_cast<unsigned long long>(n_[i].load(std::memory_order_relaxed)),
                        did_text[i]);
        std::printf(", at most %.2f MiB charged at once\n",
                    static_cast<double>(most_.load(std::memory_order_relaxed)) / (1 << 20));
        std::fflush(stdout);
    }

  private:
    std::array<std::atomic<std::uint64_t>, did_kinds> n_{};
    std::atomic<std::uint64_t> most_{0};
};

} // namespace soak
