// Objects of a process that return memory which was not used for a time, so that requests of one of them return the
// memory of others that sit idle: retain::idle has no thread.
//
// Requests do a step for the others in turn; an arbiter has all of its roots return what is unused. Invariant: an owner
// that has left is not called. Cost: 40 bytes, and three locks per request that looks for others; one that finds the
// lock taken looks for none. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/spin_lock.hpp>

#include <cstddef>

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
    called_hook<idle_owner> place_;
};

class idle_owners {
  public:
    constexpr idle_owners() = default;
    idle_owners(const idle_owners&) = delete;
    idle_owners& operator=(const idle_owners&) = delete;
    bool empty() const noexcept { return owners_.empty(); }

    void add(idle_owner& o) noexcept { owners_.add(lock_, o); }
    // Waits for calls of it by other threads.
    void remove(idle_owner& o) noexcept { static_cast<void>(owners_.remove(lock_, o)); }
    // Calls up to `most` others, until one returns memory; in bytes.
    std::size_t return_some_of_others(const idle_owner& own, std::size_t most) noexcept {
        if (most == 0 || !lock_.try_lock()) return 0;
        walk others(owners_, lock_);
        const auto wants = [&](const idle_owner& o) {
            return &o == &own ? walk_step::skip : most == 1 ? walk_step::call_last : walk_step::call;
        };
        for (idle_owner* o = others.next_unlocking(wants); o != nullptr; --most, o = others.next(wants)) {
            owners_.move_behind_equals(lock_, *o);
            if (const std::size_t bytes = o->return_some(); bytes != 0) return bytes;
        }
        return 0;
    }
    // Calls each that is in the list now.
    void return_some_of_all() noexcept {
        owners_.for_each(lock_, [](idle_owner& o) { static_cast<void>(o.return_some()); });
    }

  private:
    using owners = called_list<idle_owner, &idle_owner::place_>;
    using walk = owners::walk<spin_lock>;

    owners owners_;
    spin_lock lock_;
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
