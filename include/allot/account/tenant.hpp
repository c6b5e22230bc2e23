// A tenant of a level: an object that holds memory there, and returns what it does not use. Row managers, chunk arenas
// and device allocators are tenants of the account that they charge, and of the arena whose pages they take; arenas and
// device allocators under retain::idle, of the process; root accounts, of their arbiter.
//
// An object has one tenant, which each of its levels asks where it is short of memory.
// Invariant: no call of a tenant runs once it has left the level. Cost: 56 bytes; calls only where memory is short.
// Threads: calls come on any thread, several at a time, with no lock of allot held; held() and stats() also with one.
// Source: HPCC roxiemem's callbacks, 2011, which say what can be freed, not what is unused.
#pragma once

#include <allot/account/account_item.hpp>
#include <allot/config.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {
class tenants;
} // namespace detail

/// Derive from it, and add it to an arena to hold pages there: arena.add(tenant).
/// Requires: removed before it ends; the name outlives it.
class tenant {
  public:
    explicit tenant(const char* name) noexcept : name_(name) {}
    tenant(const tenant&) = delete;
    tenant& operator=(const tenant&) = delete;

    const char* name() const noexcept { return name_; }
    /// Bytes that it holds.
    virtual std::size_t held() const noexcept = 0;
    /// Returns memory that it does not use to its levels: at least `bytes`, if it has as much. It takes none. `waits`:
    /// it may wait for a device's work.
    /// Returns: bytes.
    virtual std::size_t return_idle(std::size_t bytes, bool waits) noexcept = 0;
    /// The same for memory that rests: retain::idle asks it once in the set's time span. Never waits. Unless it is
    /// overridden: if the tenant holds as much as at the last call.
    virtual std::size_t return_resting() noexcept { return rests() ? return_idle(held(), false) : 0; }
    /// While it is shut its caches stay empty: requests wait for its memory. One thread at a time.
    virtual void set_shut(bool now) noexcept { static_cast<void>(now); }
    /// For reports, in bytes.
    virtual item_stats stats() const noexcept { return {held(), 0, 0}; }

  protected:
    ~tenant() = default;
    // Whether it holds as much as at the last call.
    bool rests() noexcept {
        const std::size_t now = held();
        return held_before_.exchange(now, std::memory_order_relaxed) == now && now != 0;
    }

  private:
    friend class detail::tenants;
    const char* name_;
    called_hook<tenant> place_;
    std::atomic<std::size_t> held_before_{0};
};

namespace detail {

// The tenants of a level that is no account.
class tenants {
  public:
    constexpr tenants() = default;
    tenants(const tenants&) = delete;
    tenants& operator=(const tenants&) = delete;

    bool empty() const noexcept { return all_.empty(); }
    void add(tenant& t) noexcept { all_.add(lock_, t); }
    // Waits for calls of it by other threads.
    void remove(tenant& t) noexcept { static_cast<void>(all_.remove(lock_, t)); }
    // Without a lock.
    template <class Call> void for_each(Call call) noexcept { all_.for_each(lock_, call); }
    // Asks up to `most` others for memory that rests, in turn, until one returns some; in bytes. 0 where another thread
    // does the same.
    std::size_t return_resting_of_others(const tenant& own, std::size_t most) noexcept {
        if (most == 0 || !lock_.try_lock()) return 0;
        list::walk<spin_lock> others(all_, lock_);
        const auto wants = [&](const tenant& t) {
            return &t == &own ? walk_step::skip : most == 1 ? walk_step::call_last : walk_step::call;
        };
        for (tenant* t = others.next_unlocking(wants); t != nullptr; --most, t = others.next(wants)) {
            all_.move_behind_equals(lock_, *t);
            if (const std::size_t bytes = t->return_resting(); bytes != 0) return bytes;
        }
        return 0;
    }

  private:
    using list = called_list<tenant, &tenant::place_>;

    list all_;
    spin_lock lock_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
