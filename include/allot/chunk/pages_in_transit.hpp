// Pages on their way between a heap and its arena, and requests that must not be refused for that.
//
// A page that has left the one is not in the other yet, or charged still: who asks both meanwhile finds it nowhere,
// though nobody has it. So who moves pages says so before they leave, and until they are where others find them (a
// move); and a request that is about to be refused looks again, behind the moves that other threads are in, and where
// one has ended since it looked last. Who moves waits for nobody who waits here: it charges, takes, gives and refunds,
// and calls no listener meanwhile. A request inside a move of its own thread (from a callback) does not wait. So no
// wait here is for one that waits.
// Invariant: every move is in the list from begin() to end(), every request all its life. Cost: 32 bytes; a list's step
// for each thread that moves pages or is short of them just then; nothing for a block. Threads: any; the lock is for
// some dozen instructions, within the heap's or without.
// Source: Dekker's handshake; what a tree of accounts does for bytes that are held.
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
        // It found nothing. True: pages of other threads are where it may find them now, which they were not all the
        // time since the last look. Others that are quicker each time are not waited for without end.
        bool retry() noexcept {
            if (retries_++ == max_retries) return false;
            bool again = wait();
            const lock_guard hold(all_.lock_);
            return std::exchange(others_moved_, false) || again;
        }
        // For the moves that others are in now; true where there was one.
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
        bool others_moved_ = false; // another thread, since the last look
        request* next_ = nullptr;
    };

  private:
    template <class T> static void unlink(T*& first, T& it) noexcept {
        T** at = &first;
        while (*at != &it) at = &(*at)->next_;
        *at = it.next_;
    }
    // Whether others are in moves that began before `end`, and this thread in none.
    bool others_move(std::uintptr_t thread, std::uint64_t end) const noexcept {
        bool others = false;
        for (const move* m = moves_; m != nullptr; m = m->next_) {
            if (m->thread_ == thread) return false;
            others = others || m->number_ < end;
        }
        return others;
    }

    spin_lock lock_;
    move* moves_ = nullptr;
    request* requests_ = nullptr;
    std::uint64_t begun_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
