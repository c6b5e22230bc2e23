// A set of keys, which are small numbers: a bit for each number up to the largest.
#pragma once

#include "engine.hpp"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tpch {

/// Threads: any add; a key that was added before a task began is found in it.
class key_bits {
  public:
    /// Throws: what buffer_memory::allocate throws.
    key_bits(engine& in, allot::account& by, std::size_t most)
        : most_(most), of_(in.allocate(by, (most / 64 + 1) * 8)), words_(reinterpret_cast<std::uint64_t*>(of_.data())) {
        std::memset(words_, 0, (most / 64 + 1) * 8);
    }
    /// Throws: std::runtime_error for a key above `most`.
    void add(std::uint64_t key) {
        if (key > most_)
            throw std::runtime_error("tpch: a key is larger than its table allows: " + std::to_string(key));
        std::atomic_ref(words_[key / 64]).fetch_or(std::uint64_t{1} << key % 64, std::memory_order_relaxed);
    }
    bool has(std::uint64_t key) const {
        return key <= most_ && (std::atomic_ref(words_[key / 64]).load(std::memory_order_relaxed) >> key % 64 & 1) != 0;
    }

  private:
    std::size_t most_;
    allot::buffer of_;
    std::uint64_t* words_;
};

} // namespace tpch
