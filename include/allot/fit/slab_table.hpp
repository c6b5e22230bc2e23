// The slabs of a fit: runs that are cut into slots of one size class, described out of band.
//
// A class's slab is the fewest quanta that its size divides, so that no byte is left over, or fewer where those are not
// free. Each class has a list of its slabs with free slots, the last one that got a slot back first; 128 bits per slab
// show the free slots. The owner maps runs to slabs (slab_runs keeps the number in the run's tag).
// Invariant: a slab in a class's list has a free slot and a live one; a slab without a live slot is removed at once.
// Cost: 56 bytes per slab, O(1). Threads: one at a time.
// Source: Bonwick's slabs, 1994; run lengths as in jemalloc 4, 2015.
#pragma once

#include <allot/config.hpp>
#include <allot/fit/run_node.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct slab {
    static constexpr std::uint32_t live_mark = ~std::uint32_t{0};
    static constexpr std::uint32_t unused_mark = live_mark - 2;
    static constexpr std::uint32_t max_slots = 128;

    std::uintptr_t address;
    std::uint32_t next, prev; // in its class's list; next also links the pool's unused ones
    std::uint32_t parent;     // live_mark, or unused_mark
    std::uint32_t bytes;      // of the whole run
    std::uint32_t slot_bytes;
    std::uint32_t slots, free_slots;
    std::uint32_t of_class;
    std::uint64_t free[2];
};

template <class Memory> class slab_table {
  public:
    static constexpr unsigned max_classes = 64;
    using number = std::uint32_t; // of a slab; 0: none

    void free(Memory& memory) noexcept { slabs_.free(memory); }
    // Reserves the node of one slab; false: no metadata.
    bool prepare(Memory& memory) noexcept { return slabs_.prepare(memory, 1); }
    // Adds a slab whose slots are all free. Requires prepare().
    number add(std::uintptr_t address, std::size_t bytes, unsigned c, std::size_t slot_bytes) noexcept {
        const number x = slabs_.take();
        const auto fit = static_cast<std::uint32_t>(bytes / slot_bytes),
                   slots = fit < slab::max_slots ? fit : slab::max_slots;
        slabs_[x] = {address,
                     0,
                     0,
                     slab::live_mark,
                     static_cast<std::uint32_t>(bytes),
                     static_cast<std::uint32_t>(slot_bytes),
                     slots,
                     slots,
                     c,
                     {low(slots), slots > 64 ? low(slots - 64) : 0}};
        list(x);
        return x;
    }
    void remove(number x) noexcept {
        unlist(x);
        slabs_.put(x);
    }
    // 0: no slab of the class has a free slot.
    number slab_with_free_slot(unsigned c) const noexcept { return first_[c]; }

    // Takes the lowest free slot. Requires that the slab has one.
    std::uintptr_t take_slot(number x) noexcept {
        slab& s = slabs_[x];
        const unsigned w = s.free[0] == 0;
        const auto bit = static_cast<unsigned>(std::countr_zero(s.free[w]));
        s.free[w] &= s.free[w] - 1;
        if (--s.free_slots == 0) unlist(x);
        return s.address + std::size_t{w * 64 + bit} * s.slot_bytes;
    }
    // Whether a live slot begins at the address, which is inside the slab.
    bool has_slot(number x, std::uintptr_t address) const noexcept {
        const slab& s = slabs_[x];
        const std::size_t slot = (address - s.address) / s.slot_bytes;
        return slot < s.slots && s.address + slot * s.slot_bytes == address &&
               (s.free[slot / 64] >> slot % 64 & 1) == 0;
    }
    // Marks a live slot free. True: no live slot is left.
    bool give_slot(number x, std::uintptr_t address) noexcept {
        slab& s = slabs_[x];
        const std::size_t slot = (address - s.address) / s.slot_bytes;
        s.free[slot / 64] |= std::uint64_t{1} << slot % 64;
        if (s.free_slots++ == 0) list(x);
        return s.free_slots == s.slots;
    }
    const slab& operator[](number x) const noexcept { return slabs_[x]; }

    std::size_t size() const noexcept { return slabs_.used(); }
    std::size_t metadata_bytes() const noexcept { return slabs_.bytes(); }
    // Whether lists and bits agree, and check(number) is true for each slab with a free slot.
    template <class Check> bool valid(Check check) const noexcept {
        for (unsigned c = 0; c != max_classes; ++c) {
            number before = 0;
            for (number x = first_[c]; x != 0; before = x, x = slabs_[x].next) {
                const slab& s = slabs_[x];
                const auto bits = static_cast<std::uint32_t>(std::popcount(s.free[0]) + std::popcount(s.free[1]));
                if (s.prev != before || s.of_class != c || s.free_slots == 0 || s.free_slots == s.slots) return false;
                if (bits != s.free_slots || !check(x)) return false;
            }
        }
        return slabs_.valid();
    }

  private:
    static std::uint64_t low(std::uint32_t bits) noexcept {
        return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    }
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

    run_pool<slab, Memory> slabs_;
    number first_[max_classes] = {};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
