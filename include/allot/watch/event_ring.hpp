// A bounded ring of events in fixed memory: it keeps the newest, and writers never wait.
//
//   entry: turn | ticks | thread | bytes | held | name | kind     turn of event n: 2n + 1 while it is written, then 2n
//   + 2
//
// A writer takes a number and the entry number % Events. If a slower writer of an earlier round still writes that
// entry, the event is dropped and counted. A reader takes an entry whose turn is the same before and after.
// Invariant: a reader gets whole events only, each once, in the order of their numbers.
// Cost: 64 bytes per event; writing takes two locked operations, some stores and a read of the tick counter, no system
// call. Threads: any.
// Source: turns per entry as in Vyukov's bounded queue, 2010; seqlocks with atomics, Boehm 2012.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/thread.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {

/// Kinds of events; `bytes` of the event are what the comment says.
enum class watch_event : std::uint8_t {
    page_taken,    // charged, and the pages allocated
    page_returned, // refunded
    refused,       // refused by the limit
    reclaimed,     // collected from all heaps
    trimmed,       // returned to the system
    huge,          // of a row with its own run of pages
    out_of_memory, // of a request that failed
    handle_opened, // of a slot
    handle_closed, // of a slot
    row,           // of a sampled row
};

constexpr std::string_view text_of(watch_event kind) noexcept {
    constexpr std::string_view texts[] = {"page taken", "page given",    "charge refused", "reclaimed",     "trimmed",
                                          "huge row",   "out of memory", "handle opened",  "handle closed", "row"};
    return texts[static_cast<std::size_t>(kind)];
}

/// One event of a trace.
struct traced_event {
    watch_event kind = watch_event::row;
    const char* name = ""; // of the heap or row type, or ""
    std::uint64_t bytes = 0;
    std::uint64_t held = 0;    // bytes charged by the manager at that time
    std::uint64_t ticks = 0;   // sys::ticks()
    std::uintptr_t thread = 0; // sys::thread_token()
};

namespace detail {

template <std::size_t Events> class event_ring {
    static_assert(Events != 0 && (Events & (Events - 1)) == 0);

  public:
    // Writes an event, or drops it. Requires: `name` outlives the ring.
    void write(watch_event kind, std::uint64_t bytes, std::uint64_t held, const char* name) noexcept {
        const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
        entry& e = entries_[number % Events];
        std::uint64_t turn = e.turn.load(std::memory_order_relaxed);
        if (turn % 2 != 0 || turn > 2 * number ||
            !e.turn.compare_exchange_strong(turn, 2 * number + 1, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        // Each is a release, so a reader that sees one new value also sees the new turn.
        e.ticks.store(sys::ticks(), std::memory_order_release);
        e.thread.store(sys::thread_token(), std::memory_order_release);
        e.bytes.store(bytes, std::memory_order_release);
        e.held.store(held, std::memory_order_release);
        e.name.store(name, std::memory_order_release);
        e.kind.store(kind, std::memory_order_release);
        e.turn.store(2 * number + 2, std::memory_order_release);
    }
    // Calls visit(traced_event) for the events in the ring, oldest first. Skips those being overwritten.
    template <class Visit> void visit(Visit visit) const {
        const std::uint64_t end = next_.load(std::memory_order_relaxed);
        for (std::uint64_t number = end > Events ? end - Events : 0; number < end; ++number) {
            const entry& e = entries_[number % Events];
            if (e.turn.load(std::memory_order_acquire) != 2 * number + 2) continue;
            traced_event event;
            event.ticks = e.ticks.load(std::memory_order_acquire);
            event.thread = e.thread.load(std::memory_order_acquire);
            event.bytes = e.bytes.load(std::memory_order_acquire);
            event.held = e.held.load(std::memory_order_acquire);
            event.name = e.name.load(std::memory_order_acquire);
            event.kind = e.kind.load(std::memory_order_acquire);
            if (e.turn.load(std::memory_order_relaxed) == 2 * number + 2) visit(event);
        }
    }
    // Events so far, including overwritten and dropped ones.
    std::uint64_t count() const noexcept { return next_.load(std::memory_order_relaxed); }
    std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  private:
    struct alignas(64) entry {
        std::atomic<std::uint64_t> turn{0};
        std::atomic<std::uint64_t> ticks{0};
        std::atomic<std::uintptr_t> thread{0};
        std::atomic<std::uint64_t> bytes{0};
        std::atomic<std::uint64_t> held{0};
        std::atomic<const char*> name{""};
        std::atomic<watch_event> kind{watch_event::row};
    };
    std::array<entry, Events> entries_;
    alignas(64) std::atomic<std::uint64_t> next_{0};
    std::atomic<std::uint64_t> dropped_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
