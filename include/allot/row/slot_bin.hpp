// slot_bin: a slot cache of a heap for rows of any type, in a table by the heap's index among its manager's buckets.
//
// no_bins is the table of a user without caches: its bins are empty and full, so every step on one fails.
// Cost: 128 bytes and its stack, of `limit` slots. Threads: those of its owner.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/request/memory_request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Heap> class alignas(64) slot_bin : public Heap::user_cache {
  public:
    static constexpr std::size_t capacity = 64; // the most slots in the stack

    constexpr slot_bin() noexcept = default;

    // A bin of the heap, registered there; null if there is no memory.
    ALLOT_OUTLINE_OF(slot_bin) static slot_bin* open(Heap& heap, memory_request& asked) noexcept {
        if (!heap.provider().books().pay(asked)) return nullptr;
        const std::size_t bytes = bytes_for(heap);
        void* const memory = ::operator new(bytes, std::align_val_t{alignof(slot_bin)}, std::nothrow);
        if (memory == nullptr) return asked.refuse(charge_outcome::no_memory, bytes);
        auto* const bin = ::new (memory) slot_bin;
        bin->heap = &heap;
        bin->tag = heap.tag();
        heap.adopt(*bin, capacity);
        heap.provider().books().owe(bytes);
        return bin;
    }
    // Frees its slots and its memory.
    ALLOT_OUTLINE_OF(slot_bin) static void close(slot_bin* bin) noexcept {
        Heap& heap = *bin->heap;
        heap.leave(*bin);
        bin->~slot_bin();
        ::operator delete(static_cast<void*>(bin), std::align_val_t{alignof(slot_bin)});
        heap.provider().books().end(bytes_for(heap));
    }

    ALLOT_ALWAYS_INLINE bool pop(std::byte*& row) noexcept { return this->pop_from(slots(), row); }
    ALLOT_ALWAYS_INLINE bool push(std::byte* row) noexcept { return this->push_to(slots(), row); }
    std::byte** slots() noexcept { return reinterpret_cast<std::byte**>(this + 1); }

    Heap* heap = nullptr;
    std::uintptr_t tag = 1; // of the heap; that of no page where there is none

  private:
    static std::size_t bytes_for(const Heap& heap) noexcept {
        return sizeof(slot_bin) + heap.cache_limit(capacity) * sizeof(std::byte*);
    }
};

template <class Heap> struct bin_table {
    std::array<slot_bin<Heap>*, heap_tag::buckets> bins;

    explicit constexpr bin_table(slot_bin<Heap>& each) noexcept : bins() { bins.fill(&each); }
};

template <class Heap> inline constinit slot_bin<Heap> no_bin;
template <class Heap> inline constinit bin_table<Heap> no_bins{no_bin<Heap>};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
