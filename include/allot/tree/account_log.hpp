// A log: the first and the last events of an account, a buffer or a reservation, with stack traces.
//
//     allot::account_log log{16};    account.set_log(&log);        every 16th event; 1: all; the first one always
//
// Invariant: it keeps at most one first and six last events; a visited event is whole.
// Cost: 1.3 KiB per log, no other memory; a kept event costs a walk up the stack (some microseconds), any other one
// atomic addition. Threads: any.
// Source: Drill's HistoricalLog, 2014, which is on for all allocators of a process or for none.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/stack.hpp>
#include <allot/sys/thread.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// One recorded event.
struct account_event {
    const char* what = ""; // "charge", "refund", ...
    std::size_t bytes = 0;
    std::size_t used = 0;     // by the account, after a charge or before a refund
    std::uint64_t number = 0; // among all events of the log, from 0
    std::uint64_t ns = 0;     // nanoseconds of sys::fine_clock
    std::uintptr_t thread = 0;
    unsigned frames = 0;
    std::array<void*, 16> stack{};
};

/// A log for account::set_log or buffer::set_log.
class account_log {
  public:
    static constexpr std::size_t last_events = 6;

    /// Keeps every n-th event; 0 counts as 1.
    explicit account_log(std::uint32_t every = 1) noexcept : every_(every != 0 ? every : 1) {}
    account_log(const account_log&) = delete;
    account_log& operator=(const account_log&) = delete;

    /// Events so far, those that were not kept included.
    std::uint64_t events() const noexcept { return events_.load(std::memory_order_relaxed); }

    /// Records an event. Requires: `what` outlives the log.
    ALLOT_OUTLINE void record(const char* what, std::size_t bytes, std::size_t used) noexcept {
        const std::uint64_t number = events_.fetch_add(1, std::memory_order_relaxed);
        if (number % every_ != 0) return;
        account_event e{what, bytes, used, number, sys::fine_clock::now(), detail::sys::thread_token(), 0, {}};
        e.frames = detail::sys::stack(e.stack.data(), static_cast<unsigned>(e.stack.size()), 1);
        const detail::lock_guard hold(lock_);
        if (number == 0) first_ = e;
        else last_[kept_++ % last_events] = e;
    }
    /// Calls visit(account_event) for a copy of each kept event, oldest first. Skips those overwritten meanwhile.
    template <class Visit> void visit(Visit visit) const {
        std::uint64_t kept = 0;
        account_event e;
        {
            const detail::lock_guard hold(lock_);
            kept = kept_;
            e = first_;
        }
        if (e.frames == 0 && *e.what == 0) return;
        visit(static_cast<const account_event&>(e));
        for (std::uint64_t i = kept > last_events ? kept - last_events : 0; i != kept; ++i) {
            {
                const detail::lock_guard hold(lock_);
                if (kept_ > i + last_events) continue; // overwritten meanwhile
                e = last_[i % last_events];
            }
            visit(static_cast<const account_event&>(e));
        }
    }

  private:
    const std::uint32_t every_;
    std::atomic<std::uint64_t> events_{0};
    mutable detail::spin_lock lock_;
    std::uint64_t kept_ = 0; // without the first
    account_event first_;
    std::array<account_event, last_events> last_;
};

/// Writes "#0 charge of 4 KiB, 8 KiB used, thread 0x7f..", then one line per frame.
ALLOT_OUTLINE_WARM void write(text_writer& out, const account_event& e, const char* indent = "      ",
                              unsigned max_frames = 16) noexcept {
    out.put(indent)
        .put('#')
        .number(e.number)
        .put(' ')
        .put(e.what)
        .put(" of ")
        .bytes(e.bytes)
        .put(", ")
        .bytes(e.used)
        .put(" used, thread ");
    out.hex(e.thread).newline();
    for (unsigned i = 0; i != e.frames && i != max_frames; ++i) {
        out.put(indent).put("  ");
        detail::sys::write_address(out, e.stack[i]);
        out.newline();
    }
}

} // namespace allot::inline ALLOT_ABI
