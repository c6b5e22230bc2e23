// Slabs: runs that are cut into slots of one class, told from beside the memory.
//
// A class's slab is the fewest quanta that its size divides, so that no byte is left over, or fewer where those cannot be had.
// Slabs with free slots stand in a list a class, the one that was last given a slot first; which slots are free is 128 bits.
// An address is found by its quantum and, where slabs are longer, those in front of it: 7 at most.
// Invariant: a slab in a class's list has a free slot; a slab without a live slot is nobody's: it goes back at once.
// Cost: 64 bytes a slab, O(1); the table of addresses as in best_fit. Threads: one at a time.
// Source: Bonwick's slabs, 1994; run lengths as in jemalloc 4, 2015.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/heap/address_hash.hpp>
#include <allot/heap/fit_node.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct slab {
    static constexpr std::uint32_t live_mark = ~std::uint32_t{0};
    static constexpr std::uint32_t unused_mark = live_mark - 2;
    static constexpr std::uint32_t most_slots = 128;

    std::uintptr_t address;
    std::uint32_t next, prev; // in its class's list; next also links the pool's unused ones
    std::uint32_t child[1];   // the chain of its address
    std::uint32_t parent;     // live_mark, or unused_mark
    std::uint32_t bytes;      // of the run
    std::uint32_t slot_bytes;
    std::uint32_t slots, free_slots;
    std::uint32_t of_class;
    std::uint64_t free[2];

    bool is_live() const noexcept { return parent == live_mark; }
};

template <class Memory> class slab_book {
  public:
    static constexpr unsigned most_classes = 64;
    using number = std::uint32_t; // of a slab; 0: none

    void free(Memory& memory) noexcept {
        slabs_.free(memory);
        by_address_.free(memory);
    }
    // For one slab more; false: no metadata.
    bool prepare(Memory& memory) noexcept {
        return slabs_.prepare(memory, 1) && (by_address_.prepare(memory, slabs_.data(), slabs_.used() + 1) || by_address_.exists());
    }
    // It was prepared. All its slots are free.
    number add(std::uintptr_t address, std::size_t bytes, unsigned c, std::size_t slot_bytes) noexcept {
        const number x = slabs_.take();
        const auto fit = static_cast<std::uint32_t>(bytes / slot_bytes), slots = fit < slab::most_slots ? fit : slab::most_slots;
        slabs_[x] = {address, 0, 0, {0}, slab::live_mark, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(slot_bytes), slots, slots, c, {low(slots), slots > 64 ? low(slots - 64) : 0}};
        by_address_.insert(slabs_.data(), x);
        list(x);
        return x;
    }
    void remove(number x) noexcept {
        unlist(x);
        static_cast<void>(by_address_.take(slabs_.data(), slabs_[x].address));
        slabs_.put(x);
    }
    number with_room(unsigned c) const noexcept { return first_[c]; }

    // The lowest slot of a slab that has one.
    std::uintptr_t take_slot(number x) noexcept {
        slab& s = slabs_[x];
        const unsigned w = s.free[0] == 0;
        const auto bit = static_cast<unsigned>(std::countr_zero(s.free[w]));
        s.free[w] &= s.free[w] - 1;
        if (--s.free_slots == 0) unlist(x);
        return s.address + std::size_t{w * 64 + bit} * s.slot_bytes;
    }
    // The slab that has this live slot, and nothing else; 0: it is none.
    number find_slot(std::uintptr_t address, std::size_t quantum) const noexcept {
        const number x = find(address, quantum);
        if (x == 0) return 0;
        const slab& s = slabs_[x];
        const std::size_t slot = (address - s.address) / s.slot_bytes;
        const bool good = slot < s.slots && s.address + slot * s.slot_bytes == address && (s.free[slot / 64] >> slot % 64 & 1) == 0;
        return good ? x : 0;
    }
    // True: it was the last live one.
    bool give_slot(number x, std::uintptr_t address) noexcept {
        slab& s = slabs_[x];
        const std::size_t slot = (address - s.address) / s.slot_bytes;
        s.free[slot / 64] |= std::uint64_t{1} << slot % 64;
        if (s.free_slots++ == 0) list(x);
        return s.free_slots == s.slots;
    }
    const slab& operator[](number x) const noexcept { return slabs_[x]; }

    // The slab that an address lies in.
    number find(std::uintptr_t address, std::size_t quantum) const noexcept {
        std::uintptr_t at = align_down(address, quantum);
        for (unsigned i = 0; i != most_quanta; ++i, at -= quantum)
            if (const number x = by_address_.find(slabs_.data(), at); x != 0) return address - at < slabs_[x].bytes ? x : 0;
        return 0;
    }
    static constexpr unsigned most_quanta = 7;

    std::size_t size() const noexcept { return slabs_.used(); }
    std::size_t metadata_bytes() const noexcept { return slabs_.bytes() + by_address_.bytes(); }
    // good(slab) for each that has room, by class.
    template <class Good> bool valid(Good good) const noexcept {
        for (unsigned c = 0; c != most_classes; ++c) {
            number before = 0;
            for (number x = first_[c]; x != 0; before = x, x = slabs_[x].next) {
                const slab& s = slabs_[x];
                const auto bits = static_cast<std::uint32_t>(std::popcount(s.free[0]) + std::popcount(s.free[1]));
                if (s.prev != before || s.of_class != c || s.free_slots == 0 || s.free_slots == s.slots) return false;
                if (bits != s.free_slots || by_address_.find(slabs_.data(), s.address) != x || !good(s)) return false;
            }
        }
        return slabs_.valid() && by_address_.valid(slabs_.data()) && by_address_.used() == slabs_.used();
    }

  private:
    static std::uint64_t low(std::uint32_t bits) noexcept { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
    void list(number x) noexcept {
        number& head = first_[slabs_[x].of_class];
        slabs_[x].next = head;
        slabs_[x].prev = 0;
        if (head != 0) slabs_[head].prev = x;
        head = x;
    }
    void unlist(number x) noexcept {
        const slab& s = slabs_[x];
        (s.prev != 0 ? slabs_[s.prev].next : first_[s.of_class]) = s.next;
        if (s.next != 0) slabs_[s.next].prev = s.prev;
    }

    fit_pool<slab, Memory> slabs_;
    address_hash<slab, Memory> by_address_;
    number first_[most_classes] = {};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
