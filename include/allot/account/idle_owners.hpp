// Objects of a process that return memory which was not used for a time, so that requests of one of them return the
// memory of others that sit idle: retain::idle has no thread.
//
// Requests do a step for the others in turn; an arbiter has all of its roots return what is unused. Invariant: an owner
// that has left is not called. Cost: 32 bytes, and a lock per request that looks for others; one that finds the lock
// taken looks for none. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A user's code runs on this thread inside a call of the library: in a listener, or under a lock. Its requests do no
// steps for others, which may be the object of that call, or charged where that listener listens.
inline constinit thread_local unsigned steps_are_barred = 0;
struct bars_idle_steps {
    bars_idle_steps() noexcept { ++steps_are_barred; }
    bars_idle_steps(const bars_idle_steps&) = delete;
    bars_idle_steps& operator=(const bars_idle_steps&) = delete;
    ~bars_idle_steps() { --steps_are_barred; }
};

class idle_owner {
  public:
    // Returns some memory to the system or device, if it is due; in bytes. Any thread, without a lock.
    virtual std::size_t return_some() noexcept = 0;

  protected:
    idle_owner() = default;
    ~idle_owner() = default;
    idle_owner(const idle_owner&) = delete;
    idle_owner& operator=(const idle_owner&) = delete;

  private:
    friend class idle_owners;
    list_hook<idle_owner> place_;
    std::uint32_t calls_ = 0; // that run
    std::uint32_t round_ = 0; // the last one that called it
};

class idle_owners {
  public:
    constexpr idle_owners() = default;
    bool empty() const noexcept {
        const lock_guard hold(lock_);
        return owners_.first() == nullptr;
    }
    idle_owners(const idle_owners&) = delete;
    idle_owners& operator=(const idle_owners&) = delete;

    void add(idle_owner& o) noexcept {
        const lock_guard hold(lock_);
        o.round_ = rounds_;
        owners_.add(o);
    }
    // Waits for calls of it by other threads.
    void remove(idle_owner& o) noexcept {
        {
            const lock_guard hold(lock_);
            if (next_ == &o) next_ = owners_.after(o);
            owners_.remove(o);
        }
        while (is_called(o)) yield();
    }
    // Calls up to `most` others, until one returns memory; in bytes.
    std::size_t return_some_of_others(const idle_owner& own, std::size_t most) noexcept {
        const idle_owner* first = nullptr;
        for (std::size_t i = 0; i != most; ++i) {
            if (!lock_.try_lock()) return 0;
            idle_owner* const it = take_next(own);
            if (it != nullptr && it != first) ++it->calls_;
            lock_.unlock();
            if (it == nullptr || it == first) return 0;
            if (first == nullptr) first = it;
            const std::size_t bytes = it->return_some();
            {
                const lock_guard hold(lock_);
                --it->calls_;
            }
            if (bytes != 0) return bytes;
        }
        return 0;
    }

    // Calls each that is in the list now.
    void return_some_of_all() noexcept {
        std::uint32_t now = 0;
        {
            const lock_guard hold(lock_);
            now = ++rounds_;
        }
        while (idle_owner* const it = begin_call_before(now)) {
            static_cast<void>(it->return_some());
            const lock_guard hold(lock_);
            --it->calls_;
        }
    }

  private:
    // Null if there is no other.
    idle_owner* take_next(const idle_owner& own) noexcept {
        for (int round = 0; round != 2; ++round, next_ = owners_.first())
            for (; next_ != nullptr; next_ = owners_.after(*next_))
                if (next_ != &own) {
                    idle_owner* const it = next_;
                    next_ = owners_.after(*it);
                    return it;
                }
        return nullptr;
    }
    // One that no round since `now` has called; null: none is left.
    idle_owner* begin_call_before(std::uint32_t now) noexcept {
        const lock_guard hold(lock_);
        idle_owner* it = owners_.first();
        while (it != nullptr && static_cast<std::int32_t>(it->round_ - now) >= 0) it = owners_.after(*it);
        if (it == nullptr) return nullptr;
        it->round_ = now;
        ++it->calls_;
        return it;
    }
    bool is_called(const idle_owner& o) noexcept {
        const lock_guard hold(lock_);
        return o.calls_ != 0;
    }

    mutable spin_lock lock_;
    intrusive_list<idle_owner, &idle_owner::place_> owners_;
    idle_owner* next_ = nullptr;
    std::uint32_t rounds_ = 0;
};

// The entry of an object with trim_idle(). Empty where Idle is false.
template <class Object, bool Idle> struct idle_entry {
    explicit idle_entry(Object&) noexcept {}
};
template <class Object> struct idle_entry<Object, true> final : idle_owner {
    explicit idle_entry(Object& o) noexcept : of(o) {}
    std::size_t return_some() noexcept override { return of.trim_idle(); }
    Object& of;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
