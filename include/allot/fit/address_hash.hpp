// Finds the node of a live run by its address: a hash table whose chains run through the nodes.
//
// A live run's node does not need its tree links, so child[0] links the chain. Entries take no memory, inserting is a
// store without a search, and finding reads a slot and the node that the caller wants anyway.
// Cost: 4 bytes per slot, at most one entry per two slots; where the table cannot grow, chains grow and nothing fails.
// O(1) expected; growing rehashes all entries. Threads: one at a time.
// Source: chained hashing, Luhn 1953; multiplicative hash, Knuth 1973.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/hash.hpp>
#include <allot/fit/run_array.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node, class Memory> class address_hash {
  public:
    void free(Memory& memory) noexcept { heads_.free(memory); }

    // Sizes the table for `all` entries. False: no memory; the table stays as it is and works if it exists().
    bool prepare(Memory& memory, Node* n, std::size_t all) noexcept {
        if (ALLOT_LIKELY(2 * all <= heads_.capacity())) return true;
        return grow(memory, n, all);
    }
    bool exists() const noexcept { return heads_.capacity() != 0; }

    void insert(Node* n, std::uint32_t x) noexcept {
        std::uint32_t& head = heads_[home(n[x].address)];
        n[x].child[0] = head;
        head = x;
        ++used_;
    }
    // The node of a live run that begins at the address; 0: none.
    std::uint32_t find(const Node* n, std::uintptr_t address) const noexcept {
        if (ALLOT_UNLIKELY(!exists())) return 0;
        std::uint32_t x = heads_[home(address)];
        while (x != 0 && n[x].address != address) x = n[x].child[0];
        return x;
    }
    // The same, and removes it from the table.
    std::uint32_t extract(Node* n, std::uintptr_t address) noexcept {
        if (ALLOT_UNLIKELY(!exists())) return 0;
        std::uint32_t* link = &heads_[home(address)];
        while (*link != 0 && n[*link].address != address) link = &n[*link].child[0];
        const std::uint32_t x = *link;
        if (ALLOT_UNLIKELY(x == 0)) return 0;
        *link = n[x].child[0];
        --used_;
        return x;
    }
    std::size_t used() const noexcept { return used_; }
    std::size_t bytes() const noexcept { return heads_.bytes(); }

    bool valid(const Node* n) const noexcept {
        std::size_t all = 0;
        for (std::size_t i = 0; i != heads_.capacity(); ++i)
            for (std::uint32_t x = heads_[i]; x != 0; x = n[x].child[0])
                if (!n[x].is_live() || home(n[x].address) != i || ++all > used_) return false;
        return all == used_;
    }

  private:
    std::size_t home(std::uintptr_t address) const noexcept { return multiplicative_hash(address, shift_); }
    ALLOT_COLD bool grow(Memory& memory, Node* n, std::size_t all) noexcept {
        const unsigned bits = log2_ceil(all < 32 ? 64 : 2 * all);
        run_array<std::uint32_t, Memory> heads;
        if (!heads.resize(memory, std::size_t{1} << bits)) return false;
        heads.swap(heads_);
        shift_ = 64 - bits;
        used_ = 0;
        for (std::size_t i = 0; i != heads_.capacity(); ++i) heads_[i] = 0;
        for (std::size_t i = 0; i != heads.capacity(); ++i)
            for (std::uint32_t x = heads[i], next; x != 0; x = next) {
                next = n[x].child[0];
                insert(n, x);
            }
        heads.free(memory);
        return true;
    }

    run_array<std::uint32_t, Memory> heads_; // of the chains; a power of two
    unsigned shift_ = 63;
    std::size_t used_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
