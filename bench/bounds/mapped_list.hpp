// The bound of a walk: lists of released rows for every 8 bytes, cut from one mapping, with or without huge OS pages.
// `Back`: when all rows are released, the mapping's memory is returned to the system, and the lists start again.
#pragma once

#include <bounds/free_list.hpp>
#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/mman.h>

namespace bench {

template <bool Huge, bool Back> struct mapped_list_bound : bound_traits {
    static constexpr bool any_size = true, threads = false, walks = true;
    static bool fits(const job& what) noexcept { return what.of->id == work::walk; }
    explicit mapped_list_bound(const job& what) : bytes(what.limit()), first((what.largest_bytes() + 7) / 8 + 1) {
        constexpr std::size_t huge_page = std::size_t{2} << 20;
        void* const got = mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) std::abort();
        const auto at = reinterpret_cast<std::uintptr_t>(got);
        begin = next = static_cast<char*>(got) + ((at + huge_page - 1) / huge_page * huge_page - at);
        if (madvise(begin, bytes, Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0) std::abort();
    }
    void give_back() {
        if constexpr (!Back) return;
        if (madvise(begin, static_cast<std::size_t>(next - begin), MADV_DONTNEED) != 0) std::abort();
        next = begin;
        first.assign(first.size(), nullptr);
    }
    std::size_t bytes;
    std::vector<char*> first;
    char *begin, *next;

    struct user {
        explicit user(mapped_list_bound& from) noexcept : of(from) {}
        BENCH_INLINE void* allocate(std::size_t bytes) noexcept {
            char*& list = of.first[(bytes + 7) / 8];
            char* const row = list != nullptr ? list : of.next;
            if (list != nullptr) [[likely]]
                std::memcpy(&list, row, sizeof list);
            else of.next += (bytes + 7) / 8 * 8;
            return row;
        }
        BENCH_INLINE void release(void* p, std::size_t bytes) noexcept {
            char*& list = of.first[(bytes + 7) / 8];
            std::memcpy(p, &list, sizeof list);
            list = static_cast<char*>(p);
        }
        mapped_list_bound& of;
    };
};

} // namespace bench
