// Threads that wait for another one, which moves an entry; and pins that wait for memory, until another thread has
// brought the object back.
//
// Cost: O(waits) where an entry was moved. Threads: under the store's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/reclaim/cancellation.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

class store_entry;

class entry_waits {
  public:
    entry_waits() = default;

    // A pin that waits for memory, from construction to the end: `ends` is cancelled where the object is in memory.
    class of_pin {
      public:
        of_pin(entry_waits& in, sys::mutex& lock, const store_entry& of, cancellation& ends) noexcept
            : in_(in), lock_(lock), wait_{&of, &ends} {
            const lock_guard hold(lock_);
            in_.all_.add(wait_);
        }
        of_pin(const of_pin&) = delete;
        of_pin& operator=(const of_pin&) = delete;
        ~of_pin() {
            const lock_guard hold(lock_);
            in_.all_.remove(wait_);
        }

      private:
        friend entry_waits;
        struct wait {
            const store_entry* of;
            cancellation* ends = nullptr; // null: it waits for the thread that moves the entry
            sys::parking spot{};
            list_hook<wait> place{};
        };
        entry_waits& in_;
        sys::mutex& lock_;
        wait wait_;
    };
    // Gives the lock up meanwhile.
    void wait_for_mover(sys::mutex& lock, const store_entry& of) noexcept {
        wait w{&of};
        all_.add(w);
        lock.unlock();
        static_cast<void>(w.spot.wait_until(sys::parking::never));
        lock.lock();
        all_.remove(w);
    }
    void moved(const store_entry& e) noexcept {
        for (wait* w = all_.first(); w != nullptr; w = all_.after(*w))
            if (w->of == &e && w->ends == nullptr) w->spot.signal(1);
    }
    void made(const store_entry& e) noexcept {
        for (wait* w = all_.first(); w != nullptr; w = all_.after(*w))
            if (w->of == &e && w->ends != nullptr) w->ends->cancel();
    }

  private:
    using wait = of_pin::wait;
    intrusive_list<wait, &wait::place> all_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
