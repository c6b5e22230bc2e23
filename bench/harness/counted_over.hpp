// A row over `Memory`, which allocates bytes and releases them with their size: the row alone, or with the link count
// that a program writes in front of it where its allocator has none.
#pragma once

#include <harness/measure.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bench {

template <bool Rows, class Memory> struct counted_over {
    static constexpr std::size_t header = Rows ? 8 : 0;

    template <class From> explicit counted_over(From&& from) : memory(std::forward<From>(from)) {}
    BENCH_INLINE void* allocate(std::size_t bytes) {
        if constexpr (!Rows) return memory.allocate(bytes);
        char* const block = static_cast<char*>(memory.allocate(bytes + header));
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(block), 1, __ATOMIC_RELAXED);
        return block + header;
    }
    BENCH_INLINE void release(void* row, std::size_t bytes) noexcept {
        if constexpr (!Rows) return memory.release(row, bytes);
        char* const block = static_cast<char*>(row) - header;
        if (__atomic_fetch_sub(reinterpret_cast<std::uint32_t*>(block), 1, __ATOMIC_ACQ_REL) == 1)
            memory.release(block, bytes + header);
    }
    BENCH_INLINE void link(void* row) noexcept
        requires Rows
    {
        __atomic_fetch_add(reinterpret_cast<std::uint32_t*>(static_cast<char*>(row) - header), 1, __ATOMIC_RELAXED);
    }
    Memory memory;
};

} // namespace bench
