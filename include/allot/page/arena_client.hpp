// A client of an arena: appears in the arena's reports, and may be asked for pages when the arena is full.
//
// Invariant: a client is reported and asked from its construction to leave() or its destruction.
// A callback may run other code (a ledger's listeners), so ask_clients() holds no lock during one: it keeps its
// position in a client_walk on its stack, which a leaving client corrects; leave() waits for a callback that is
// running.
// Cost: 64 bytes per client; asking happens when an arena is full. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/thread.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace detail {

// The position of a running ask_clients(). Requires clients_lock_.
struct client_walk {
    const std::uintptr_t thread = sys::thread_token();
    const arena_client* current = nullptr; // its callback runs, without the lock
    const arena_client* following = nullptr;
    client_walk* next = nullptr;
};

} // namespace detail

/// A manager's entry in its arena's list of clients. Callbacks may come from its construction on.
class arena_client {
  public:
    /// `bytes_held(self)` returns the bytes that the client holds. `return_pages(self)`, unless it is null, gives
    /// unused pages back to the arena and returns their number.
    /// Requires: both can be called on any thread; `bytes_held` constructs and ends no client, since the list is
    /// locked; `return_pages` takes no pages; arena, name and self outlive the client.
    arena_client(arena_base& arena, const char* name, std::size_t (*bytes_held)(const void*), const void* self,
                 std::size_t (*return_pages)(const void*) noexcept = nullptr) noexcept
        : arena_(arena), name_(name), bytes_held_(bytes_held), reclaim_(return_pages), self_(self) {
        const detail::lock_guard hold(arena_.clients_lock_);
        next_ = arena_.clients_;
        if (next_ != nullptr) next_->prev_ = this;
        arena_.clients_ = this;
    }
    arena_client(const arena_client&) = delete;
    arena_client& operator=(const arena_client&) = delete;
    ~arena_client() { leave(); }
    /// Ends reports and callbacks. Waits until no other thread runs this client's callback; a second call does nothing.
    void leave() noexcept {
        {
            const detail::lock_guard hold(arena_.clients_lock_);
            if (!std::exchange(listed_, false)) return;
            (prev_ != nullptr ? prev_->next_ : arena_.clients_) = next_;
            if (next_ != nullptr) next_->prev_ = prev_;
            for (detail::client_walk* w = arena_.walks_; w != nullptr; w = w->next)
                if (w->following == this) w->following = next_;
        }
        while (is_asked()) yield();
    }
    const char* name() const noexcept { return name_; }
    /// Bytes.
    std::size_t held() const noexcept { return bytes_held_(self_); }
    /// Returns the number of pages given back to the arena.
    std::size_t reclaim() const noexcept { return reclaim_ != nullptr ? reclaim_(self_) : 0; }
    /// Requires: the arena's list of clients is locked.
    const arena_client* next() const noexcept { return next_; }

  private:
    // Whether another thread runs this client's callback.
    bool is_asked() const noexcept {
        const detail::lock_guard hold(arena_.clients_lock_);
        for (const detail::client_walk* w = arena_.walks_; w != nullptr; w = w->next)
            if (w->current == this && w->thread != sys::thread_token()) return true;
        return false;
    }

    arena_base& arena_;
    const char* name_;
    std::size_t (*bytes_held_)(const void*);
    std::size_t (*reclaim_)(const void*) noexcept;
    const void* self_;
    arena_client* next_ = nullptr;
    arena_client* prev_ = nullptr;
    bool listed_ = true;
};

inline std::size_t arena_base::ask_clients() noexcept {
    detail::client_walk walk;
    std::size_t pages = 0;
    clients_lock_.lock();
    walk.next = walks_;
    walks_ = &walk;
    for (walk.current = clients_; walk.current != nullptr; walk.current = walk.following) {
        walk.following = walk.current->next();
        clients_lock_.unlock();
        pages += walk.current->reclaim();
        clients_lock_.lock();
    }
    detail::client_walk** at = &walks_;
    while (*at != &walk) at = &(*at)->next;
    *at = walk.next;
    clients_lock_.unlock();
    return pages;
}

inline void arena_base::report(text_writer& out) const noexcept {
    const arena_stats f = stats();
    out.put("  arena ").put(name_).put(" (").put(page_kind_).put(" pages of ").bytes(page_bytes()).put("): taken ");
    out.bytes(f.taken).put(" of ").bytes(f.limit).put(", committed ").bytes(f.committed).put(", reserved ");
    out.bytes(f.reserved).put(", largest free run ").bytes(f.largest_free_run);
    const char* const full = f.free > f.largest_free_run ? "fragmented" : f.free == 0 ? "exhausted" : nullptr;
    const bool can_reserve_more = range_is_limit_ && own_metadata_ != nullptr; // the range is not lent
    if (full != nullptr) out.put(can_reserve_more ? ", address space " : ", ").put(full);
    if (full != nullptr && can_reserve_more) out.put(": pass reserve_bytes for more");
    out.newline();
    const detail::lock_guard hold(clients_lock_);
    std::size_t n = 0;
    for (const arena_client* h = clients_; h != nullptr; h = h->next(), ++n)
        if (n < 8) out.put("    held by ").put(h->name()).put(": ").bytes(h->held()).newline();
    if (n > 8) out.put("    and ").number(n - 8).put(" more").newline();
}

} // namespace allot::inline ALLOT_ABI
