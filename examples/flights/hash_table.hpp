// A hash table of pointers to rows: open addressing, linear probing, 2^n slots, at most half full.
//
// A slot keeps the hash beside the pointer, so the table is probed, grown and divided among threads without reading
// rows. All memory comes from the given resource; growth needs the old and the new slots at once.
// Threads: one writer, or any number of readers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace flights {

/// Spreads a hash over all 64 bits (the finalizer of SplitMix64, Steele 2014); the low and the high bits are used
/// below.
inline std::uint64_t spread(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
inline std::uint64_t hash_of(std::string_view text) { return spread(std::hash<std::string_view>{}(text)); }
inline std::uint64_t hash_of(std::uint64_t number) { return spread(number); }
inline std::uint64_t hash_both(std::uint64_t a, std::uint64_t b) { return spread(a + 0x9e3779b97f4a7c15u * b); }

/// The part of `parts` that a hash belongs to, by its high half; the slot within a table is found by the low bits.
inline std::size_t part_of(std::uint64_t hash, std::size_t parts) { return ((hash >> 32) * parts) >> 32; }

template <class Row> class hash_table {
  public:
    explicit hash_table(std::pmr::memory_resource* memory) : slots_(memory) {}

    std::size_t size() const { return size_; }

    /// The row with this hash for which same(row) holds, or null.
    template <class Same> Row* find(std::uint64_t hash, Same same) const {
        return slots_.empty() ? nullptr : slots_[probe(hash, same)].row;
    }

    /// As find(); if there is no such row, inserts the one that make() returns.
    template <class Same, class Make> Row& find_or_put(std::uint64_t hash, Same same, Make make) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        const std::size_t at = probe(hash, same);
        if (slots_[at].row == nullptr) {
            slots_[at] = {hash, make()};
            ++size_;
        }
        return *slots_[at].row;
    }

    /// Calls fn(hash, row) for every row, in unspecified order.
    template <class Fn> void each(Fn fn) const {
        for (const slot& s : slots_)
            if (s.row != nullptr) fn(s.hash, *s.row);
    }

  private:
    struct slot {
        std::uint64_t hash = 0;
        Row* row = nullptr;
    };

    template <class Same> std::size_t probe(std::uint64_t hash, Same same) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash & mask;
        while (slots_[at].row != nullptr && !(slots_[at].hash == hash && same(*slots_[at].row))) at = (at + 1) & mask;
        return at;
    }
    void grow() {
        std::pmr::vector<slot> wider(slots_.empty() ? 64 : 2 * slots_.size(), slots_.get_allocator());
        wider.swap(slots_);
        for (const slot& s : wider)
            if (s.row != nullptr) slots_[probe(s.hash, [](const Row&) { return false; })] = s;
    }

    std::pmr::vector<slot> slots_;
    std::size_t size_ = 0;
};

} // namespace flights
