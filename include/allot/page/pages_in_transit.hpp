// Pages that move between an arena and a heap of rows or chunks, and requests that must not be refused because of such
// a move.
//
// A page that has left one side and has not reached the other is found on neither, and may still be charged. So a
// thread announces a move before pages leave and until others can find them; and a request that is about to be refused
// waits for the moves of other threads, and retries if one has ended since its last attempt. A thread in a move never
// waits here: it charges, takes, gives and refunds, and calls no listener. A request inside a move of its own thread
// (from a callback) does not wait. So no wait depends on another wait.
// Invariant: every move is listed from begin() to end(), every request during its life.
// Cost: 32 bytes; a list's step per thread that moves pages or lacks them at that time; nothing per block or row.
// Threads: any; the lock is held for some dozen instructions, with or without the heap's lock.
// Source: Dekker's handshake, 1965; a tree of accounts does the same for held bytes.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/thread.hpp>

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
            const lock_guard hold(all_.lock_);
            number_ = all_.begun_++;
            next_ = std::exchange(all_.moves_, this);
        }
        void end() noexcept {
            const lock_guard hold(all_.lock_);
            unlink(all_.moves_, *this);
            for (request* r = all_.requests_; r != nullptr; r = r->next_)
                r->others_moved_ = r->others_moved_ || r->thread_ != thread_;
        }

      private:
        friend class pages_in_transit;
        pages_in_transit& all_;
        const std::uintptr_t thread_ = sys::thread_token();
        std::uint64_t number_ = 0;
        move* next_ = nullptr;
    };

    // A request for pages that may have to retry.
    class request {
      public:
        explicit request(pages_in_transit& all) noexcept : all_(all) {
            const lock_guard hold(all_.lock_);
            next_ = std::exchange(all_.requests_, this);
        }
        request(const request&) = delete;
        request& operator=(const request&) = delete;
        ~request() {
            const lock_guard hold(all_.lock_);
            unlink(all_.requests_, *this);
        }
        // Call after a failed attempt. True: retry, since a move of another thread has ended since the last one. False
        // without such a move, and after 8 retries: others that move pages all the time cannot hold a request for ever.
        bool retry() noexcept {
            if (retries_ == max_retries) return false;
            ++retries_;
            const bool again = wait();
            const lock_guard hold(all_.lock_);
            return std::exchange(others_moved_, false) || again;
        }
        // Counts retries from 0 again.
        void retry_again() noexcept { retries_ = 0; }
        // Waits for the moves that other threads are in now. True: there was one.
        bool wait() noexcept {
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
        static constexpr unsigned max_retries = 8;

        pages_in_transit& all_;
        const std::uintptr_t thread_ = sys::thread_token();
        unsigned retries_ = 0;
        bool others_moved_ = false; // a move of another thread has ended since the last retry()
        request* next_ = nullptr;
    };

  private:
    template <class T> static void unlink(T*& first, T& it) noexcept {
        T** at = &first;
        while (*at != &it) at = &(*at)->next_;
        *at = it.next_;
    }
    // Requires lock_. Whether other threads are in moves numbered below `end`, and this thread is in none.
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
    std::uint64_t begun_ = 0; // moves, numbered from 0
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
