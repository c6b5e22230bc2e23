// What spill files count about themselves.
//
// Cost: a relaxed atomic addition per number. Threads: any; numbers that are read together may be of different moments.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/home.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

struct spill_file_stats {
    std::uint64_t bytes_written = 0; // of objects
    std::uint64_t bytes_stored = 0;  // of the same in the files
    std::uint64_t bytes_read = 0;    // from the files
    std::uint64_t write_calls = 0, read_calls = 0;
    std::uint64_t failures = 0; // of reads and writes; a write that another directory took is one, too
    std::uint64_t damaged = 0;
    std::uint64_t extents = 0;     // that are kept now
    std::uint64_t file_bytes = 0;  // that are kept now, in whole blocks of 4 KiB
    std::uint64_t stale_bytes = 0; // that were written, are kept no more, and may still be on the disk
    std::size_t files = 0;         // that are open
    bool uses_uring = false;
    home_status last_failure{};
};

namespace detail {
inline namespace ALLOT_STORE_ABI {

class spill_counters {
  public:
    void wrote(std::size_t raw, std::size_t stored) noexcept { add(raw_, raw), add(stored_, stored); }
    void has_read(std::size_t bytes) noexcept { add(read_, bytes); }
    void write_call() noexcept { add(write_calls_, 1); }
    void read_call() noexcept { add(read_calls_, 1); }
    void extents(std::size_t more, std::size_t fewer = 0) noexcept { add(extents_, more - fewer); }
    home_status failed(const home_status& s) noexcept {
        add(s.how == home_status::outcome::damaged ? damaged_ : failures_, 1);
        const lock_guard hold(lock_);
        return last_ = s;
    }
    void fill(spill_file_stats& s) const noexcept {
        const auto get = [](const number& n) { return n.load(std::memory_order_relaxed); };
        s.bytes_written = get(raw_), s.bytes_stored = get(stored_), s.bytes_read = get(read_);
        s.write_calls = get(write_calls_), s.read_calls = get(read_calls_);
        s.failures = get(failures_), s.damaged = get(damaged_);
        s.extents = get(extents_);
        const lock_guard hold(lock_);
        s.last_failure = last_;
    }

  private:
    using number = std::atomic<std::uint64_t>;
    static void add(number& to, std::uint64_t n) noexcept { to.fetch_add(n, std::memory_order_relaxed); }

    number raw_{0}, stored_{0}, read_{0}, write_calls_{0}, read_calls_{0}, failures_{0}, damaged_{0}, extents_{0};
    mutable sys::mutex lock_{lock_rank::leaf};
    home_status last_{};
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
