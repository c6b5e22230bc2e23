// A memory file: memory without an address, whose parts can be mapped at any address, and more than once.
//
// For the simulated device's virtual memory. Offsets and sizes are in bytes, multiples of the OS page; calls return
// their failure, as in sys/map.hpp. Cost: one system call each. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fault.hpp>

#include <cstddef>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

class memory_file {
  public:
    memory_file() = default;
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    ~memory_file() {
        if (file_ >= 0) ::close(file_);
    }

    bool open() noexcept {
        if (file_ < 0 && !fault::should_fail()) file_ = ::memfd_create("allot", MFD_CLOEXEC);
        return file_ >= 0;
    }
    // Makes the file at least this large.
    bool grow(std::size_t bytes) noexcept {
        if (bytes <= bytes_) return true;
        if (fault::should_fail() || ::ftruncate(file_, static_cast<off_t>(bytes)) != 0) return false;
        bytes_ = bytes;
        return true;
    }
    // Returns the memory of a part to the system; it reads as zero afterwards.
    void forget(std::size_t offset, std::size_t bytes) noexcept {
        ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(bytes));
    }
    // Maps a part over reserved space, without access: protect() makes it usable.
    bool map(void* p, std::size_t bytes, std::size_t offset) noexcept {
        return !fault::should_fail() &&
               ::mmap(p, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(offset)) == p;
    }
    // Turns mapped space into reserved space.
    static bool unmap(void* p, std::size_t bytes) noexcept {
        return ::mmap(p, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == p;
    }
    static bool protect(void* p, std::size_t bytes, bool usable) noexcept {
        return !fault::should_fail() && ::mprotect(p, bytes, usable ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
    }

  private:
    int file_ = -1;
    std::size_t bytes_ = 0;
};

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
