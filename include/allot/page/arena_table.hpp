// The table of arenas by address: the one thing that a process's arenas share.
//
// Two levels over 48 bits of address: a root of 2^11 leaves, a leaf of 2^11 granules of 64 MiB. A granule names the
// arena that has it alone, or says that several share it; these are found in a list, under the table's lock.
// Arenas that reserve their own space have their granules alone; only borrowed memory shares. With the table a
// row_ptr is one word, and an address outside every arena (a constant) is known as such.
// Invariant: an arena stands in every granule that it touches, from its construction to its destruction.
// Cost: two dependent loads and a bounds check; 16 KiB of root, 16 KiB for each 128 GiB with an arena in it, never
// given back. Threads: any; looking up takes no lock but in shared granules. The state is the process's: hidden, but
// each version and kind of build of the library has its own (the inline namespace).
// Source: the page maps of tcmalloc (2005) and snmalloc (2019), coarser because arenas are large.
#pragma once

#include <allot/config.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

class arena_table {
  public:
    static constexpr unsigned granule_shift = 26;
    static constexpr std::size_t granule_bytes = std::size_t{1} << granule_shift;

    const arena_base* find(const void* p) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        if (ALLOT_UNLIKELY(at >> 48 != 0)) return nullptr;
        const leaf* const l = root_[at >> leaf_shift].load(std::memory_order_acquire);
        if (l == nullptr) return nullptr;
        const arena_base* const found = (*l)[at >> granule_shift & leaf_mask].load(std::memory_order_acquire);
        if (ALLOT_UNLIKELY(found == shared())) return find_shared(p);
        return found != nullptr && found->contains(p) ? found : nullptr;
    }

    // False when there is no memory for the table; then nothing has changed.
    bool enter(arena_base& arena) noexcept {
        const std::lock_guard hold(lock_);
        bool good = true;
        for_granules(arena, [&](std::uintptr_t at) { good = good && leaf_for(at) != nullptr; });
        if (!good) return false;
        bool alone = true;
        for_granules(arena, [&](std::uintptr_t at) {
            auto& entry = entry_for(at);
            const arena_base* const was = entry.load(std::memory_order_relaxed);
            if (was != nullptr) {
                alone = false;
                if (was != shared()) join(const_cast<arena_base&>(*was));
            }
            entry.store(was == nullptr ? &arena : shared(), std::memory_order_release);
        });
        if (!alone) join(arena);
        return true;
    }
    void leave(arena_base& arena) noexcept {
        const std::lock_guard hold(lock_);
        for (arena_base** at = &sharers_; *at != nullptr; at = &(*at)->next_sharer_)
            if (*at == &arena) {
                *at = arena.next_sharer_;
                break;
            }
        for_granules(arena, [&](std::uintptr_t at) {
            auto& entry = entry_for(at);
            if (entry.load(std::memory_order_relaxed) == &arena || !anybody_in(at))
                entry.store(nullptr, std::memory_order_release);
        });
    }

  private:
    static constexpr unsigned leaf_bits = 11;
    static constexpr unsigned leaf_shift = granule_shift + leaf_bits;
    static constexpr std::size_t leaf_mask = (std::size_t{1} << leaf_bits) - 1;
    using leaf = std::array<std::atomic<const arena_base*>, leaf_mask + 1>;

    static const arena_base* shared() noexcept { return reinterpret_cast<const arena_base*>(std::uintptr_t{1}); }

    template <class Call>
    static void for_granules(const arena_base& arena, Call call) {
        const auto begin = reinterpret_cast<std::uintptr_t>(arena.begin());
        const auto end = reinterpret_cast<std::uintptr_t>(arena.end());
        for (std::uintptr_t at = begin & ~(granule_bytes - 1); at < end; at += granule_bytes) call(at);
    }
    leaf* leaf_for(std::uintptr_t at) noexcept {
        auto& place = root_[at >> leaf_shift];
        if (place.load(std::memory_order_relaxed) == nullptr)
            place.store(new (std::nothrow) leaf{}, std::memory_order_release);
        return place.load(std::memory_order_relaxed);
    }
    std::atomic<const arena_base*>& entry_for(std::uintptr_t at) noexcept {
        return (*leaf_for(at))[at >> granule_shift & leaf_mask];
    }
    void join(arena_base& arena) noexcept {
        for (const arena_base* a = sharers_; a != nullptr; a = a->next_sharer_)
            if (a == &arena) return;
        arena.next_sharer_ = sharers_;
        sharers_ = &arena;
    }
    bool anybody_in(std::uintptr_t granule) const noexcept {
        for (const arena_base* a = sharers_; a != nullptr; a = a->next_sharer_)
            if (reinterpret_cast<std::uintptr_t>(a->begin()) < granule + granule_bytes &&
                reinterpret_cast<std::uintptr_t>(a->end()) > granule)
                return true;
        return false;
    }
    ALLOT_COLD const arena_base* find_shared(const void* p) noexcept {
        const std::lock_guard hold(lock_);
        for (const arena_base* a = sharers_; a != nullptr; a = a->next_sharer_)
            if (a->contains(p)) return a;
        return nullptr;
    }

    std::array<std::atomic<leaf*>, std::size_t{1} << (48 - leaf_shift)> root_{};
    spin_lock lock_;
    arena_base* sharers_ = nullptr;
};

inline constinit arena_table arenas;

} // namespace detail

// The arena that an address lies in, or null. Any address may be asked for; it is not read.
inline const arena_base* arena_at(const void* address) noexcept { return detail::arenas.find(address); }

} // namespace allot::inline ALLOT_ABI
