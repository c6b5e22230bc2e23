// Rows in partitions by the first bits of a hash, so that each partition can be worked on alone.
#pragma once

#include "batches.hpp"
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace tpch {

/// Of a key: the first bits say the partition, the bits behind them its parts, the last ones the place in a table.
constexpr std::uint64_t hash_of_key(std::int64_t number) {
    auto key = static_cast<std::uint64_t>(number);
    key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93;
    key = (key ^ (key >> 32)) * 0xD6E8FEB86659FD93;
    return key ^ (key >> 32);
}

/// One task writes it.
template <class Row> class partition_writer {
  public:
    partition_writer(engine& in, allot::account& by, unsigned bits) : shift_(64 - bits) {
        const std::size_t n = std::size_t{1} << bits, most = batch_bytes(in, n);
        parts_.reserve(n);
        for (std::size_t i = 0; i != n; ++i) parts_.emplace_back(in, by, most);
    }
    void add(std::uint64_t hash, const Row& r, const char* tail = nullptr) {
        parts_[shift_ == 64 ? 0 : hash >> shift_].add(r, tail);
    }
    std::vector<std::vector<batch>> take() {
        std::vector<std::vector<batch>> all;
        for (auto& p : parts_) all.push_back(p.take());
        return all;
    }

  private:
    unsigned shift_;
    std::vector<batch_writer<Row>> parts_;
};

/// Collects what tasks have written. Threads: any add.
class partitions {
  public:
    explicit partitions(unsigned bits) : bits_(bits), parts_(std::size_t{1} << bits) {}

    unsigned bits() const { return bits_; }
    std::size_t size() const { return parts_.size(); }
    batch_list& operator[](std::size_t i) { return parts_[i]; }
    void add(std::vector<std::vector<batch>> more) {
        const std::lock_guard hold(lock_);
        for (std::size_t i = 0; i != more.size(); ++i) parts_[i].add(std::move(more[i]));
    }

  private:
    unsigned bits_;
    std::mutex lock_;
    std::vector<batch_list> parts_;
};

/// The bits of a hash that cut these bytes into partitions of at most a quarter of a thread's share. Fewer where their
/// batches would be small: then a partition is worked on in several ranges (query.hpp).
inline unsigned partition_bits(const engine& in, std::size_t bytes, unsigned least = 0) {
    unsigned bits = least;
    while ((bytes >> bits) > in.share() / 4 && in.output() >> (bits + 1) >= least_batch) ++bits;
    return bits;
}

} // namespace tpch
