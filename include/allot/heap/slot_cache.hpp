// A slot cache: the few free slots that one user at a time works with, most recently released first.
//
// Invariant: every slot in it is free, of one heap, and counts as handed out for its heaplet, so its page stays.
// Cost: 8 bytes a slot; push and pop are three instructions without atomics' price.
// Threads: one at a time; `size()` may be read by any.
// Source: magazines, Bonwick and Adams 2001.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/slots/deferred_frees.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class slot_cache_base {
  public:
    slot_cache_base() = default;
    slot_cache_base(const slot_cache_base&) = delete;
    slot_cache_base& operator=(const slot_cache_base&) = delete;

    std::uint32_t size() const noexcept { return n_.load(std::memory_order_relaxed); }
    void set_size(std::uint32_t n) noexcept { n_.store(n, std::memory_order_relaxed); }

    std::uint32_t limit = 0;             // slots it may hold: fewer when they are large
    std::uint32_t batch = 0;             // slots to take or give at once
    list_place<slot_cache_base> in_heap; // among the caches of its heap, under the heap's lock

  protected:
    ALLOT_ALWAYS_INLINE bool pop_from(std::byte** slots, std::byte*& row) noexcept {
        const std::uint32_t n = size();
        if (ALLOT_UNLIKELY(n == 0)) return false;
        row = slots[n - 1];
        set_size(n - 1);
        return true;
    }
    ALLOT_ALWAYS_INLINE bool push_to(std::byte** slots, std::byte* row) noexcept {
        const std::uint32_t n = size();
        if (ALLOT_UNLIKELY(n == limit)) return false;
        slots[n] = row;
        set_size(n + 1);
        return true;
    }

  private:
    std::atomic<std::uint32_t> n_{0};
};

// A cache with what its heap's slot policy keeps beside it.
template <class Deferred> class cache_with_deferred_frees : public slot_cache_base {
  public:
    ALLOT_NO_UNIQUE_ADDRESS Deferred deferred;
};

template <std::size_t Capacity, class Deferred = no_deferred_frees>
class slot_cache : public cache_with_deferred_frees<Deferred> {
  public:
    using slot_cache_base::limit;
    using slot_cache_base::set_size;
    using slot_cache_base::size;

    static constexpr std::size_t capacity = Capacity;

    // False when it is empty.
    ALLOT_ALWAYS_INLINE bool pop(std::byte*& row) noexcept { return this->pop_from(slots_, row); }
    // False when it is full.
    ALLOT_ALWAYS_INLINE bool push(std::byte* row) noexcept { return this->push_to(slots_, row); }
    std::byte** slots() noexcept { return slots_; }

  private:
    std::byte* slots_[Capacity];
};

// A cache with its slots elsewhere: many of them lie side by side, and few are used.
template <class Deferred = no_deferred_frees> class external_slot_cache : public cache_with_deferred_frees<Deferred> {
  public:
    static constexpr std::size_t capacity = 64; // at most

    ALLOT_ALWAYS_INLINE bool pop(std::byte*& row) noexcept { return this->pop_from(slots_, row); }
    ALLOT_ALWAYS_INLINE bool push(std::byte* row) noexcept { return this->push_to(slots_, row); }
    std::byte** slots() noexcept { return slots_; }
    void set_slots(std::byte** slots) noexcept { slots_ = slots; }

  private:
    std::byte** slots_ = nullptr; // `limit` of them; null before the first use
};

} // namespace allot::inline ALLOT_ABI
