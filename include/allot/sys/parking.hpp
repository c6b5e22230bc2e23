// A place where one thread sleeps until another signals it, or until a point in time.
//
// Cost: 4 bytes; a system call to sleep, and one to wake. Threads: one that waits, any that signal. A signal may touch the
// address of a spot that has ended: that wakes no thread, or one that looks again.
// Source: futex(2).
#pragma once

#include <allot/config.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/fault.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/sys/lock_rank.hpp>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

class parking {
  public:
    static constexpr std::uint64_t never = UINT64_MAX;

    parking() = default;
    parking(const parking&) = delete;
    parking& operator=(const parking&) = delete;

    // Sleeps until the next signal, or until fine_clock reads `end`; `never` reads no clock. Returns the kinds of
    // signals, which are used up; 0: none came.
    std::uint32_t wait_until(std::uint64_t end) noexcept {
        allot::detail::check_no_lock_is_held("sleeps");
        for (;;) {
            if (const std::uint32_t kinds = signals_.exchange(0, std::memory_order_acquire); kinds != 0) return kinds;
            if (is_past(end)) return 0;
            const auto sections = leave_all_sections(); // fork() does not wait for a thread that sleeps
            sleep(end);
            enter_sections_again(sections);
        }
    }
    static bool is_past(std::uint64_t end) noexcept { return end != never && fine_clock::now() >= end; }
    // `kind`: a bit.
    void signal(std::uint32_t kind) noexcept {
        std::atomic<std::uint32_t>* const at = &signals_;
        at->fetch_or(kind, std::memory_order_release); // the last access
        if (fault::is_directed()) return fault::wake(at);
        ::syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }

  private:
    void sleep(std::uint64_t end) noexcept {
        if (fault::is_directed()) return fault::sleep(&signals_, end);
        timespec t{};
        t.tv_sec = static_cast<std::time_t>(end / 1'000'000'000u);
        t.tv_nsec = static_cast<long>(end % 1'000'000'000u);
        ::syscall(SYS_futex, &signals_, FUTEX_WAIT_BITSET_PRIVATE, 0, end == never ? nullptr : &t, nullptr,
                  FUTEX_BITSET_MATCH_ANY);
    }

    std::atomic<std::uint32_t> signals_{0};
};

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
