// A slot cache: a stack of free slots for one user at a time, last in, first out (a magazine).
//
// Invariant: its slots are of one heap and count as handed out in their heaplets, so their pages are not returned.
// Cost: 8 bytes per slot; push and pop are three instructions, none of them an atomic read-modify-write.
// Threads: one at a time; any thread may call size().
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

    std::uint32_t limit = 0;            // the most slots it may hold; lower for large slots
    std::uint32_t batch = 0;            // slots that refill and spill move at once
    list_hook<slot_cache_base> in_heap; // in its heap's list of caches; protected by the heap's lock

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

// A cache and the frees that it defers, if its heap's slot policy defers any.
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

    // False: it is empty.
    ALLOT_ALWAYS_INLINE bool pop(std::byte*& row) noexcept { return this->pop_from(slots_, row); }
    // False: it is full.
    ALLOT_ALWAYS_INLINE bool push(std::byte* row) noexcept { return this->push_to(slots_, row); }
    std::byte** slots() noexcept { return slots_; }

  private:
    std::byte* slots_[Capacity];
};

// A cache whose slot array is allocated on first use, so that an array of mostly unused caches is small.
template <class Deferred = no_deferred_frees> class external_slot_cache : public cache_with_deferred_frees<Deferred> {
  public:
    static constexpr std::size_t capacity = 64; // the most

    ALLOT_ALWAYS_INLINE bool pop(std::byte*& row) noexcept { return this->pop_from(slots_, row); }
    ALLOT_ALWAYS_INLINE bool push(std::byte* row) noexcept { return this->push_to(slots_, row); }
    std::byte** slots() noexcept { return slots_; }
    void set_slots(std::byte** slots) noexcept { slots_ = slots; }

  private:
    std::byte** slots_ = nullptr; // `limit` of them; null before the first use
};

} // namespace allot::inline ALLOT_ABI
