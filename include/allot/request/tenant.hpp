// A tenant of a level: an object that holds memory there, and returns what it does not use. Row managers, chunk arenas
// and device allocators are tenants of the account that they charge, and of the arena whose pages they take.
//
// An object has one tenant, which each of its levels asks where it is short of memory. The caches of
// one that has some are shut for as many reasons as its levels give.
// Invariant: no call of a tenant runs once it has left the level. Cost: 56 bytes, and 56 with caches (64 in
// checked builds); calls only where memory is short.
// Threads: calls come on any thread, several at a time, with no lock of allot held; held(), unused() and stats() also
// with one.
// Source: HPCC roxiemem's callbacks, 2011, which say what can be freed, not what is unused.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace detail {
class shared_level;
} // namespace detail

/// Statistics of a tenant, or of an item of an account (tree/account_item.hpp), in bytes; 0 if unknown.
struct item_stats {
    std::size_t charged = 0;
    std::size_t committed = 0; // promised by the system
    std::size_t resident = 0;  // in memory now
};

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
    /// Bytes of these that it does not use, as far as it knows, and that return_idle() would return at once.
    virtual std::size_t unused() const noexcept { return 0; }
    /// Returns memory that it does not use to its levels: at least `bytes`, if it has as much; 0: it looks for what it
    /// does not use, so that unused() has that. It takes none. `waits`: it may wait for a device's work.
    /// Returns: bytes.
    virtual std::size_t return_idle(std::size_t bytes, bool waits) noexcept = 0;
    /// For reports, in bytes.
    virtual item_stats stats() const noexcept { return {held(), 0, 0}; }

    // Where it has caches: shuts them for one reason more, or opens them where it was the last one; `was`: whether it
    // was one before. Returns: whether they are empty. False, too, where it has none.
    virtual bool settle(bool& was, detail::attempt_ref is_reason) noexcept {
        return static_cast<void>(was), static_cast<void>(is_reason), false;
    }

  protected:
    ~tenant() = default;

  private:
    friend class detail::shared_level;
    const char* name_;
    detail::called_hook<tenant> place_;
    bool is_shut_here_ = false; // for requests that wait at the level that it is in a list of
};

namespace detail {

/// A tenant with caches. They are shut while requests wait for its memory, and where it had none when it was asked: it
/// is not asked again before its next refill of a cache.
class caching_tenant : public tenant {
  public:
    using tenant::tenant;
    ALLOT_OUTLINE_WARM bool settle(bool& was, detail::attempt_ref is_reason) noexcept final {
        const detail::lock_guard alone(lock_);
        if (const bool now = is_reason(); now != std::exchange(was, now)) {
            reasons_ += now ? 1U : ~0U;
            if (reasons_ == (now ? 1U : 0U)) are_empty_ = set_shut(now);
        }
        return are_empty_;
    }

  protected:
    ~caching_tenant() = default;

  private:
    /// While they are shut the caches stay empty. One thread at a time. Returns: whether they are empty.
    virtual bool set_shut(bool now) noexcept = 0;

    sys::mutex lock_{lock_rank::waits};
    unsigned reasons_ = 0;
    bool are_empty_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
