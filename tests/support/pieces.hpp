// Bytes of a test that a home writes and reads: in one piece, or piece by piece.
#pragma once

#include <allot/spill/home.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

// Bytes that differ from place to place and from seed to seed; where they are to shrink, every word is repeated.
inline std::vector<std::byte> some_bytes(std::size_t n, unsigned seed = 1, bool shrink = false) {
    std::vector<std::byte> all(n);
    std::uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;
    for (std::size_t i = 0; i < n; i += sizeof x) {
        if (!shrink || i % 64 == 0) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        std::memcpy(all.data() + i, &x, n - i < sizeof x ? n - i : sizeof x);
    }
    return all;
}

class source_in_pieces final : public allot::byte_source {
  public:
    explicit source_in_pieces(std::span<const std::byte> all, std::size_t fails_at = SIZE_MAX) noexcept
        : byte_source(all.size()), all_(all), fails_at_(fails_at) {}
    bool next(std::span<std::byte> to) noexcept override {
        if (done >= fails_at_) return false;
        std::memcpy(to.data(), all_.data() + done, to.size());
        done += to.size();
        return true;
    }
    std::size_t done = 0;

  private:
    std::span<const std::byte> all_;
    const std::size_t fails_at_;
};

class sink_in_pieces final : public allot::byte_sink {
  public:
    explicit sink_in_pieces(std::size_t n, std::size_t fails_at = SIZE_MAX) noexcept
        : byte_sink(n), all(n), fails_at_(fails_at) {}
    bool next(std::span<const std::byte> from) noexcept override {
        if (done >= fails_at_) return false;
        std::memcpy(all.data() + done, from.data(), from.size());
        done += from.size();
        return true;
    }
    std::vector<std::byte> all;
    std::size_t done = 0;

  private:
    const std::size_t fails_at_;
};

inline allot::home_status keep(allot::kept_bytes& to, std::span<const std::byte> all) noexcept {
    allot::byte_source from(all);
    return to.write(from);
}
// What is kept from `offset` on; fewer bytes where it cannot be read.
inline std::vector<std::byte> read_back(const allot::kept_bytes& from, std::size_t offset, std::size_t n) {
    std::vector<std::byte> all(n);
    allot::byte_sink to{std::span<std::byte>{all}};
    if (!from.read(offset, to)) all.clear();
    return all;
}
inline std::vector<std::byte> read_back(const allot::kept_bytes& from) { return read_back(from, 0, from.bytes()); }
