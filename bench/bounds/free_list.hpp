// Lower bounds of row allocators: without limit, owner, reclaim or checks.
//
//   null                 one fixed row per user: the cost of the harness itself
//   bump                 the next bytes of a touched range, which starts over at its end
//   free list            a stack of released rows per thread
//   free lists, classed  one for every 8 bytes, chosen by the size that the caller passes
//   counted              either of the last two with a link count in front of each row, as in allot's rows
//   two atomic adds      link and release only, without a test for the last link
#pragma once

#include <bounds/memory.hpp>
#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace bench {

struct bound_traits {
    static constexpr bool threads = true, hands_over = false, any_size = false, any_order = true, one_size = true,
                          constants = false;
};

struct null_bound : bound_traits {
    static constexpr bool any_size = true, constants = true;
    explicit null_bound(const job& what) : bytes(what.largest_bytes()) {}
    std::size_t bytes;

    struct user {
        explicit user(null_bound& of) : range(of.bytes), row(range.begin()) {}
        BENCH_INLINE void* allocate(std::size_t) noexcept { return row; }
        BENCH_INLINE void release(void* p, std::size_t) noexcept { escape(p); }
        BENCH_INLINE void link(void* p) noexcept { escape(p); }
        touched_range range;
        void* row;
    };
};

struct bump_bound : bound_traits {
    static constexpr bool threads = false, any_order = false;
    explicit bump_bound(const job& what) : range(what.live_rows() * ((what.bytes + 7) & ~std::size_t{7})) {}
    touched_range range;

    struct user {
        explicit user(bump_bound& of) noexcept : next(of.range.begin()), begin(next), end(of.range.end()) {}
        BENCH_INLINE void* allocate(std::size_t bytes) noexcept {
            if (next == end) next = begin;
            char* const row = next;
            next += (bytes + 7) & ~std::size_t{7};
            return row;
        }
        BENCH_INLINE void release(void* p, std::size_t) noexcept { escape(p); }
        char *next, *begin, *end;
    };
};

// A link count in front of a row.
template <bool Counted> struct row_count {
    static constexpr std::size_t header = 8;
    BENCH_INLINE static std::uint32_t* at(void* row) noexcept { return static_cast<std::uint32_t*>(row) - 1; }
    BENCH_INLINE static void start(void* row) noexcept { __atomic_store_n(at(row), 1, __ATOMIC_RELAXED); }
    BENCH_INLINE static void link(void* row) noexcept { __atomic_fetch_add(at(row), 1, __ATOMIC_RELAXED); }
    // Whether that was the last holder.
    BENCH_INLINE static bool drop(void* row) noexcept {
        if (__atomic_load_n(at(row), __ATOMIC_ACQUIRE) != 1) [[unlikely]]
            if (__atomic_fetch_sub(at(row), 1, __ATOMIC_ACQ_REL) != 1) return false;
        __atomic_store_n(at(row), 0, __ATOMIC_RELAXED);
        return true;
    }
};
template <> struct row_count<false> {
    static constexpr std::size_t header = 0;
    BENCH_INLINE static void start(void*) noexcept {}
    BENCH_INLINE static bool drop(void*) noexcept { return true; }
};

template <bool Counted> struct free_list_bound : bound_traits {
    using count = row_count<Counted>;
    explicit free_list_bound(const job& what) : stride((what.bytes + 7) / 8 * 8 + count::header) {}
    std::size_t stride;

    struct user {
        explicit user(free_list_bound& of) noexcept : stride(of.stride) {}
        BENCH_INLINE void* allocate(std::size_t) noexcept {
            char* row = first;
            if (row != nullptr) [[likely]]
                std::memcpy(&first, row, sizeof first);
            else row = carves.carve(stride) + count::header;
            count::start(row);
            return row;
        }
        BENCH_INLINE void release(void* p, std::size_t) noexcept {
            if (!count::drop(p)) return;
            std::memcpy(p, &first, sizeof first);
            first = static_cast<char*>(p);
        }
        BENCH_INLINE void link(void* p) noexcept
            requires Counted
        {
            count::link(p);
        }
        char* first = nullptr;
        std::size_t stride;
        carver carves;
    };
};

template <bool Counted> struct classed_list_bound : bound_traits {
    using count = row_count<Counted>;
    static constexpr bool any_size = true, one_size = false;
    explicit classed_list_bound(const job& what) : lists((what.largest_bytes() + 7) / 8 + 1) {}
    std::size_t lists;

    struct user {
        explicit user(classed_list_bound& of) : first(of.lists) {}
        BENCH_INLINE void* allocate(std::size_t bytes) noexcept {
            const std::size_t list = (bytes + 7) / 8;
            char* row = first[list];
            if (row != nullptr) [[likely]]
                std::memcpy(&first[list], row, sizeof(char*));
            else row = carves.carve(list * 8 + count::header) + count::header;
            count::start(row);
            return row;
        }
        BENCH_INLINE void release(void* p, std::size_t bytes) noexcept {
            if (!count::drop(p)) return;
            char*& list = first[(bytes + 7) / 8];
            std::memcpy(p, &list, sizeof list);
            list = static_cast<char*>(p);
        }
        BENCH_INLINE void link(void* p) noexcept
            requires Counted
        {
            count::link(p);
        }
        std::vector<char*> first;
        carver carves;
    };
};

struct two_adds_bound : bound_traits {
    static constexpr bool threads = false, constants = true;
    static bool fits(const job& what) noexcept { return what.of->id == work::link || what.of->id == work::constant; }
    explicit two_adds_bound(const job&) {}

    struct user {
        explicit user(two_adds_bound&) noexcept {}
        void* allocate(std::size_t bytes) noexcept { return carves.carve((bytes + 15) / 8 * 8) + 8; }
        BENCH_INLINE void link(void* row) noexcept { add(row, 1); }
        BENCH_INLINE void release(void* row, std::size_t) noexcept { add(row, ~std::uint32_t{0}); }

      private:
        BENCH_INLINE static void add(void* row, std::uint32_t n) noexcept {
            __atomic_fetch_add(static_cast<std::uint32_t*>(row) - 1, n, __ATOMIC_RELAXED);
        }
        carver carves;
    };
};

} // namespace bench
