// A cache of free blocks of a chunk arena, by size class, last in first out; it belongs to the arena or to a thread.
//
// One thread at a time is inside a cache: in a shared cache by sync/shared_caches.hpp, in its own cache by
// sync/owner_entry.hpp, which lets another thread in to empty it; so an idle or ended thread keeps no blocks from
// others. Inside are some hundred instructions: no lock, no system call, no page request.
// Invariant: a block in a cache is free, out of the chunks, and `cached` in the block table; bytes_now() <= the budget,
// and so is the block kept beside the bins.
// Cost: 8 bytes per slot, about 14 KiB where all classes are used, in memory once used. Threads: as above.
// Source: magazines, Bonwick and Adams 2001.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The number of blocks of each class that a cache's bins hold: as many as fill a sixteenth of the budget, 1 to 64, of
// classes up to an eighth of it. Of larger blocks, up to the budget, the last one is kept outside the bins, where they
// would displace classes that are requested more often.
class cache_config {
  public:
    static constexpr unsigned max_classes = 124;
    static constexpr std::uint32_t max_blocks = 64;

    template <class Classes> void make(Classes, std::size_t max_bytes, std::size_t budget_bytes) noexcept {
        budget = budget_bytes;
        std::uint32_t slot = 0;
        const unsigned last = Classes::class_of(max_bytes);
        for (unsigned c = 0; c <= last; ++c) {
            bytes[c] = Classes::bytes_of(c);
            first[c] = slot;
            if (bytes[c] > budget / 8) continue;
            limit[c] = static_cast<std::uint32_t>(clamp<std::size_t>(budget / 16 / bytes[c], 1, max_blocks));
            slot += limit[c];
        }
        slots = slot;
    }
    std::size_t bytes_of_cache() const noexcept { return slots * sizeof(std::byte*); }
    bool keeps_last(unsigned c) const noexcept { return limit[c] == 0 && bytes[c] <= budget; }

    std::size_t budget = 0;
    std::size_t bytes[max_classes] = {}; // of a block; the arrays are by class
    std::uint32_t slots = 0;
    std::uint32_t first[max_classes] = {};
    std::uint32_t limit[max_classes] = {};
};

// The counts of a class; counts_by_class is empty where the set does not count.
struct class_counts {
    std::uint64_t allocations = 0;
    std::uint64_t requested = 0; // bytes requested
};
template <bool Counts> struct counts_by_class {
    void count(unsigned, std::size_t) noexcept {}
    void count_shared(unsigned, std::size_t) noexcept {}
    class_counts counted(unsigned) const noexcept { return {}; }
};
template <> struct counts_by_class<true> {
    struct pair {
        std::atomic<std::uint64_t> allocations{0},
            requested{0}; // written by the thread that is inside, read by reports
    };
    std::array<pair, cache_config::max_classes> of_class{};
    ALLOT_ALWAYS_INLINE void count(unsigned c, std::size_t bytes) noexcept {
        pair& p = of_class[c];
        p.allocations.store(p.allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        p.requested.store(p.requested.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    }
    // By any thread.
    void count_shared(unsigned c, std::size_t bytes) noexcept { add(c, {1, bytes}); }
    void add(unsigned c, const class_counts& more) noexcept {
        of_class[c].allocations.fetch_add(more.allocations, std::memory_order_relaxed);
        of_class[c].requested.fetch_add(more.requested, std::memory_order_relaxed);
    }
    class_counts counted(unsigned c) const noexcept {
        return {of_class[c].allocations.load(std::memory_order_relaxed),
                of_class[c].requested.load(std::memory_order_relaxed)};
    }
};

template <bool Counts> class block_cache : public counts_by_class<Counts> {
  public:
    block_cache() = default;
    block_cache(const block_cache&) = delete;
    block_cache& operator=(const block_cache&) = delete;
    ~block_cache() { delete[] slots_; }

    bool is_open() const noexcept { return slots_ != nullptr; }
    // False: no memory, and the cache accepts no block.
    bool open(const cache_config& plan) noexcept {
        slots_ = new (std::nothrow) std::byte*[plan.slots];
        if (slots_ == nullptr) return false;
        budget_ = plan.budget;
        for (unsigned c = 0; c != cache_config::max_classes; ++c) {
            bins_[c].limit = plan.limit[c];
            bins_[c].slots = slots_ + plan.first[c];
        }
        return true;
    }

    // ---- requires that the caller is inside ---------------------------------------------------------------

    // Null: none of the class.
    ALLOT_ALWAYS_INLINE std::byte* pop(unsigned c, std::size_t bytes) noexcept {
        bin& b = bins_[c];
        const std::uint32_t n = b.n();
        if (ALLOT_UNLIKELY(n == 0)) return kept_of_.load(std::memory_order_relaxed) == c ? take_last() : nullptr;
        b.set(n - 1);
        change(0 - bytes);
        return b.slots[n - 1];
    }
    // False: its class is full, or the budget is.
    ALLOT_ALWAYS_INLINE bool push(unsigned c, std::size_t bytes, std::byte* block) noexcept {
        bin& b = bins_[c];
        const std::uint32_t n = b.n();
        if (ALLOT_UNLIKELY(n >= b.limit || bytes_now() + bytes > budget_)) return false;
        b.slots[n] = block;
        b.set(n + 1);
        change(bytes);
        return true;
    }
    // Keeps a block that is too large for the bins. Returns the one kept before, or null.
    std::byte* keep_last(unsigned c, std::byte* block) noexcept {
        kept_of_.store(c, std::memory_order_relaxed);
        return std::exchange(kept_, block);
    }
    std::byte* take_last() noexcept {
        kept_of_.store(none, std::memory_order_relaxed);
        return std::exchange(kept_, nullptr);
    }
    // Takes up to `most` blocks out, to make room for one of this class: the older half of a full class; otherwise the
    // largest blocks, until a quarter of the budget is free. Returns their number.
    template <class Classes> std::uint32_t make_room(unsigned c, std::byte** out, std::uint32_t most) noexcept {
        const std::uint32_t n = bins_[c].n();
        if (n != 0 && n >= bins_[c].limit) return take_from(c, Classes::bytes_of(c), min(most, (n + 1) / 2), out);
        return take_largest<Classes>(out, most, budget_ / 4 * 3);
    }
    // Takes up to `most` of the largest blocks out, until `leave_bytes` are left. Returns their number.
    template <class Classes>
    std::uint32_t take_largest(std::byte** out, std::uint32_t most, std::size_t leave_bytes = 0) noexcept {
        std::uint32_t got = 0;
        for (unsigned c = cache_config::max_classes; c-- != 0 && got != most && bytes_now() > leave_bytes;) {
            const std::uint32_t n = bins_[c].n();
            if (n == 0) continue;
            const std::size_t bytes = Classes::bytes_of(c);
            const auto wanted = static_cast<std::uint32_t>(ceil_div(bytes_now() - leave_bytes, bytes));
            got += take_from(c, bytes, min(min(most - got, n), wanted), out + got);
        }
        return got;
    }

    // --- any thread ------------------------------------------------------------------------------------------
    std::size_t bytes_now() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    std::uint32_t blocks_of(unsigned c) const noexcept {
        return bins_[c].n() + (kept_of_.load(std::memory_order_relaxed) == c);
    }

  private:
    struct bin {
        std::atomic<std::uint32_t> count{0}; // read by reports
        std::uint32_t limit = 0;
        std::byte** slots = nullptr;

        std::uint32_t n() const noexcept { return count.load(std::memory_order_relaxed); }
        void set(std::uint32_t to) noexcept { count.store(to, std::memory_order_relaxed); }
    };

    ALLOT_ALWAYS_INLINE void change(std::size_t bytes) noexcept {
        bytes_.store(bytes_now() + bytes, std::memory_order_relaxed);
    }
    // Takes the oldest blocks of a class.
    std::uint32_t take_from(unsigned c, std::size_t bytes, std::uint32_t wanted, std::byte** out) noexcept {
        bin& b = bins_[c];
        const std::uint32_t n = b.n();
        std::memcpy(out, b.slots, wanted * sizeof *out);
        std::memmove(b.slots, b.slots + wanted, (n - wanted) * sizeof *out);
        b.set(n - wanted);
        change(0 - wanted * bytes);
        return wanted;
    }

    static constexpr unsigned none = cache_config::max_classes;

    std::atomic<std::size_t> bytes_{0}; // in the bins
    std::size_t budget_ = 0;
    std::atomic<unsigned> kept_of_{none}; // the class of kept_; read by reports
    std::byte* kept_ = nullptr;
    std::array<bin, cache_config::max_classes> bins_{};
    std::byte** slots_ = nullptr; // owned
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
