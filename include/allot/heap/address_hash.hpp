// Which node an address has: an open-addressing table of node numbers.
//
//     slot: | check 4 | node 4 |        check: the address's hash, whose top bits are its home; node 0: nobody
//
// Linear probing; what follows a removed entry moves up, so there are no tombstones, and because the hash lies in the
// slot nothing but the node that is looked for is read. Invariant: an entry lies at its home or behind it, without a gap.
// Cost: 8 bytes a slot, at most 5 of 8 used; O(1) expected. Growing puts all entries anew. Threads: one at a time.
// Source: Knuth 1973, algorithm 6.4 R; multiplicative hashing.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/fit_array.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Memory> class address_hash {
    struct slot {
        std::uint32_t check;
        std::uint32_t node;
    };

  public:
    void free(Memory& memory) noexcept { slots_.free(memory); }
    // Room for so many in all.
    bool prepare(Memory& memory, std::size_t all) noexcept {
        if (ALLOT_LIKELY(all <= most_)) return true;
        return grow(memory, all);
    }
    void insert(std::uintptr_t address, std::uint32_t node) noexcept {
        put({hash(address), node});
        ++used_;
    }
    // 0: nobody. `is(node)`: whether it has the address.
    template <class Is> std::uint32_t find(std::uintptr_t address, Is is) const noexcept {
        const std::size_t at = place(address, is);
        return at == nowhere ? 0 : slots_[at].node;
    }
    template <class Is> std::uint32_t take(std::uintptr_t address, Is is) noexcept {
        std::size_t at = place(address, is);
        if (at == nowhere) return 0;
        const std::uint32_t node = slots_[at].node;
        --used_;
        for (std::size_t from = at;;) {
            from = (from + 1) & mask_;
            const slot s = slots_[from];
            if (s.node == 0) break;
            if (((from - home(s.check)) & mask_) < ((from - at) & mask_)) continue; // its home is behind the gap
            slots_[at] = s;
            at = from;
        }
        slots_[at].node = 0;
        return node;
    }
    std::size_t used() const noexcept { return used_; }
    std::size_t bytes() const noexcept { return slots_.bytes(); }

    bool valid() const noexcept {
        std::size_t n = 0;
        for (std::size_t i = 0; most_ != 0 && i <= mask_; ++i) {
            if (slots_[i].node == 0) continue;
            ++n;
            for (std::size_t at = home(slots_[i].check); at != i; at = (at + 1) & mask_)
                if (slots_[at].node == 0) return false;
        }
        return n == used_ && n <= most_;
    }

  private:
    static constexpr std::size_t nowhere = ~std::size_t{0};

    static std::uint32_t hash(std::uintptr_t address) noexcept {
        return static_cast<std::uint32_t>(std::uint64_t{address} * 0x9E3779B97F4A7C15U >> 32);
    }
    std::size_t home(std::uint32_t check) const noexcept { return check >> shift_; }

    template <class Is> std::size_t place(std::uintptr_t address, Is is) const noexcept {
        if (ALLOT_UNLIKELY(most_ == 0)) return nowhere;
        const std::uint32_t check = hash(address);
        for (std::size_t at = home(check); slots_[at].node != 0; at = (at + 1) & mask_)
            if (slots_[at].check == check && is(slots_[at].node)) return at;
        return nowhere;
    }
    void put(slot s) noexcept {
        std::size_t at = home(s.check);
        while (slots_[at].node != 0) at = (at + 1) & mask_;
        slots_[at] = s;
    }
    ALLOT_COLD bool grow(Memory& memory, std::size_t all) noexcept {
        unsigned bits = 6;
        while ((std::size_t{1} << bits) / 8 * 5 < all)
            if (++bits == 32) return false;
        fit_array<slot, Memory> larger;
        if (!larger.resize(memory, std::size_t{1} << bits)) return false;
        const std::size_t had = most_ == 0 ? 0 : mask_ + 1;
        fit_array<slot, Memory> old;
        old.swap(slots_);
        slots_.swap(larger);
        mask_ = (std::size_t{1} << bits) - 1;
        shift_ = 32 - bits;
        most_ = (mask_ + 1) / 8 * 5;
        for (std::size_t i = 0; i <= mask_; ++i) slots_[i] = {0, 0};
        for (std::size_t i = 0; i != had; ++i)
            if (old[i].node != 0) put(old[i]);
        old.free(memory);
        return true;
    }

    fit_array<slot, Memory> slots_;
    std::size_t mask_ = 0;
    unsigned shift_ = 0;
    std::size_t most_ = 0; // entries before it grows
    std::size_t used_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
