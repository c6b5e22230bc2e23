// A thread's random numbers: the same for the same seed, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soak {

// A step of splitmix64 (Steele, Lea, Flood 2014), as a hash, too.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

class dice {
  public:
    explicit dice(std::uint64_t seed) noexcept : state_(mix(seed)) {}

    std::uint64_t next() noexcept { return mix(state_++); }
    std::size_t below(std::size_t n) noexcept { return next() % n; }
    std::size_t between(std::size_t low, std::size_t high) noexcept { return low + below(high - low + 1); }
    bool one_in(std::size_t n) noexcept { return below(n) == 0; }

    // Mostly small rows; every fortieth is larger than a page of 64 KiB.
    std::size_t row_bytes() noexcept {
        switch (below(40)) {
        case 0: return between(60000, one_in(8) ? 2000000 : 300000);
        case 1:
        case 2:
        case 3: return between(4096, 65536);
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
        case 10: return between(256, 4096);
        default: return between(1, 256);
        }
    }

  private:
    std::uint64_t state_;
};

} // namespace soak
