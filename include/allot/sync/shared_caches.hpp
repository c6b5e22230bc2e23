// The 4 shared caches of a heap or a chunk arena, for callers without a cache: one is borrowed for the length of a
// call.
//
// Borrowing is one atomic exchange on a cache chosen by the thread. It never waits: if that cache and its neighbour are
// in use, the caller bypasses the caches. wait_for() and keep() are for those that empty all caches.
// Invariant: a cache has one user at a time. Cost: that of the caches, and 2 bytes per cache. Threads: any.
// Source: Hoard's heaps hashed by thread, Berger 2000; try-lock as in jemalloc's and tcmalloc's sharded caches.
#pragma once

#include <allot/config.hpp>
#include <allot/core/hash.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/sys/thread.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Cache> class shared_caches {
  public:
    static constexpr std::size_t count = 4; // a power of two

    struct alignas(64) place {
        // Not bool: libstdc++ always inlines the functions of atomic integers, and not those of atomic<bool>.
        std::atomic<std::uint8_t> taken{0}, filled{0};
        Cache cache;

        // Whether its user fills it, and looks afterwards at what other threads want.
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
            if (place_ != nullptr) give(*place_);
        }
        explicit operator bool() const noexcept { return place_ != nullptr; }
        Cache& operator*() const noexcept { return place_->cache; }
        Cache* operator->() const noexcept { return &place_->cache; }
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
    // Waits for its user. Empty: the user fills it, which may take long; it looks afterwards (end_fill).
    borrowed wait_for(place& p) noexcept {
        for (;; yield()) {
            if (take(p)) return borrowed(&p);
            if (p.is_filled()) return borrowed(nullptr);
        }
    }
    // Waits for its user; the cache then is the caller's until give_kept(), on any thread. Requires that no user fills
    // it.
    static Cache& keep(place& p) noexcept {
        while (!take(p)) yield();
        sys::leave_section(); // it may be kept for long
        return p.cache;
    }
    ALLOT_ALWAYS_INLINE static void give(place& p) noexcept {
        p.taken.store(0, std::memory_order_release);
        sys::leave_section();
    }
    static void give_kept(place& p) noexcept { p.taken.store(0, std::memory_order_release); }
    std::array<place, count>& all() noexcept { return places_; }

  private:
    ALLOT_ALWAYS_INLINE static bool take(place& p) noexcept {
        sys::enter_section();
        const bool took = p.taken.exchange(1, std::memory_order_acquire) == 0;
        if (!took) sys::leave_section();
        return took;
    }
    static std::size_t spread(std::uintptr_t token) noexcept { return multiplicative_hash(token, 62); }
    std::array<place, count> places_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
