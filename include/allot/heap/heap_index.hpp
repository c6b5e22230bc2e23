// heap_index: heaps that have room for another handle, found by a hash of their config. unused_heaps: heaps without
// handles, rows and pages, by kind.
//
// Invariant: a heap is in at most one of them; their links are in the heap.
// Cost: a step expected to find, add and remove; 8 bytes per heap. If the index cannot grow, chains grow and nothing
// fails. unused_heaps takes a step per kind of heap, which are as many as the program text names.
// Threads: one at a time.
// Source: chained hashing, Luhn 1953.
#pragma once

#include <allot/config.hpp>
#include <allot/core/hash.hpp>
#include <allot/heap/heap_base.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class heap_index {
  public:
    heap_index() = default;
    heap_index(const heap_index&) = delete;
    heap_index& operator=(const heap_index&) = delete;
    ~heap_index() {
        if (heads_ != few_.data()) delete[] heads_;
    }

    void add(heap_base& heap) noexcept {
        if (used_ == std::size_t{1} << bits_) grow();
        link(heap);
        ++used_;
    }
    void remove(heap_base& heap) noexcept {
        heap_base** at = &head(heap.index_key);
        while (*at != &heap) at = &(*at)->chained;
        *at = heap.chained;
        --used_;
    }
    // The first heap with this key for which is(heap) is true, or null.
    template <class Is> heap_base* find(std::uint64_t key, Is is) const noexcept {
        heap_base* heap = head(key);
        while (heap != nullptr && (heap->index_key != key || !is(*heap))) heap = heap->chained;
        return heap;
    }

  private:
    heap_base*& head(std::uint64_t key) const noexcept { return heads_[multiplicative_hash(key, 64 - bits_)]; }
    void link(heap_base& heap) noexcept {
        heap_base*& first = head(heap.index_key);
        heap.chained = first;
        first = &heap;
    }
    void grow() noexcept {
        auto* const more = new (std::nothrow) heap_base* [std::size_t{2} << bits_] {};
        if (more == nullptr) return;
        heap_base** const old = std::exchange(heads_, more);
        const std::size_t n = std::size_t{1} << bits_++;
        for (std::size_t i = 0; i != n; ++i)
            for (heap_base* heap = old[i]; heap != nullptr;) {
                heap_base* const following = heap->chained;
                link(*heap);
                heap = following;
            }
        if (old != few_.data()) delete[] old;
    }

    std::array<heap_base*, 8> few_{};
    heap_base** heads_ = few_.data(); // of the chains
    unsigned bits_ = 3;               // log2 of their number
    std::size_t used_ = 0;
};

class unused_heaps {
  public:
    void push(heap_base& heap) noexcept {
        heap_base** const at = find(heap.kind());
        heap.chained = *at;
        heap.next_kind = *at != nullptr ? (*at)->next_kind : nullptr;
        *at = &heap;
    }
    // A heap of this kind, or null.
    heap_base* pop(const row_ops* kind) noexcept {
        heap_base** const at = find(kind);
        heap_base* const heap = *at;
        if (heap == nullptr) return nullptr;
        if (heap->chained != nullptr) heap->chained->next_kind = heap->next_kind;
        *at = heap->chained != nullptr ? heap->chained : heap->next_kind;
        return heap;
    }

    void delete_all() noexcept {
        while (first_ != nullptr) delete pop(first_->kind());
    }

  private:
    // The link to the first heap of the kind; the null at the end if there is none.
    heap_base** find(const row_ops* kind) noexcept {
        heap_base** at = &first_;
        while (*at != nullptr && (*at)->kind() != kind) at = &(*at)->next_kind;
        return at;
    }

    heap_base* first_ = nullptr; // one heap per kind; others of its kind are chained behind it
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
