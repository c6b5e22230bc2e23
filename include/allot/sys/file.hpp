// A file without a name: what is written in it is gone when its descriptor is closed, also by a kill.
//
// Offsets and sizes are in bytes. Calls return the errno of their failure, 0 for none; with ALLOT_FAULTS each can be
// made to fail (sys/fault.hpp). Cost: one system call each. Threads: any, but for open_unnamed().
// Source: open(2), O_TMPFILE, Linux 3.11.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/fault.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

#if ALLOT_FAULTS
namespace fault {
inline std::atomic<int> file_error{EIO}; // of reads and writes that fail; 0: they move half of the bytes
// Of a read or write that is made otherwise than by a `file`: its errno; 0: it need not fail; EAGAIN: make it by a
// `file`.
inline int error_of_file_call() noexcept {
    if (!should_fail()) return 0;
    return file_error != 0 ? file_error.load() : EAGAIN;
}
} // namespace fault
#else
namespace fault {
constexpr int error_of_file_call() noexcept { return 0; }
} // namespace fault
#endif

// Memory that one call reads or writes, one after the other.
using file_part = ::iovec;

class file {
  public:
    static constexpr int most_parts = 1024; // IOV_MAX of Linux

    // The bytes that a call moved; `error` is its errno. Fewer bytes than requested are no error.
    struct moved {
        std::size_t bytes = 0;
        int error = 0;
    };

    file() = default;
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    ~file() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    bool is_open() const noexcept { return descriptor_ >= 0; }
    int descriptor() const noexcept { return descriptor_; }

    // Makes the file in a directory. Where the file system has no O_TMPFILE, it has a name until this returns.
    int open_unnamed(const char* directory) noexcept {
        if (fault::should_fail()) errno = EOPNOTSUPP;
        else descriptor_ = ::open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (descriptor_ >= 0) return 0;
        if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return open_and_unlink(directory);
        return errno;
    }
    // Opens the same file once more, past the system's cache of pages (O_DIRECT): for offsets, bytes and addresses that
    // are multiples of 4 KiB. Not every file system has that.
    int open_direct(const file& of) noexcept {
        if (fault::should_fail()) return EINVAL;
        char path[40];
        text_writer{path}.put("/proc/self/fd/").number(static_cast<std::uint64_t>(of.descriptor_));
        descriptor_ = ::open(path, O_DIRECT | O_RDWR | O_CLOEXEC);
        return descriptor_ >= 0 ? 0 : errno;
    }
    moved write(const file_part* parts, int n, std::uint64_t offset) const noexcept {
        return move(parts, n, offset, ::pwritev);
    }
    // Moves no byte at the end of the file.
    moved read(const file_part* parts, int n, std::uint64_t offset) const noexcept {
        return move(parts, n, offset, ::preadv);
    }
    // Returns the blocks of a part to the file system; it reads as zero afterwards.
    int punch(std::uint64_t offset, std::size_t bytes) const noexcept {
        if (fault::should_fail()) return EOPNOTSUPP;
        int r;
        do
            r = ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                            static_cast<off_t>(bytes));
        while (r != 0 && errno == EINTR);
        return r == 0 ? 0 : errno;
    }
    // The process's limit of a file (RLIMIT_FSIZE). To write beyond it is a signal that ends the process.
    static std::uint64_t most_bytes() noexcept {
        ::rlimit now{};
        return ::getrlimit(RLIMIT_FSIZE, &now) != 0 || now.rlim_cur == RLIM_INFINITY ? UINT64_MAX : now.rlim_cur;
    }

  private:
    template <class Call> moved move(const file_part* parts, int n, std::uint64_t offset, Call call) const noexcept {
#if ALLOT_FAULTS
        if (fault::should_fail()) {
            if (const int error = fault::file_error; error != 0) return {0, error};
            if (parts[0].iov_len < 2) return {0, EIO};
            const file_part half{parts[0].iov_base, parts[0].iov_len / 2};
            return move_all(&half, 1, offset, call);
        }
#endif
        return move_all(parts, n, offset, call);
    }
    template <class Call>
    moved move_all(const file_part* parts, int n, std::uint64_t offset, Call call) const noexcept {
        ssize_t r;
        do r = call(descriptor_, parts, n, static_cast<off_t>(offset));
        while (r < 0 && errno == EINTR);
        return r < 0 ? moved{0, errno} : moved{static_cast<std::size_t>(r), 0};
    }
    ALLOT_OUTLINE int open_and_unlink(const char* directory) noexcept {
        for (unsigned tries = 0; tries != 100; ++tries) {
            if (fault::should_fail()) return EACCES;
            char path[4096]; // PATH_MAX
            text_writer name{path};
            name.put(directory).put("/.allot-").number(static_cast<std::uint64_t>(::getpid()));
            name.put('-').number(fine_clock::now()).put('-').number(tries);
            if (name.is_truncated()) return ENAMETOOLONG;
            descriptor_ = ::open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
            if (descriptor_ >= 0) return ::unlink(path), 0;
            if (errno != EEXIST) return errno;
        }
        return EEXIST;
    }

    int descriptor_ = -1;
};

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
