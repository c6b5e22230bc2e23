// The 4 shared slot caches of a heap, for callers without a cache: one is borrowed for the length of a call.
//
// Borrowing is one atomic exchange on a cache chosen by the thread. It never waits: if that cache and its neighbour are
// in use, the caller bypasses the caches.
// Cost: 384 bytes per cache. Threads: any.
// Source: Hoard's heaps hashed by thread, Berger 2000; try-lock as in jemalloc's and tcmalloc's sharded caches.
#pragma once

#include <allot/config.hpp>
#include <allot/core/hash.hpp>
#include <allot/heap/slot_cache.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/thread.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

template <class Deferred = no_deferred_frees> class shared_caches {
    using cache_type = slot_cache<32, Deferred>;

  public:
    static constexpr std::size_t count = 4; // a power of two

    struct alignas(64) place {
        // Not bool: libstdc++ always inlines the functions of atomic integers, and not those of atomic<bool>.
        std::atomic<std::uint8_t> taken{0}, filled{0};
        cache_type cache;

        // Whether its user fills it, and looks behind that at what other threads want.
        bool is_filled() const noexcept { return filled.load(std::memory_order_acquire) != 0; }
        void begin_fill() noexcept { filled.store(1, std::memory_order_relaxed); }
        void end_fill() noexcept {
            filled.store(0, std::memory_order_relaxed);
            full_fence(); // a thread that saw it filled has written before what is read now
        }
    };

    // Returns the cache in its destructor; empty if none was free.
    class borrowed {
      public:
        explicit borrowed(place* p) noexcept : place_(p) {}
        borrowed(const borrowed&) = delete;
        borrowed& operator=(const borrowed&) = delete;
        ALLOT_ALWAYS_INLINE ~borrowed() {
            if (place_ != nullptr) place_->taken.store(0, std::memory_order_release);
        }
        explicit operator bool() const noexcept { return place_ != nullptr; }
        cache_type& operator*() const noexcept { return place_->cache; }
        cache_type* operator->() const noexcept { return &place_->cache; }
        place& in() const noexcept { return *place_; }

      private:
        place* place_;
    };

    ALLOT_ALWAYS_INLINE borrowed borrow() noexcept {
        const std::size_t first = spread(sys::thread_token());
        place* p = &places_[first];
        if (ALLOT_UNLIKELY(!take(*p))) {
            p = &places_[first ^ 1];
            if (!take(*p)) p = nullptr;
        }
        return borrowed(p);
    }
    borrowed borrow(place& p) noexcept { return borrowed(take(p) ? &p : nullptr); }
    std::array<place, count>& all() noexcept { return places_; }

  private:
    ALLOT_ALWAYS_INLINE static bool take(place& p) noexcept {
        return p.taken.exchange(1, std::memory_order_acquire) == 0;
    }
    static std::size_t spread(std::uintptr_t token) noexcept { return multiplicative_hash(token, 62); }
    std::array<place, count> places_;
};

} // namespace allot::inline ALLOT_ABI
