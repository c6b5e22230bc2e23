// The table of arenas by address: the only state that all arenas of a process share.
//
//   root: 2^11 leaves  ->  leaf: 2^11 granules of 64 MiB  ->  an arena that has the granule alone, or `shared`
//
// A shared granule may hold several arenas, and the caller's constants; its arenas are in a list of ranges, which is
// read without a lock and without touching an arena. Arenas that reserve their own space have their granules alone;
// borrowed memory, and space reserved where addresses are short, is shared. The table makes a row_ptr one word, and
// shows that an address is outside every arena (a constant). Each version and kind of build of the library has a table
// (the inline namespace).
// Invariant: an arena is in every granule that it touches, from its construction to its destruction.
// Cost: two dependent loads and a bounds check; in shared granules a walk over the ranges. 16 KiB of root, 16 KiB for
// each 128 GiB with an arena in it, 1.5 KiB for each 62 arenas that share; never returned to the system.
// Threads: any. find() takes no lock; in a shared granule it waits while an arena is added or removed.
// Source: page maps of tcmalloc (2005) and snmalloc (2019), coarser because arenas are large; sequence locks of Linux,
// 2002.
#pragma once

#include <allot/config.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/map.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The arenas of a process, without those in memory of others.
struct arena_totals {
    std::size_t arenas = 0;
    std::size_t reserved = 0; // bytes
};

class arena_table {
  public:
    static constexpr unsigned granule_shift = 26;
    static constexpr std::size_t granule_bytes = std::size_t{1} << granule_shift;

    // The arena of any address, which is not read; null for an address outside every arena.
    const page_arena* find(const void* p) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        if (ALLOT_UNLIKELY(at >> 48 != 0)) return nullptr;
        const leaf* const l = root_[at >> leaf_shift].load(std::memory_order_acquire);
        if (l == nullptr) return nullptr;
        const page_arena* const found = (*l)[at >> granule_shift & leaf_mask].load(std::memory_order_acquire);
        if (ALLOT_UNLIKELY(found == shared())) return find_shared(p);
        return found != nullptr && found->contains(p) ? found : nullptr;
    }

    // False: no memory for the table, and nothing has changed.
    ALLOT_OUTLINE_WARM bool enter(page_arena& arena) noexcept {
        const detail::lock_guard hold(lock_);
        bool ok = true;
        for_granules(arena, [&](std::uintptr_t at) { ok = ok && leaf_for(at) != nullptr; });
        if (!ok) return false;
        const bool alone = has_granules_alone(arena);
        if (!alone && !join(arena)) return false;
        for_granules(arena, [&](std::uintptr_t at) {
            entry_for(at).store(alone ? &arena : shared(), std::memory_order_release);
        });
        count(mapping_of(arena), 1);
        return true;
    }
    ALLOT_OUTLINE_WARM void leave(page_arena& arena) noexcept {
        const detail::lock_guard hold(lock_);
        count(mapping_of(arena), std::size_t{0} - 1);
        if (range* const place = range_of(&arena)) change(*place, nullptr);
        for_granules(arena, [&](std::uintptr_t at) {
            auto& entry = entry_for(at);
            if (entry.load(std::memory_order_relaxed) == &arena || !has_arena_in(at))
                entry.store(nullptr, std::memory_order_release);
        });
    }

    // Threads: any; arenas that are being constructed may be missing.
    arena_totals totals() const noexcept {
        return {arenas_.load(std::memory_order_relaxed), reserved_.load(std::memory_order_relaxed)};
    }

  private:
    static constexpr unsigned leaf_bits = 11;
    static constexpr unsigned leaf_shift = granule_shift + leaf_bits;
    static constexpr std::size_t leaf_mask = (std::size_t{1} << leaf_bits) - 1;
    using leaf = std::array<std::atomic<const page_arena*>, leaf_mask + 1>;

    static const page_arena* shared() noexcept { return reinterpret_cast<const page_arena*>(std::uintptr_t{1}); }

    template <class Call> static void for_granules(const page_arena& arena, Call call) {
        const auto begin = reinterpret_cast<std::uintptr_t>(arena.begin());
        const auto end = reinterpret_cast<std::uintptr_t>(arena.end());
        for (std::uintptr_t at = begin & ~(granule_bytes - 1); at < end; at += granule_bytes) call(at);
    }
    // 0: the range is not the arena's own.
    static std::size_t mapping_of(const page_arena& arena) noexcept { return arena.memory_.mapped_from(arena.begin()); }
    // Whether its mapping fills its granules, so that no other memory is in them.
    static bool has_granules_alone(const page_arena& arena) noexcept {
        const std::size_t mapping = mapping_of(arena);
        return mapping != 0 && reinterpret_cast<std::uintptr_t>(arena.begin()) % granule_bytes == 0 &&
               mapping % granule_bytes == 0;
    }
    leaf* leaf_for(std::uintptr_t at) noexcept {
        auto& place = root_[at >> leaf_shift];
        if (place.load(std::memory_order_relaxed) == nullptr)
            place.store(make_zeros<leaf>(), std::memory_order_release);
        return place.load(std::memory_order_relaxed);
    }
    std::atomic<const page_arena*>& entry_for(std::uintptr_t at) noexcept {
        return (*leaf_for(at))[at >> granule_shift & leaf_mask];
    }

    // The range of an arena in shared granules. Entries are reused, never freed.
    struct range {
        std::atomic<std::uintptr_t> begin{0};
        std::atomic<std::size_t> bytes{0}; // 0: the entry is free
        std::atomic<const page_arena*> arena{nullptr};
    };
    struct range_list {
        std::array<range, 62> ranges{};
        std::atomic<range_list*> next{nullptr};
    };
    // The first range for which call(range) is true, or null.
    template <class Call> range* first_range(Call call) noexcept {
        for (range_list* l = &sharers_; l != nullptr; l = l->next.load(std::memory_order_acquire))
            for (range& r : l->ranges)
                if (call(r)) return &r;
        return nullptr;
    }
    range* range_of(const page_arena* arena) noexcept {
        return first_range([&](const range& r) { return r.arena.load(std::memory_order_relaxed) == arena; });
    }
    bool has_arena_in(std::uintptr_t granule) noexcept {
        return first_range([&](const range& r) {
                   const std::uintptr_t begin = r.begin.load(std::memory_order_relaxed);
                   const std::size_t bytes = r.bytes.load(std::memory_order_relaxed);
                   return bytes != 0 && begin < granule + granule_bytes && begin + bytes > granule;
               }) != nullptr;
    }
    // Requires lock_. Adds an arena to the list of ranges; false: no memory.
    bool join(const page_arena& arena) noexcept {
        range* place = range_of(nullptr);
        if (place == nullptr) {
            auto* const more = make_zeros<range_list>();
            if (more == nullptr) return false;
            range_list* last = &sharers_;
            while (range_list* const l = last->next.load(std::memory_order_relaxed)) last = l;
            last->next.store(more, std::memory_order_release);
            place = &more->ranges[0];
        }
        change(*place, &arena);
        return true;
    }
    // Requires lock_. changes_ is odd while the range is written; the releases order the stores after the odd value.
    void change(range& r, const page_arena* arena) noexcept {
        const std::uint64_t was = changes_.load(std::memory_order_relaxed);
        changes_.store(was + 1, std::memory_order_relaxed);
        r.arena.store(arena, std::memory_order_release);
        r.begin.store(arena != nullptr ? reinterpret_cast<std::uintptr_t>(arena->begin()) : 0,
                      std::memory_order_release);
        r.bytes.store(arena != nullptr ? arena->page_count() << arena->page_shift() : 0, std::memory_order_release);
        changes_.store(was + 2, std::memory_order_release);
    }
    ALLOT_OUTLINE const page_arena* find_shared(const void* p) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        for (unsigned tries = 0;; ++tries) {
            const std::uint64_t before = changes_.load(std::memory_order_acquire);
            const range* const found = first_range([&](const range& r) {
                return at - r.begin.load(std::memory_order_acquire) < r.bytes.load(std::memory_order_acquire);
            });
            const page_arena* const arena = found != nullptr ? found->arena.load(std::memory_order_acquire) : nullptr;
            if (before % 2 == 0 && changes_.load(std::memory_order_relaxed) == before) return arena;
            if (tries < 64) pause();
            else yield();
        }
    }
    // Requires lock_. Counts `by` arenas whose mapping has `mapping` bytes; none where it has 0.
    void count(std::size_t mapping, std::size_t by) noexcept {
        if (mapping == 0) return;
        arenas_.fetch_add(by, std::memory_order_relaxed);
        reserved_.fetch_add(mapping * by, std::memory_order_relaxed);
    }
    // Memory that is never returned.
    template <class T> static T* make_zeros() noexcept {
        const std::size_t bytes = align_up(sizeof(T), sys::os_page_bytes());
        std::byte* const memory = sys::reserve(bytes, 1);
        if (memory == nullptr) return nullptr;
        if (sys::commit(memory, bytes)) return new (memory) T{};
        sys::unmap(memory, bytes);
        return nullptr;
    }

    std::array<std::atomic<leaf*>, std::size_t{1} << (48 - leaf_shift)> root_{};
    spin_lock lock_;
    std::atomic<std::uint64_t> changes_{0}; // sequence number of sharers_; odd during a change
    range_list sharers_{};
    std::atomic<std::size_t> arenas_{0}, reserved_{0}; // totals()
};

// One object for all libraries of the process, where the linker shares symbols of default visibility.
inline constinit arena_table arenas ALLOT_SHARED;

/// The arena of an address, which may be any and is not read.
/// Returns: null for an address outside every arena.
/// Complexity: see the head of this file.
/// Threads: any.
inline const page_arena* arena_at(const void* address) noexcept { return detail::arenas.find(address); }

} // namespace detail
} // namespace allot::inline ALLOT_ABI
