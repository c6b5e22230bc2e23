// Sections of threads that fork() waits for, so that a child finds every shared structure whole. With ALLOT_FORK only.
//
//   a thread:  enter_section()  |  takes a lock or another exclusive right, works, returns it  |  leave_section()
//   fork():    closes the gate, waits until no other thread is in a section, copies the process, opens the gate
//
// Sections nest. Only a thread that is in none waits at the gate, and then it has no right that another one waits for:
// so every section ends. One that lasts longer than 10 seconds (a user's code that it calls may sleep) is not waited
// for.
// Invariant: where fork() has waited, no thread but the caller's was in a section when the process was copied.
// Cost: without ALLOT_FORK no code and no bytes. With it some 6 instructions per outermost section, 40 bytes and a list
// entry per thread, a key of POSIX threads; fork() takes a membarrier(2) and as long as the longest section. Threads:
// any.
// Source: pthread_atfork, POSIX 1995; a gate with a fence on the rare side, as sync/owner_entry.hpp.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/process_fence.hpp>
#include <allot/sys/thread.hpp>
#include <allot/sys/thread_end.hpp>

#include <atomic>
#include <cstdint>
#include <new>
#include <pthread.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

#if ALLOT_FORK
namespace detail {

// Of a thread. Constant-initialized and without a destructor: it works while the thread ends, too.
struct fork_place {
    std::atomic<std::uint32_t> depth{0};
    std::uint32_t known = 2; // 0: entering takes one look at the gate; else enter_slow()
    bool listed = false, ended = false;
    bool counted = false; // in a section that is counted in the gate's `unlisted`
    fork_place *next = nullptr, *before = nullptr;
};
inline constinit thread_local fork_place fork_here{};

class fork_gate {
  public:
    ALLOT_ALWAYS_INLINE void enter() noexcept {
        fork_place& here = fork_here;
        const std::uint32_t depth = here.depth.load(std::memory_order_relaxed);
        if (depth != 0) return here.depth.store(depth + 1, std::memory_order_relaxed);
        here.depth.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (ALLOT_UNLIKELY(closed_.load(std::memory_order_acquire) != here.known)) enter_slow(here);
    }
    ALLOT_ALWAYS_INLINE void leave() noexcept {
        fork_place& here = fork_here;
        const std::uint32_t depth = here.depth.load(std::memory_order_relaxed) - 1;
        here.depth.store(depth, std::memory_order_release);
        if (ALLOT_UNLIKELY(here.counted) && depth == 0) uncount(here);
    }
    // Leaves all sections of this thread. Returns how many, for enter_again().
    std::uint32_t leave_all() noexcept {
        fork_place& here = fork_here;
        const std::uint32_t depth = here.depth.exchange(0, std::memory_order_seq_cst);
        if (here.counted) uncount(here);
        return depth;
    }
    void enter_again(std::uint32_t depth) noexcept {
        if (depth == 0) return;
        enter();
        fork_here.depth.store(depth, std::memory_order_relaxed);
    }

  private:
    static constexpr std::uint64_t ms = 1'000'000, longest_try = 100 * ms, longest_wait = 10'000 * ms;

    ALLOT_COLD void enter_slow(fork_place& here) noexcept {
        here.depth.store(0, std::memory_order_release);
        if (!here.listed && !here.ended) list(here);
        for (;;) {
            while (closed_.load(std::memory_order_acquire) != 0) yield_thread();
            if (!here.listed) unlisted_.fetch_add(1, std::memory_order_seq_cst);
            else here.depth.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if (closed_.load(std::memory_order_seq_cst) == 0) break;
            if (!here.listed) unlisted_.fetch_sub(1, std::memory_order_release);
            else here.depth.store(0, std::memory_order_release);
        }
        here.counted = !here.listed;
        here.depth.store(1, std::memory_order_relaxed);
    }
    // Without memory or keys it stays unlisted, and is counted.
    void list(fork_place& here) noexcept {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        ::pthread_once(&once, &fork_gate::register_handlers);
        if (!at_thread_end<&fork_gate::unlist>(&here)) return;
        ::pthread_mutex_lock(&list_);
        here.next = first_;
        if (first_ != nullptr) first_->before = &here;
        first_ = &here;
        ::pthread_mutex_unlock(&list_);
        here.listed = true;
        here.known = fences_ ? 2 : 0;
    }
    void uncount(fork_place& here) noexcept {
        here.counted = false;
        unlisted_.fetch_sub(1, std::memory_order_release);
    }
    static void unlist(void* place) noexcept;
    static void register_handlers() noexcept;

    bool is_quiet() const noexcept {
        if (unlisted_.load(std::memory_order_acquire) != 0) return false;
        for (const fork_place* p = first_; p != nullptr; p = p->next)
            if (p->depth.load(std::memory_order_acquire) != 0) return false;
        return true;
    }
    // The caller's own sections (it forks in a callback) are set aside, so that two that fork do not wait for each
    // other.
    void before_fork() noexcept {
        const std::uint32_t depth = leave_all();
        ::pthread_mutex_lock(&list_);
        depth_of_forker_ = depth;
        const std::uint64_t begin = fine_clock::now();
        for (;;) {
            closed_.store(1, std::memory_order_seq_cst);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if (!fences_) process_fence();
            const std::uint64_t now = fine_clock::now();
            bool quiet = is_quiet();
            while (!quiet && fine_clock::now() - now < longest_try) yield_thread(), quiet = is_quiet();
            if (quiet || fine_clock::now() - begin > longest_wait) return;
            closed_.store(0, std::memory_order_seq_cst); // what the section waits for may be behind the gate
            for (unsigned i = 0; i < 64; ++i) yield_thread();
        }
    }
    void in_parent() noexcept {
        const std::uint32_t depth = depth_of_forker_;
        closed_.store(0, std::memory_order_seq_cst);
        ::pthread_mutex_unlock(&list_);
        enter_again(depth);
    }
    void in_child() noexcept {
        fork_place& here = fork_here;
        here.next = here.before = nullptr;
        first_ = here.listed ? &here : nullptr; // the others' places are in stacks that new threads get
        unlisted_.store(0, std::memory_order_relaxed);
        new (&list_) pthread_mutex_t PTHREAD_MUTEX_INITIALIZER;
        closed_.store(0, std::memory_order_seq_cst);
        enter_again(depth_of_forker_);
    }

    std::atomic<std::uint32_t> closed_{0};
    std::atomic<std::uint32_t> unlisted_{0}; // threads in sections that are not in the list
    bool fences_ = false;                    // the system has no fence of all threads; constant after the first thread
    pthread_mutex_t list_ = PTHREAD_MUTEX_INITIALIZER;
    fork_place* first_ = nullptr;       // requires list_
    std::uint32_t depth_of_forker_ = 0; // requires list_
};
inline constinit fork_gate the_fork_gate{};

inline void fork_gate::unlist(void* place) noexcept {
    fork_place& here = *static_cast<fork_place*>(place);
    fork_gate& gate = the_fork_gate;
    ::pthread_mutex_lock(&gate.list_);
    (here.before != nullptr ? here.before->next : gate.first_) = here.next;
    if (here.next != nullptr) here.next->before = here.before;
    ::pthread_mutex_unlock(&gate.list_);
    here.listed = false, here.ended = true, here.known = 2;
}
inline void fork_gate::register_handlers() noexcept {
    the_fork_gate.fences_ = !prepare_process_fence();
    ::pthread_atfork([]() noexcept { the_fork_gate.before_fork(); }, []() noexcept { the_fork_gate.in_parent(); },
                     []() noexcept { the_fork_gate.in_child(); });
}

} // namespace detail

ALLOT_ALWAYS_INLINE void enter_section() noexcept { detail::the_fork_gate.enter(); }
ALLOT_ALWAYS_INLINE void leave_section() noexcept { detail::the_fork_gate.leave(); }
inline std::uint32_t leave_all_sections() noexcept { return detail::the_fork_gate.leave_all(); }
inline void enter_sections_again(std::uint32_t depth) noexcept { detail::the_fork_gate.enter_again(depth); }
#else
constexpr void enter_section() noexcept {}
constexpr void leave_section() noexcept {}
constexpr unsigned leave_all_sections() noexcept { return 0; }
constexpr void enter_sections_again(unsigned) noexcept {}
#endif

// From here to the end of its scope.
class section {
  public:
    section() noexcept { enter_section(); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
    ~section() { leave_section(); }
};

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
