// Address space and memory from the system. Only this header and memory_file.hpp map memory.
//
// Sizes are in bytes, multiples of the OS page unless said otherwise. Every call returns its failure and then leaves
// everything as it was, unless said otherwise; with ALLOT_FAULTS each can be made to fail (sys/fault.hpp).
// Cost: one system call each. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/sys/fault.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

inline std::size_t os_page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
inline std::size_t physical_memory() noexcept {
    return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * os_page_bytes();
}
inline unsigned processors() noexcept { return static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN)); }

// Returns address space, and the memory in it, to the system.
inline void unmap(void* p, std::size_t bytes) noexcept { ::munmap(p, bytes); }

// Has the system fill fresh address space when it is touched, and by the OS page alone: it would fill huge OS pages
// where these are always on, and all at once after mlockall(MCL_FUTURE). The lock stays. Refusals change nothing.
inline void fill_when_touched(void* p, std::size_t bytes) noexcept {
    ::madvise(p, bytes, MADV_NOHUGEPAGE);
    const bool is_locked = ::madvise(p, os_page_bytes(), MADV_DONTNEED) != 0;
    if (is_locked) ::mlock2(p, bytes, MLOCK_ONFAULT);
}
// Reserves address space without memory, aligned to `align`, a power of two. Null on failure. Any access is a fault
// before it is committed; with `front` it reads as zeros instead, and as many bytes in front of it are reserved, too.
ALLOT_OUTLINE std::byte* reserve(std::size_t bytes, std::size_t align, std::size_t front = 0) noexcept {
    if (fault::should_fail()) return nullptr;
    const std::size_t more = align > os_page_bytes() ? align : 0;
    if (bytes > SIZE_MAX - more - front) return nullptr;
    void* const mapped =
        ::mmap(nullptr, front + bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    std::byte* const start = static_cast<std::byte*>(mapped);
    fill_when_touched(start, front + bytes + more);
    if (front != 0 && ::mprotect(start, front + bytes + more, PROT_READ) != 0)
        return ::munmap(start, front + bytes + more), nullptr;
    if (more == 0) return start + front;
    const auto at = reinterpret_cast<std::uintptr_t>(start) + front;
    const std::size_t before = align_up(at, align) - at;
    if (before != 0) ::munmap(start, before);
    if (more != before) ::munmap(start + front + before + bytes, more - before);
    return start + front + before;
}
// Gives committed memory of reserve() another size; it may move, and new bytes are zeros. Null on failure.
inline std::byte* resize_mapping(void* p, std::size_t from, std::size_t to) noexcept {
    if (fault::should_fail()) return nullptr;
    void* const mapped = ::mremap(p, from, to, MREMAP_MAYMOVE);
    return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}
// Makes reserved space readable and writable; it may already be.
inline bool commit(void* p, std::size_t bytes) noexcept {
    return !fault::should_fail() && ::mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0;
}
// Returns the memory, but not the address space, to the system; it reads as zero afterwards. `locked`: for memory of
// lock(). That, and memory of a process that has called mlockall(), needs Linux 5.18.
inline bool decommit(void* p, std::size_t bytes, bool locked = false) noexcept {
    constexpr int dont_need_locked = 24; // MADV_DONTNEED_LOCKED, which older headers lack
    if (fault::should_fail()) return false;
    if (!locked && ::madvise(p, bytes, MADV_DONTNEED) == 0) return true;
    return (locked || errno == EINVAL) && ::madvise(p, bytes, dont_need_locked) == 0;
}
// Replaces reserved space by preallocated OS pages of the given size. False: there are not enough of them, and the
// space is unmapped. It is unmapped first, because a failed MAP_FIXED leaves a hole that another thread's mapping can
// take.
inline bool replace_by_huge(void* p, std::size_t bytes, std::size_t huge_page) noexcept {
    constexpr int fixed_if_free = 0x100000; // MAP_FIXED_NOREPLACE, Linux 4.17
    ::munmap(p, bytes);
    if (fault::should_fail()) return false;
    const int size = static_cast<int>(log2_floor(huge_page)) << MAP_HUGE_SHIFT;
    void* const mapped = ::mmap(p, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | fixed_if_free | MAP_HUGETLB | size, -1, 0);
    if (mapped == p) return true;
    if (mapped != MAP_FAILED) ::munmap(mapped, bytes); // older systems take the address as a hint
    return false;
}
// Asks for transparent huge pages in a range.
inline bool advise_huge(void* p, std::size_t bytes) noexcept {
    return !fault::should_fail() && ::madvise(p, bytes, MADV_HUGEPAGE) == 0;
}
// Asks for none in a range.
inline bool advise_no_huge(void* p, std::size_t bytes) noexcept {
    return !fault::should_fail() && ::madvise(p, bytes, MADV_NOHUGEPAGE) == 0;
}
// Whether the host of this virtual machine takes free memory in pieces of huge pages (free page reporting): then each
// is fetched again at its first touch, in milliseconds. False where the system does not say.
inline bool host_takes_free_memory() noexcept {
    if (fault::should_fail()) return false;
    const int file = ::open("/sys/module/page_reporting/parameters/page_reporting_order", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char order[16]; // two digits; 4294967295 before a driver registers
    const auto n = ::read(file, order, sizeof order);
    ::close(file);
    return 0 < n && n <= 3;
}
// Leaves a range out of core dumps.
inline bool dont_dump(void* p, std::size_t bytes) noexcept {
    return !fault::should_fail() && ::madvise(p, bytes, MADV_DONTDUMP) == 0;
}
// Locks each OS page in memory when it is first touched. False also when that exceeds the process's limit.
inline bool lock(void* p, std::size_t bytes) noexcept {
    return !fault::should_fail() && ::mlock2(p, bytes, MLOCK_ONFAULT) == 0;
}
// True when the system can provide transparent huge pages.
inline bool has_transparent_huge() noexcept {
    char text[64] = {};
    const int file = ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const auto n = ::read(file, text, sizeof text - 1);
    ::close(file);
    return n > 0 && std::strstr(text, "[never]") == nullptr;
}

// The resident bytes of a range, at this moment. One system call per 1024 OS pages; for reports.
ALLOT_OUTLINE std::size_t resident_bytes(void* p, std::size_t bytes) noexcept {
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

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
