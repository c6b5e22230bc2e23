// A bounded ring of events in fixed memory: the newest stay, writers never wait.
//
//   entry: turn | ticks | thread | bytes | held | name | kind       turn of event n: 2 n + 1 while written, then 2 n +
//   2
//
// A writer takes a number and the entry that it falls on, unless a slower writer of a round before still has that:
// then the event is dropped and counted. A reader takes an entry whose turn is the same before and after.
// Invariant: a reader gets whole events only, each once, in the order of their numbers.
// Cost: 64 bytes an event; writing is two locked operations, some stores and a read of the tick counter, no system
// call.
// Threads: any. Source: per-entry turns as in Vyukov's bounded queue, 2010; seqlocks with atomics, Boehm 2012.
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

enum class watch_event : std::uint8_t {
    page_taken,    // bytes charged and had
    page_given,    // bytes refunded
    refused,       // bytes that the limit forbade
    reclaimed,     // all heaps were asked: bytes that came back
    trimmed,       // bytes given back to the system
    huge,          // a row with pages of its own
    out_of_memory, // bytes that could not be had
    handle_opened,
    handle_closed,
    row, // a sample
};

constexpr std::string_view text_of(watch_event kind) noexcept {
    constexpr std::string_view texts[] = {"page taken", "page given",    "charge refused", "reclaimed",     "trimmed",
                                          "huge row",   "out of memory", "handle opened",  "handle closed", "row"};
    return texts[static_cast<std::size_t>(kind)];
}

struct traced_event {
    watch_event kind = watch_event::row;
    const char* name = ""; // of the heap or row type, or ""
    std::uint64_t bytes = 0;
    std::uint64_t held = 0;    // charged when it happened
    std::uint64_t ticks = 0;   // sys::ticks()
    std::uintptr_t thread = 0; // sys::thread_token()
};

template <std::size_t Events> class event_ring {
    static_assert(Events != 0 && (Events & (Events - 1)) == 0);

  public:
    // `name` must live as long as the ring.
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
        // Released one by one, so that who reads one of them new finds the turn new.
        e.ticks.store(sys::ticks(), std::memory_order_release);
        e.thread.store(sys::thread_token(), std::memory_order_release);
        e.bytes.store(bytes, std::memory_order_release);
        e.held.store(held, std::memory_order_release);
        e.name.store(name, std::memory_order_release);
        e.kind.store(kind, std::memory_order_release);
        e.turn.store(2 * number + 2, std::memory_order_release);
    }
    // Visits the events that are still there, the oldest first. Those that are just being overwritten are left out.
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
    // Events so far, those that were overwritten and dropped included.
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

} // namespace allot::inline ALLOT_ABI
