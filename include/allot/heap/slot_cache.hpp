// A slot cache: free slots for one user at a time. In front a stack of slots, last in, first out (a magazine); behind
// it one group: up to 64 neighbouring slots of a page, as the bits of a word.
//
//   stack:  | slot | slot | .. |      group:  first, bits     bit i: the slot i * stride bytes behind `first` is free
//
// An empty stack is filled from the group, an empty group from a page, by a word of its free bits. A full stack lets
// slots of the group's neighbourhood go by to the group, which is freed to its page as a whole. So slots that are used
// in the order of addresses are moved by words, others by batches.
// Invariant: its slots are of one heap and count as handed out in their heaplets, so their pages are not returned.
// Cost: 8 bytes per slot of the stack, 32 for the group; push and pop are six instructions, none of them an atomic
// read-modify-write. Threads: one at a time; any thread may call size() and count().
// Source: magazines, Bonwick and Adams 2001; words of free bits, rpmalloc and Go's mcache, 2014.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/slots/deferred_frees.hpp>
#include <allot/slots/geometry.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Two words in one register. Written so that nvcc accepts it: a plain type, not in a class.
using word_pair = unsigned long long __attribute__((__vector_size__(16)));

class slot_cache_base {
  public:
    slot_cache_base() = default;
    slot_cache_base(const slot_cache_base&) = delete;
    slot_cache_base& operator=(const slot_cache_base&) = delete;

    // Slots in the stack.
    std::size_t size() const noexcept { return n_.load(std::memory_order_relaxed); }
    void set_size(std::size_t n) noexcept { n_.store(n, std::memory_order_relaxed); }
    // Slots in stack and group.
    std::size_t count() const noexcept { return size() + static_cast<std::size_t>(std::popcount(bits())); }

    bool is_empty() const noexcept { return (size() | bits()) == 0; }

    std::byte* first() const noexcept { return first_; }
    std::uint64_t bits() const noexcept { return bits_.load(std::memory_order_relaxed); }
    void set_bits(std::uint64_t bits) noexcept { bits_.store(bits, std::memory_order_relaxed); }
    // `bytes`: from its first slot to behind its last one in the page.
    void set_group(std::byte* first, std::size_t bytes, std::uint64_t bits) noexcept {
        first_ = first;
        group_bytes_ = bytes;
        set_bits(bits);
    }
    // For a slot of its heap. False: it is no slot of the group.
    ALLOT_ALWAYS_INLINE bool push_to_group(const std::byte* row) noexcept {
        const std::size_t at = reinterpret_cast<std::uintptr_t>(row) - reinterpret_cast<std::uintptr_t>(first_);
        if (ALLOT_UNLIKELY(at >= group_bytes_)) return false;
        set_bits(bits() | std::uint64_t{1} << ((at * reciprocal >> slot_geometry::shift) & 63));
        return true;
    }
    // Moves slots from the group to the empty stack, as many as fit: the lowest ones, the lowest on top.
    // Requires a bit of the group, and room on the stack.
    ALLOT_OUTLINE_WARM void unpack(std::byte** slots, std::size_t stride) noexcept {
        const std::uint64_t free = bits();
        const std::size_t n = limit < group_slots ? limit : group_slots;
        const std::uint64_t run = ~std::uint64_t{0} >> (64 - n);
        const int low = std::countr_zero(free);
        if (ALLOT_UNLIKELY((free >> low & run) != run || n % 8 != 0)) return unpack_some(slots, stride);
        const auto row = reinterpret_cast<std::uintptr_t>(first_) + static_cast<std::size_t>(low) * stride;
        detail::word_pair pair{row + stride, row}; // two are written at once
        const detail::word_pair step{2 * stride, 2 * stride};
        for (std::byte** at = slots + n; at != slots; at -= 8)
            for (int i = 2; i <= 8; i += 2, pair += step) std::memcpy(at - i, &pair, sizeof pair);
        set_bits(free & ~(run << low));
        set_size(n);
    }
    void drop_oldest(std::byte** slots, std::size_t n) noexcept {
        const std::size_t rest = size() - n;
        std::memmove(slots, slots + n, rest * sizeof *slots);
        set_size(rest);
    }
    void clear() noexcept {
        set_size(0);
        set_group(nullptr, 0, 0);
    }
    // Calls visit(slot) for each slot of the cache, for any thread. Slots that come or go meanwhile may be missed or
    // visited.
    template <class Visit> void visit_while_used(std::size_t stride, Visit visit) const noexcept {
        const std::size_t n = size();
        for (std::size_t i = 0; i != n; ++i)
            if (std::byte* const slot = read_while_written(&stack[i])) visit(slot);
        std::byte* const first = read_while_written(&first_);
        for (std::uint64_t rest = first != nullptr ? bits() : 0; rest != 0; rest &= rest - 1)
            visit(first + static_cast<std::size_t>(std::countr_zero(rest)) * stride);
    }

    std::size_t limit = 0;              // the most slots in the stack; lower for large slots
    std::uint32_t batch = 0;            // slots of the stack that are moved at once
    std::uint32_t shortages = 0;        // heap_group::shortages() when slots were last freed from it
    std::uint32_t group_slots = 0;      // slots of a group, free or not: a power of two
    std::uint64_t reciprocal = 0;       // of the heap's slot_geometry
    list_hook<slot_cache_base> in_heap; // in its heap's list of caches; protected by the heap's lock
    std::byte* const* stack = nullptr;  // its array of slots, for other threads

  protected:
    ALLOT_ALWAYS_INLINE bool pop_from(std::byte** slots, std::byte*& row) noexcept {
        std::size_t n = 0;
        if (ALLOT_UNLIKELY(__builtin_sub_overflow(size(), std::size_t{1}, &n))) return false;
        row = slots[n];
        if (row == nullptr) __builtin_unreachable(); // so that it is not tested again
        set_size(n);
        return true;
    }
    ALLOT_ALWAYS_INLINE bool push_to(std::byte** slots, std::byte* row) noexcept {
        const std::size_t n = size();
        if (ALLOT_UNLIKELY(n >= limit)) return false;
        slots[n] = row;
        set_size(n + 1);
        return true;
    }

  private:
    // The user writes these words plainly, two at once where it can; a word is read as a whole all the same. So a
    // thread checker is not to look.
    ALLOT_NO_THREAD_CHECK static std::byte* read_while_written(std::byte* const* at) noexcept {
        return *const_cast<std::byte* const volatile*>(at);
    }
    ALLOT_NOINLINE void unpack_some(std::byte** slots, std::size_t stride) noexcept {
        std::uint64_t rest = bits();
        std::size_t left = limit;
        for (; rest != 0 && left != 0; rest &= rest - 1)
            slots[--left] = first_ + static_cast<std::size_t>(std::countr_zero(rest)) * stride;
        std::memmove(slots, slots + left, (limit - left) * sizeof *slots);
        set_bits(rest);
        set_size(limit - left);
    }

    std::atomic<std::size_t> n_{0};
    std::atomic<std::uint64_t> bits_{0};
    std::byte* first_ = nullptr; // of the group; its page may be returned while `bits_` is 0
    std::size_t group_bytes_ = 0;
};

// A cache and the frees that it defers, if its heap's slot policy defers any.
template <class Deferred> class cache_with_deferred_frees : public slot_cache_base {
  public:
    ALLOT_NO_UNIQUE_ADDRESS Deferred deferred;
};

template <std::size_t Capacity, class Deferred = no_deferred_frees>
class slot_cache : public cache_with_deferred_frees<Deferred> {
  public:
    static constexpr std::size_t capacity = Capacity;

    // False: the stack is empty.
    ALLOT_ALWAYS_INLINE bool pop(std::byte*& row) noexcept { return this->pop_from(slots_, row); }
    // False: it is full.
    ALLOT_ALWAYS_INLINE bool push(std::byte* row) noexcept { return this->push_to(slots_, row); }
    std::byte** slots() noexcept { return slots_; }

  private:
    std::byte* slots_[Capacity];
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
