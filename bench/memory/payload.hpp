// Payload under a hard limit: rows of 8 to 4096 bytes, each size as likely as another, until the first refusal. The
// result is the bytes asked for over the limit. With several threads each has its own sizes, and stops at its refusal.
#pragma once

#include <allot/row_manager.hpp>

#include <cstddef>
#include <random>
#include <thread>
#include <vector>

namespace bench {

// Uniform, 8 to 4096.
class row_sizes {
  public:
    explicit row_sizes(unsigned seed) : random_(seed) {}
    std::size_t next() { return 8 + random_() % 4089; }

  private:
    std::mt19937 random_;
};

template <class Set> double payload(std::size_t limit, unsigned threads, unsigned seed) {
    allot::row_manager<Set> rows{allot::limit{limit}, allot::name{"payload"}};
    std::vector<std::size_t> asked(threads);
    std::vector<std::vector<void*>> held(threads);
    std::vector<std::jthread> all;
    const auto fill = [&](unsigned t) {
        row_sizes sizes{seed * 64 + t};
        for (;;) {
            const std::size_t n = sizes.next();
            void* const row = rows.try_allocate(n);
            if (row == nullptr) break;
            held[t].push_back(row);
            asked[t] += n;
        }
    };
    for (unsigned t = 1; t < threads; ++t) all.emplace_back(fill, t);
    fill(0);
    all.clear();
    std::size_t sum = 0;
    for (unsigned t = 0; t != threads; ++t) {
        sum += asked[t];
        for (void* const row : held[t]) rows.release(row);
    }
    return static_cast<double>(sum) / static_cast<double>(limit);
}

} // namespace bench
