// fit::buddy against the plainest one there is: a set of free blocks by size and address. The same requests, the same
// addresses.
#include <support/catch.hpp>

#include <allot/fit/buddy.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace {

constexpr std::uintptr_t base = 0x7000'0000'0000;
constexpr std::size_t unit = 64, range = std::size_t{1} << 20;

class plain_buddy {
  public:
    std::uintptr_t allocate(std::size_t bytes, std::size_t align) {
        const std::size_t want = std::max({bytes, align, unit}),
                          size = std::size_t{1} << allot::detail::log2_ceil(want);
        auto best = free_.lower_bound({size, 0});
        if (best == free_.end()) return 0;
        auto [now, at] = *best; // copies
        free_.erase(best);
        while (now != size) {
            now /= 2;
            free_.insert({now, at + now});
        }
        live_[at] = size;
        return at;
    }
    void release(std::uintptr_t at) {
        std::size_t size = live_.at(at);
        live_.erase(at);
        while (size != range && free_.erase({size, base + ((at - base) ^ size)}) != 0) {
            at = base + ((at - base) & ~size);
            size *= 2;
        }
        free_.insert({size, at});
    }
    const std::map<std::uintptr_t, std::size_t>& live() const { return live_; }
    std::size_t largest() const { return free_.empty() ? 0 : free_.rbegin()->first; }

  private:
    std::set<std::pair<std::size_t, std::uintptr_t>> free_{{range, base}};
    std::map<std::uintptr_t, std::size_t> live_;
};

} // namespace

TEST_CASE("random requests find the addresses that the plainest buddy system finds", "[buddy][model]") {
    for (unsigned seed = 0; seed != 20; ++seed) {
        allot::detail::buddy_runs<> fit{unit};
        REQUIRE(fit.add(base, range, 0));
        plain_buddy model;
        std::mt19937 random{seed};
        for (int step = 0; step != 5000; ++step) {
            if (model.live().empty() || random() % 100 < (step / 500 % 2 == 0 ? 60U : 40U)) {
                const std::size_t bytes = random() % (std::size_t{1} << random() % 18),
                                  align = std::size_t{1} << random() % 13;
                REQUIRE(fit.allocate(bytes, align).address == model.allocate(bytes, align));
            } else {
                auto p = model.live().lower_bound(base + random() % range);
                if (p == model.live().end()) p = model.live().begin();
                const auto [at, bytes] = *p;
                REQUIRE(fit.release(at) == bytes);
                model.release(at);
            }
            REQUIRE(fit.largest().bytes == model.largest());
            REQUIRE(fit.live_runs() == model.live().size());
        }
        REQUIRE(fit.valid());
    }
}
