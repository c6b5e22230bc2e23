// Address space and memory from the system: the only file that maps, beside memory_file.hpp.
//
// Sizes in bytes, multiples of the system's page unless said otherwise. Every call answers failure by its result and
// leaves things as they were; with ALLOT_FAULTS each can be made to fail (sys/fault.hpp).
// Cost: a system call each. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/sys/fault.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace sys {

inline std::size_t os_page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
inline std::size_t physical_memory() noexcept {
    return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * os_page_bytes();
}

// Gives address space back.
inline void unmap(void* p, std::size_t bytes) noexcept { ::munmap(p, bytes); }

// Address space without memory, aligned to a power of two; null on failure.
inline std::byte* reserve(std::size_t bytes, std::size_t align) noexcept {
    if (fault::strikes()) return nullptr;
    const std::size_t more = align > os_page_bytes() ? align : 0;
    if (bytes > SIZE_MAX - more) return nullptr;
    void* const got = ::mmap(nullptr, bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return nullptr;
    std::byte* const start = static_cast<std::byte*>(got);
    if (more == 0) return start;
    const auto at = reinterpret_cast<std::uintptr_t>(start);
    const std::size_t before = align_up(at, align) - at;
    if (before != 0) ::munmap(start, before);
    if (more != before) ::munmap(start + before + bytes, more - before);
    return start + before;
}
// Makes reserved space usable; it may be so already.
inline bool commit(void* p, std::size_t bytes) noexcept {
    return !fault::strikes() && ::mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0;
}
// Gives the memory back, not the address space; it reads as zero afterwards. Locked memory: since Linux 5.18.
inline bool decommit(void* p, std::size_t bytes, bool locked = false) noexcept {
    constexpr int dont_need_locked = 24; // MADV_DONTNEED_LOCKED, which older headers lack
    return !fault::strikes() && ::madvise(p, bytes, locked ? dont_need_locked : MADV_DONTNEED) == 0;
}
// Puts preallocated OS pages of the given size in place of reserved space; false when there are not enough of them:
// then the space is gone. It is unmapped first and never mapped over, because a mapping over it that fails leaves a
// hole for other threads' mappings, which nobody could tell from ours.
inline bool replace_by_huge(void* p, std::size_t bytes, std::size_t huge_page) noexcept {
    constexpr int fixed_if_free = 0x100000; // MAP_FIXED_NOREPLACE, Linux 4.17
    ::munmap(p, bytes);
    if (fault::strikes()) return false;
    const int size = static_cast<int>(log2_floor(huge_page)) << MAP_HUGE_SHIFT;
    void* const got = ::mmap(p, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | fixed_if_free | MAP_HUGETLB | size, -1, 0);
    if (got == p) return true;
    if (got != MAP_FAILED) ::munmap(got, bytes); // older systems take the address for a wish
    return false;
}
// Transparent huge pages for a range.
inline bool advise_huge(void* p, std::size_t bytes) noexcept {
    return !fault::strikes() && ::madvise(p, bytes, MADV_HUGEPAGE) == 0;
}
// Left out of core dumps.
inline bool dont_dump(void* p, std::size_t bytes) noexcept {
    return !fault::strikes() && ::madvise(p, bytes, MADV_DONTDUMP) == 0;
}
// Kept in memory from its first touch on; false also when the process may not lock so much.
inline bool lock(void* p, std::size_t bytes) noexcept {
    return !fault::strikes() && ::mlock2(p, bytes, MLOCK_ONFAULT) == 0;
}
// Whether the system has transparent huge pages to give.
inline bool has_transparent_huge() noexcept {
    char text[64] = {};
    const int file = ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const auto n = ::read(file, text, sizeof text - 1);
    ::close(file);
    return n > 0 && std::strstr(text, "[never]") == nullptr;
}

// How much of a range is in memory now. Walks it in steps; for reports.
inline std::size_t resident_bytes(void* p, std::size_t bytes) noexcept {
    const std::size_t page = os_page_bytes();
    unsigned char some[1024];
    std::size_t resident = 0;
    for (std::size_t at = 0; at < bytes; at += sizeof some * page) {
        const std::size_t n = bytes - at < sizeof some * page ? bytes - at : sizeof some * page;
        if (::mincore(static_cast<std::byte*>(p) + at, n, some) != 0) return resident;
        for (std::size_t i = 0; i < ceil_div(n, page); ++i) resident += (some[i] & 1) * page;
    }
    return resident;
}

} // namespace sys
} // namespace allot::inline ALLOT_ABI
