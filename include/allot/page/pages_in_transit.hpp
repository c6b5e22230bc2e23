// Pages that move between an arena and a heap of rows or chunks, and requests that must not be refused because of such
// a move.
//
// A page that has left one side and has not reached the other is found on neither, and may still be charged. So a
// thread announces a move before pages leave and until others can find them; and a request that is about to be refused
// waits for the moves of other threads, and retries if one has ended since its last attempt. A thread in a move never
// waits here: it charges, takes, gives and refunds, and calls no listener. A request inside a move of its own thread
// (from a callback) does not wait. So no wait depends on another wait.
// A request empties the caches of all, then looks for empty pages heap by heap. A thread that uses one page after the
// other may be in each when the request comes to it, though it needs only one. So it also retries, twice at most, if
// free slots came into use since its last attempt. Blocks of a chunk arena need no page of their own class.
// Invariant: every move is listed from begin() to end(), every request during its life.
// Cost: 40 bytes; a load per batch of slots that is claimed; a list's step per thread that moves pages or lacks them at
// that time; nothing per block or row.
// Threads: any; the lock is held for some dozen instructions, with or without the heap's lock.
// Source: Dekker's handshake, 1965; a tree of accounts does the same for held bytes.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class pages_in_transit {
  public:
    pages_in_transit() = default;
    pages_in_transit(const pages_in_transit&) = delete;
    pages_in_transit& operator=(const pages_in_transit&) = delete;

    // A move of pages by this thread, between begin() and end().
    class move {
      public:
        explicit move(pages_in_transit& all) noexcept : all_(all) {}
        move(const move&) = delete;
        move& operator=(const move&) = delete;

        void begin() noexcept {
            sys::enter_section();
            const lock_guard hold(all_.lock_);
            number_ = all_.begun_++;
            next_ = std::exchange(all_.moves_, this);
        }
        void end() noexcept {
            const lock_guard hold(all_.lock_);
            unlink(all_.moves_, *this);
            all_.tell_others_locked(&request::others_moved_, thread_);
            sys::leave_section(); // but for the lock's
        }

      private:
        friend class pages_in_transit;
        pages_in_transit& all_;
        const std::uintptr_t thread_ = sys::thread_token();
        std::uint64_t number_ = 0;
        move* next_ = nullptr;
    };

    // Where free slots have left their pages for a cache or a caller: whether to call tell_claim().
    ALLOT_ALWAYS_INLINE bool wants_claims() const noexcept { return listed_.load(std::memory_order_relaxed) != 0; }
    ALLOT_NOINLINE void tell_claim() noexcept {
        const lock_guard hold(lock_);
        tell_others_locked(&request::others_claimed_, sys::thread_token());
    }
    // Another one wants them, or no longer does.
    void count_listener(bool more) noexcept { listed_.fetch_add(more ? 1U : ~0U, std::memory_order_seq_cst); }

    // A request for pages that may have to retry.
    class request {
      public:
        ALLOT_ALWAYS_INLINE explicit request(pages_in_transit& all) noexcept : all_(all) {
            sys::enter_section();
            const lock_guard hold(all_.lock_);
            next_ = std::exchange(all_.requests_, this);
            all_.listed_.fetch_add(1, std::memory_order_seq_cst); // before it empties caches
        }
        request(const request&) = delete;
        request& operator=(const request&) = delete;
        ~request() {
            const lock_guard hold(all_.lock_);
            unlink(all_.requests_, *this);
            all_.listed_.fetch_sub(1, std::memory_order_relaxed);
            sys::leave_section(); // but for the lock's
        }
        // Call after a failed attempt. True: retry, since another thread has ended a move, or claimed slots, since the
        // last one. False without either, and after 8 retries: others that move pages all the time cannot hold a
        // request for ever. Claims alone are worth two, since they are common where a request is refused rightly.
        ALLOT_OUTLINE_WARM bool retry() noexcept {
            if (retries_ == max_retries) return false;
            ++retries_;
            const bool waited = wait();
            const lock_guard hold(all_.lock_);
            const bool moved = std::exchange(others_moved_, false), claimed = std::exchange(others_claimed_, false);
            return waited || moved || (claimed && retries_ <= max_retries_for_claims);
        }
        // Counts retries from 0 again.
        void retry_again() noexcept { retries_ = 0; }
        // Waits for the moves that other threads are in now. True: there was one.
        ALLOT_OUTLINE_WARM bool wait() noexcept {
            bool waited = false;
            all_.lock_.lock();
            const std::uint64_t end = all_.begun_;
            while (all_.others_move(thread_, end)) {
                waited = true;
                all_.lock_.unlock();
                yield();
                all_.lock_.lock();
            }
            all_.lock_.unlock();
            return waited;
        }

      private:
        friend class pages_in_transit;
        static constexpr unsigned max_retries = 8, max_retries_for_claims = 2;

        pages_in_transit& all_;
        const std::uintptr_t thread_ = sys::thread_token();
        unsigned retries_ = 0;
        bool others_moved_ = false;   // a move of another thread has ended since the last retry()
        bool others_claimed_ = false; // another thread has claimed slots since then
        request* next_ = nullptr;
    };

  private:
    template <class T> static void unlink(T*& first, T& it) noexcept {
        T** at = &first;
        while (*at != &it) at = &(*at)->next_;
        *at = it.next_;
    }
    // Requires lock_, as the next one. Sets it in the requests of other threads.
    void tell_others_locked(bool request::* what, std::uintptr_t thread) noexcept {
        for (request* r = requests_; r != nullptr; r = r->next_)
            if (r->thread_ != thread) r->*what = true;
    }
    // Whether other threads are in moves numbered below `end`, and this thread is in none.
    bool others_move(std::uintptr_t thread, std::uint64_t end) const noexcept {
        bool others = false;
        for (const move* m = moves_; m != nullptr; m = m->next_) {
            if (m->thread_ == thread) return false;
            others = others || m->number_ < end;
        }
        return others;
    }

    basic_spin_lock<lock_rank::pages_in_transit> lock_; // the members below
    move* moves_ = nullptr;
    request* requests_ = nullptr;
    std::uint64_t begun_ = 0;              // moves, numbered from 0
    std::atomic<std::uint32_t> listed_{0}; // requests, and others that want claims; read without the lock
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
