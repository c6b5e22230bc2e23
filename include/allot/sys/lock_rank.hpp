// The order of locks. A thread waits for a lock only while every lock that it holds has a lower rank, so no two threads
// wait for each other; and it calls a user's code only while it holds none.
//
// Checked builds count what each thread holds, and abort where the order is broken. Source: lock ranks, Dijkstra 1968.
// Cost: checked builds: 28 bytes per thread, 8 per mutex, a dozen instructions per lock; no code and no bytes otherwise.
// Threads: any.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#if ALLOT_CHECKED
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#endif

namespace allot::inline ALLOT_ABI {
namespace detail {

enum class lock_rank : std::uint8_t {
    operands,      // of a graph
    executor,      // its tasks, or those of a cache between them
    waits,         // an object's caches are shut or opened
    thread_caches, // emptying the caches of all threads
    threads,       // the threads of a manager
    device_growth, // a device allocator takes memory
    device_state,
    peak, // copies the row types at a peak
    buckets,
    heap_group,
    heap_walk, // a forced reclaim of a heap
    heap,      // the slots of a heap, or the runs of a chunk arena
    block,     // the views of a buffer's block
    tasks,     // of an arbiter, while they are reported
    tree_shape,
    tree,    // the accounts of a tree
    arbiter, // tasks and threads that share memory
    pages_in_transit,
    arena,
    device_mapping,
    store, // the entries of a store
    leaf,  // holds no other lock
};

#if ALLOT_CHECKED

// The locks that a thread holds, by rank.
class held_locks {
  public:
    static held_locks& of_this_thread() noexcept {
        static thread_local held_locks mine;
        return mine;
    }
    // The highest rank from `least` on; less: none.
    int highest(int least) const noexcept {
        int rank = static_cast<int>(count_.size()) - 1;
        while (rank >= least && count_[static_cast<std::size_t>(rank)] == 0) --rank;
        return rank;
    }
    bool none() const noexcept { return all_ == 0; }
    void add(lock_rank rank) noexcept { ++count_[static_cast<std::size_t>(rank)], ++all_; }
    void remove(lock_rank rank) noexcept { --count_[static_cast<std::size_t>(rank)], --all_; }

    [[noreturn]] ALLOT_COLD static void broken(const char* does, int held) noexcept {
        std::fprintf(stderr, "allot: lock order: a thread %s while it holds the lock of %s\n", does, name_of(held));
        std::abort();
    }
    static const char* name_of(int rank) noexcept {
        static constexpr const char* names[] = {"a graph of operands",
                                                "an executor",
                                                "waits",
                                                "the thread caches",
                                                "the threads",
                                                "a device's growth",
                                                "a device's state",
                                                "a peak",
                                                "the buckets",
                                                "a heap group",
                                                "a heap's walk",
                                                "a heap",
                                                "a buffer's block",
                                                "an arbiter's tasks",
                                                "a tree's shape",
                                                "a tree of accounts",
                                                "an arbiter",
                                                "pages in transit",
                                                "an arena",
                                                "a device mapping",
                                                "a store",
                                                "an inner object"};
        static_assert(sizeof names / sizeof *names == static_cast<std::size_t>(lock_rank::leaf) + 1);
        return names[rank];
    }

  private:
    std::array<std::uint8_t, static_cast<std::size_t>(lock_rank::leaf) + 1> count_{};
    std::uint32_t all_ = 0;
};

// A member of each lock.
class lock_order {
  public:
    constexpr explicit lock_order(lock_rank rank) noexcept : rank_(rank) {}
    // Before the thread waits for the lock.
    void waits() const noexcept {
        const int rank = static_cast<int>(rank_);
        if (const int held = held_locks::of_this_thread().highest(rank); held >= rank) {
            char does[64];
            std::snprintf(does, sizeof does, "waits for the lock of %s", held_locks::name_of(rank));
            held_locks::broken(does, held);
        }
    }
    void locked() const noexcept { held_locks::of_this_thread().add(rank_); }
    void unlocked() const noexcept { held_locks::of_this_thread().remove(rank_); }

  private:
    lock_rank rank_;
};

// Before a call of a user's code, and in calls that a visitor must not make. `does`: "calls a listener".
inline void check_no_lock_is_held(const char* does) noexcept {
    const held_locks& mine = held_locks::of_this_thread();
    if (ALLOT_UNLIKELY(!mine.none())) held_locks::broken(does, mine.highest(0));
}

#else

class lock_order {
  public:
    constexpr explicit lock_order(lock_rank) noexcept {}
    constexpr void waits() const noexcept {}
    constexpr void locked() const noexcept {}
    constexpr void unlocked() const noexcept {}
};
constexpr void check_no_lock_is_held(const char*) noexcept {}

#endif

} // namespace detail
} // namespace allot::inline ALLOT_ABI
