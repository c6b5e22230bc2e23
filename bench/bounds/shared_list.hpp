// The bound of sharing without caches: one lock-free list per size for all threads, with two locked operations per
// pair.
//
//   | next 48 | changes 16 |   the head: the number of changes makes a pop fail that has read an older list
//
// A pop may read the link of a row that was allocated meanwhile; then its exchange fails. Rows are never freed.
#pragma once

#include <bounds/free_list.hpp>
#include <bounds/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

struct shared_list_bound : bound_traits {
    static constexpr bool hands_over = true, any_size = true;
    explicit shared_list_bound(const job& what) : heads((what.largest_bytes() + 7) / 8 + 1) {}
    struct alignas(64) head {
        std::uint64_t state = 0;
    };
    std::vector<head> heads;

    struct user {
        explicit user(shared_list_bound& of) noexcept : heads(of.heads.data()) {}
        BENCH_INLINE void* allocate(std::size_t bytes) noexcept {
            const std::size_t list = (bytes + 7) / 8;
            std::uint64_t& state = heads[list].state;
            std::uint64_t was = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
            for (;;) {
                auto* const row = reinterpret_cast<std::uint64_t*>(was >> 16);
                if (row == nullptr) return carves.carve(list * 8);
                const std::uint64_t next = __atomic_load_n(row, __ATOMIC_RELAXED);
                if (__atomic_compare_exchange_n(&state, &was, next << 16 | ((was + 1) & 0xFFFF), false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) [[likely]]
                    return row;
            }
        }
        BENCH_INLINE void release(void* p, std::size_t bytes) noexcept {
            std::uint64_t& state = heads[(bytes + 7) / 8].state;
            std::uint64_t was = __atomic_load_n(&state, __ATOMIC_RELAXED);
            do __atomic_store_n(static_cast<std::uint64_t*>(p), was >> 16, __ATOMIC_RELAXED);
            while (!__atomic_compare_exchange_n(&state, &was,
                                                reinterpret_cast<std::uint64_t>(p) << 16 | ((was + 1) & 0xFFFF), false,
                                                __ATOMIC_RELEASE, __ATOMIC_RELAXED));
        }
        head* heads;
        carver carves;
    };
};

} // namespace bench
