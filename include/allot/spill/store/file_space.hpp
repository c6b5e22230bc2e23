// The space of a home's files: which parts are in use, and which may be used again.
//
//     a file    | in use | stale | in use | fresh ...                    space is added in steps of 64 MiB, at its end
//     address   (number of the file + 1) << 45, plus the offset: one fit of all files; 2 keys per file: stale, fresh
//
// A part that is freed is stale: the file system may keep its blocks. Stale parts are used again first, best fit, of
// equals the one at the lowest offset. Where fresh space would make the blocks on disk exceed the limit of the home,
// stale parts are punched out of their files first, the largest first; then they are fresh.
// A directory has one file, and a second one where the first is as large as a file can be. Files whose last write
// failed are used after all others.
// Invariant: bytes in use and stale bytes together are at most the limit, where files can be punched.
// Cost: O(log n) under one lock; about 140 bytes per extent that room was made for; 8 KB per file. take() allocates
// nothing for these. Threads: any, but for open().
// Source: best_fit_runs; punched holes, Linux 2.6.38.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/fit/best.hpp>
#include <allot/spill/store/spill_file_stats.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/file.hpp>
#include <allot/sys/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

/// A part of a file that is in use. None: `error` says why.
struct file_place {
    std::uint32_t file = 0;
    int error = 0; // errno
    std::uint64_t offset = 0;
    std::size_t bytes = 0; // 0: none
    explicit operator bool() const noexcept { return bytes != 0; }
};

/// Of a free run: in which file it is, and whether its blocks may be on the disk.
struct file_tag {
    std::uint32_t number = 0;
    std::uint32_t key() const noexcept { return number; }
    static bool may_join(const file_tag& a, const file_tag& b) noexcept { return a.number == b.number; }
    static file_tag join(const file_tag& a, const file_tag&) noexcept { return a; }
};
class file_space {
  public:
    static constexpr std::size_t unit = 4096, step = std::size_t{64} << 20;
    static constexpr std::uint32_t most_directories = 30, per_directory = 2;
    using file_mask = std::uint64_t; // a bit for each file
    static_assert(most_directories * per_directory <= 64);

    file_space() noexcept = default;
    ~file_space() { delete[] files_; }

    /// Makes one file in each directory, whose name lives as long as this. Calls failed(directory, errno) for those
    /// where that fails. Returns: how many were made; 0 also if the host has no memory.
    /// `direct`: each file also has a descriptor of open_direct(), where its file system can.
    template <class Failed>
    std::size_t open(const char* const* directories, std::size_t n, bool direct, Failed failed) noexcept {
        std::size_t made = 0;
        wants_direct_ = direct;
        files_ = new (std::nothrow) one_file[n * per_directory];
        if (files_ == nullptr || !runs_.reserve(64)) return failed(directories[0], ENOMEM), 0;
        count_ = static_cast<std::uint32_t>(n * per_directory);
        for (std::uint32_t i = 0; i != count_; ++i) {
            one_file& f = files_[i];
            f.directory = directories[i / per_directory];
            if (!runs_.open(stale(i).number) || !runs_.open(fresh(i).number)) return failed(f.directory, ENOMEM), 0;
            if (i % per_directory != 0) continue;
            if (const int error = open(f); error != 0) failed(f.directory, error);
            else if (!grow(i, unit)) return failed(f.directory, ENOMEM), 0; // with metadata for the ranges of all files
            else ++made;
        }
        return made;
    }
    /// Reserves the metadata of that many more parts that are in use at once, until leave(). False: no host memory.
    bool enter(std::size_t parts) noexcept {
        const lock_guard hold(lock_);
        // Between two parts in use there is as a rule one stale and one fresh run.
        if (!runs_.reserve((parts_ + parts) * 3 / 2 + 64)) return false;
        return parts_ += parts, true;
    }
    void leave(std::size_t parts) noexcept {
        const lock_guard hold(lock_);
        parts_ -= parts;
    }

    /// Takes a part of a file outside of `avoid`. `limit`: of the home's account.
    file_place take(std::size_t bytes, file_mask avoid, std::size_t limit) noexcept {
        const lock_guard hold(lock_);
        const std::uint32_t first = count_ != 0 ? turn_++ % (count_ / per_directory) * per_directory : 0;
        file_place none{.error = ENOSPC};
        for (const bool after_failures : {false, true})
            for (const bool reused : {true, false})
                for (std::uint32_t k = 0; k != count_; ++k) {
                    const std::uint32_t i = (first + k) % count_;
                    if ((avoid >> i & 1) != 0 || files_[i].has_failed != after_failures) continue;
                    const auto r =
                        reused ? runs_.allocate(bytes, unit, stale(i).number) : take_fresh(i, bytes, limit, none.error);
                    if (r) return {i, 0, r.address - base(i), r.bytes};
                }
        return none;
    }
    /// The end of a part, behind `bytes`, is no more in use.
    void cut(const file_place& p, std::size_t bytes) noexcept {
        const lock_guard hold(lock_);
        if (bytes != 0) return void(runs_.shrink(base(p.file) + p.offset, bytes, stale(p.file)));
        [[maybe_unused]] const std::size_t freed = runs_.release(base(p.file) + p.offset, stale(p.file));
        ALLOT_ASSERT(freed != 0, "a part of a file that is given back was in use");
    }
    /// The part that begins there is no more in use.
    void give(std::uint32_t file, std::uint64_t offset) noexcept { cut({.file = file, .offset = offset}, 0); }

    /// Returns the stale space of a file to its file system. Returns: how many bytes.
    std::size_t punch_stale(std::uint32_t i) noexcept {
        for (std::size_t all = 0;;) {
            const lock_guard hold(lock_); // others go on between two calls
            const std::size_t n = punch(i);
            if (n == 0) return all;
            all += n;
        }
    }
    std::size_t punch_all() noexcept {
        std::size_t all = 0;
        for (std::uint32_t i = 0; i != count_; ++i) all += punch_stale(i);
        return all;
    }
    /// Notes how a write to a file ended.
    void note_write(std::uint32_t i, int error) noexcept {
        if (ALLOT_LIKELY(error == 0 && !files_[i].has_failed)) return;
        const lock_guard hold(lock_);
        files_[i].has_failed = error != 0;
        if (error == EFBIG) files_[i].is_full = true;
    }
    // Files whose last write failed are used in turn again.
    void forget_failures() noexcept {
        const lock_guard hold(lock_);
        for (std::uint32_t i = 0; i != count_; ++i) files_[i].has_failed = false;
    }
    const sys::file& file(std::uint32_t i) const noexcept { return files_[i].at; }
    const sys::file& direct(std::uint32_t i) const noexcept { return files_[i].direct; }
    const char* directory_of(std::uint32_t i) const noexcept { return files_[i].directory; }

    void fill(spill_file_stats& s) const noexcept {
        const lock_guard hold(lock_);
        s.file_bytes = runs_.live_bytes(), s.stale_bytes = stale_bytes();
        for (std::uint32_t i = 0; i != count_; ++i) s.files += files_[i].at.is_open();
    }
    bool valid() const noexcept {
        const lock_guard hold(lock_);
        return runs_.valid();
    }

  private:
    using fit = best_fit_runs<file_tag>;

    struct one_file {
        sys::file at, direct;
        const char* directory = "";
        std::uint64_t end = 0;                // of the space that the fit has
        std::uint64_t allowed = 0;            // bytes that may be written, as the process's limit was
        std::atomic<bool> has_failed = false; // the last write; changed under the lock
        bool is_full = false;                 // as large as a file can be
        bool can_punch = true;
    };
    static constexpr std::uint64_t largest_file = (std::uint64_t{1} << 44) - unit; // a range of the fit

    static file_tag stale(std::uint32_t file) noexcept { return {2 * file}; }
    static file_tag fresh(std::uint32_t file) noexcept { return {2 * file + 1}; }
    static std::uintptr_t base(std::uint32_t file) noexcept { return (std::uintptr_t{file} + 1) << 45; }

    std::size_t stale_bytes() const noexcept {
        std::size_t n = 0;
        for (std::uint32_t i = 0; i != count_; ++i) n += runs_.free_bytes(stale(i).number);
        return n;
    }
    fit::run take_fresh(std::uint32_t i, std::size_t bytes, std::size_t limit, int& error) noexcept {
        if (!is_usable(i)) return {};
        punch_for(bytes, limit);
        auto r = runs_.allocate(bytes, unit, fresh(i).number);
        if (!r && grow(i, bytes)) r = runs_.allocate(bytes, unit, fresh(i).number);
        if (r && is_allowed(files_[i], r.address - base(i) + r.bytes)) return r;
        if (r) runs_.release(r.address, fresh(i));
        files_[i].is_full = true;
        error = EFBIG;
        return {};
    }
    // Whether the process's limit of a file lets it be as large. The limit is read again for each MiB.
    static bool is_allowed(one_file& f, std::uint64_t end) noexcept {
        if (end <= f.allowed) return true;
        f.allowed = std::min(sys::file::most_bytes(), align_up(end, std::size_t{1} << 20));
        return end <= f.allowed;
    }
    int open(one_file& f) noexcept {
        const int error = f.at.open_unnamed(f.directory);
        if (error == 0 && wants_direct_) f.direct.open_direct(f.at);
        return error;
    }
    // The second file of a directory is made where the first one is full.
    bool is_usable(std::uint32_t i) noexcept {
        one_file& f = files_[i];
        if (f.at.is_open() || i % per_directory == 0) return f.at.is_open();
        if (!files_[i - 1].is_full) return false;
        return open(f) == 0;
    }
    bool grow(std::uint32_t i, std::size_t bytes) noexcept {
        one_file& f = files_[i];
        const std::size_t more = std::max(bytes, step);
        if (more > largest_file - f.end || !runs_.add(base(i) + f.end, more, i, fresh(i))) return false;
        f.end += more;
        return true;
    }
    // Punches stale runs while that many further bytes of blocks would exceed the limit.
    void punch_for(std::size_t bytes, std::size_t limit) noexcept {
        for (std::size_t now = runs_.live_bytes() + bytes; now + stale_bytes() > limit;) {
            std::uint32_t of = 0;
            std::size_t most = 0;
            for (std::uint32_t i = 0; i != count_; ++i)
                if (const std::size_t n = largest_stale(i).bytes; n > most) most = n, of = i;
            if (most == 0) return;
            punch(of);
        }
    }
    fit::run largest_stale(std::uint32_t i) const noexcept {
        return files_[i].can_punch ? runs_.largest(stale(i).number) : fit::run{};
    }
    // Punches the largest stale run. Returns its bytes; 0: there is none, or the file system cannot.
    std::size_t punch(std::uint32_t i) noexcept {
        const fit::run r = largest_stale(i);
        if (!r) return 0;
        if (files_[i].at.punch(r.address - base(i), r.bytes) != 0) return files_[i].can_punch = false, 0;
        runs_.retag(r, fresh(i));
        return r.bytes;
    }

    mutable sys::mutex lock_{lock_rank::leaf};
    one_file* files_ = nullptr;
    std::uint32_t count_ = 0, turn_ = 0;
    bool wants_direct_ = false;
    std::size_t parts_ = 0;
    fit runs_{unit};
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
