// Lower bounds: what no allocator of rows can beat. No limit, no owner, no reclaim, no check.
//
//   null         one fixed row: the cost of the harness itself
//   bump         the next bytes of a touched range, which starts over at its end
//   free list    a stack of released rows of one size, a thread's own
//   free list, counted   the same with a link count in front of each row, handled as our rows handle it
//   free lists, classed  the same with one list for every 8 bytes, for mixed sizes
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace bench {

// A range that is touched before it is measured; never freed: its process ends.
class touched_range {
  public:
    explicit touched_range(std::size_t bytes)
        : begin_(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
        if (begin_ == nullptr) std::abort();
        std::memset(begin_, 1, bytes);
        end_ = begin_ + bytes;
    }
    char* begin() const noexcept { return begin_; }
    char* end() const noexcept { return end_; }

  private:
    char* begin_;
    char* end_;
};

struct null_bound {
    static constexpr bool threads = false, hands_over = false, any_size = true, any_order = true,
                          one_size = true;
    explicit null_bound(const job& what) : range(what.largest_bytes()) {}
    touched_range range;

    struct user {
        explicit user(null_bound& of) noexcept : row(of.range.begin()) {}
        BENCH_INLINE void* allocate(std::size_t) noexcept { return row; }
        BENCH_INLINE void release(void* p) noexcept { escape(p); }
        void* row;
    };
};

struct bump_bound {
    static constexpr bool threads = false, hands_over = false, any_size = false, any_order = false,
                          one_size = true;
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
        BENCH_INLINE void release(void* p) noexcept { escape(p); }
        char *next, *begin, *end;
    };
};

// A thread carves rows from 1 MiB at a time when its list is empty.
class carver {
  public:
    BENCH_NOINLINE char* carve(std::size_t stride) noexcept {
        if (static_cast<std::size_t>(end_ - next_) < stride) {
            const touched_range more(std::size_t{1} << 20);
            next_ = more.begin();
            end_ = more.end();
        }
        char* const row = next_;
        next_ += stride;
        return row;
    }

  private:
    char* next_ = nullptr;
    char* end_ = nullptr;
};

template <bool Counted> struct free_list_bound {
    static constexpr bool threads = true, hands_over = false, any_size = false, any_order = true,
                          one_size = true;
    static constexpr std::size_t header = Counted ? 8 : 0;
    explicit free_list_bound(const job& what) : stride((what.bytes + 7) / 8 * 8 + header) {}
    std::size_t stride;

    struct user {
        explicit user(free_list_bound& of) noexcept : stride(of.stride) {}
        BENCH_INLINE void* allocate(std::size_t) noexcept {
            char* row = first;
            if (row != nullptr) [[likely]]
                std::memcpy(&first, row, sizeof first);
            else
                row = carves.carve(stride) + header;
            if constexpr (Counted)
                __atomic_store_n(reinterpret_cast<std::uint32_t*>(row) - 1, 1, __ATOMIC_RELAXED);
            return row;
        }
        BENCH_INLINE void release(void* p) noexcept {
            if constexpr (Counted) {
                auto* const count = static_cast<std::uint32_t*>(p) - 1;
                if (__atomic_load_n(count, __ATOMIC_ACQUIRE) != 1) [[unlikely]]
                    if (__atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL) != 1) return;
                __atomic_store_n(count, 0, __ATOMIC_RELAXED);
            }
            std::memcpy(p, &first, sizeof first);
            first = static_cast<char*>(p);
        }
        char* first = nullptr;
        std::size_t stride;
        carver carves;
    };
};

// The row's class stands beside its count: | class 4 | count 4 | row ...
struct classed_list_bound {
    static constexpr bool threads = true, hands_over = false, any_size = true, any_order = true,
                          one_size = false;
    explicit classed_list_bound(const job&) {}

    struct user {
        explicit user(classed_list_bound&) noexcept {}
        BENCH_INLINE void* allocate(std::size_t bytes) noexcept {
            const auto list = static_cast<std::uint32_t>((bytes + 7) / 8);
            char* row = first[list];
            if (row != nullptr) [[likely]]
                std::memcpy(&first[list], row, sizeof(char*));
            else
                row = carves.carve(std::size_t{list} * 8 + 8) + 8;
            reinterpret_cast<std::uint32_t*>(row)[-2] = list;
            __atomic_store_n(reinterpret_cast<std::uint32_t*>(row) - 1, 1, __ATOMIC_RELAXED);
            return row;
        }
        BENCH_INLINE void release(void* p) noexcept {
            auto* const count = static_cast<std::uint32_t*>(p) - 1;
            if (__atomic_load_n(count, __ATOMIC_ACQUIRE) != 1) [[unlikely]]
                if (__atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL) != 1) return;
            __atomic_store_n(count, 0, __ATOMIC_RELAXED);
            char*& list = first[count[-1]];
            std::memcpy(p, &list, sizeof list);
            list = static_cast<char*>(p);
        }
        std::array<char*, 1024> first{};
        carver carves;
    };
};

} // namespace bench
