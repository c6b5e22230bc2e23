// Links: link and release of a live row and of a constant; W9, W9S.
//
// An operation of W9 is the life of one row with several holders: allocate, write, five links and six releases. One
// link is put in a random place of a shelf that both threads use, and the link found there is released, so half of the
// rows are freed by the other thread. The exchange on the shelf is the harness's own locked operation.
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <workloads/one_thread.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

namespace bench {

template <class User> concept counts_links = requires(User& user, void* row) { user.link(row); };

template <class User>
BENCH_NOINLINE void link_and_release(User& user, const std::vector<word>& rows, std::size_t bytes, std::size_t n) {
    const std::size_t mask = rows.size() - 1;
    for (std::size_t i = 0; i < n; ++i) {
        void* const row = one_size::row(rows[i & mask]);
        escape(row);
        user.link(row);
        user.release(row, bytes);
    }
}

template <class User> sample run_links(User& user, const job& what) {
    static std::array<std::byte, 4096> constants; // outside every arena
    const std::size_t n = what.scaled(3'000'000);
    std::vector<word> rows(64);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = what.of->id == work::constant ? one_size::keep(constants.data() + i * 64, 64)
                                                : one_size::keep(user.allocate(what.bytes), what.bytes);
    link_and_release(user, rows, what.bytes, n / 10);
    return {timed(n, [&] { link_and_release(user, rows, what.bytes, n); }) / static_cast<double>(n)};
}

class shelf {
  public:
    static constexpr std::size_t size = 512;
    BENCH_INLINE word swap(std::size_t at, word w) noexcept {
        return places_[at].exchange(w, std::memory_order_acq_rel);
    }

  private:
    alignas(64) std::array<std::atomic<word>, size> places_{};
};

template <class User, class Sizes>
BENCH_NOINLINE void churn(User& user, const Sizes& sizes, shelf& shared, std::size_t n, random_source& random) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t bytes = sizes(i);
        void* const row = user.allocate(bytes);
        touch(row, bytes, i);
        for (int holder = 0; holder < 4; ++holder) {
            user.link(row);
            escape(row);
        }
        for (int holder = 0; holder < 4; ++holder) {
            user.release(row, bytes);
            escape(row);
        }
        user.link(row);
        const word old = shared.swap(random.below(shelf::size), sizes.keep(row, bytes));
        if (old != 0) user.release(sizes.row(old), sizes.size(old));
        user.release(row, bytes);
    }
}
template <class User, class Sizes> void clear(User& user, const Sizes& sizes, shelf& shared) {
    for (std::size_t i = 0; i < shelf::size; ++i)
        if (const word old = shared.swap(i, 0)) user.release(sizes.row(old), sizes.size(old));
}

template <class User, class Sizes> sample run_churn(User& user, const Sizes& sizes, const job& what) {
    const std::size_t n = what.scaled(300'000);
    shelf own;
    random_source random;
    churn(user, sizes, own, n / 10 + 2 * shelf::size, random);
    const double spent = timed(n, [&] { churn(user, sizes, own, n, random); });
    clear(user, sizes, own);
    return {spent / static_cast<double>(n)};
}

} // namespace bench
