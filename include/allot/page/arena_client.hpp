// Who holds an arena's pages: so that a full arena can tell, and can ask for pages that are not needed.
//
// Invariant: a holder is told of and asked from its construction until leave() or its destruction.
// Who is asked may call others (a ledger's listeners), so no lock is held meanwhile: whoever asks has a place on its
// own stack, where a holder that goes is taken out, and waited for if it is being asked just following.
// Cost: 64 bytes a holder; asking is for when an arena is full. Threads: any.
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

// Somebody asks an arena's holders; by the lock.
struct client_walk {
    const std::uintptr_t thread = sys::thread_token();
    const arena_client* current = nullptr; // being asked
    const arena_client* following = nullptr;
    client_walk* next = nullptr;
};

} // namespace detail

class arena_client {
  public:
    // `bytes_held` tells them for `self`; `return_pages`, if there is one, gives pages without use back and returns how
    // many, at the call of any thread, without taking pages itself. All must stay valid until the holder goes.
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
    // No longer asked or told of; waits until no other thread is asking it.
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
    std::size_t held() const noexcept { return bytes_held_(self_); }
    std::size_t reclaim() const noexcept { return reclaim_ != nullptr ? reclaim_(self_) : 0; }
    const arena_client* next() const noexcept { return next_; }

  private:
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
    out.put(f.free > f.largest_free_run ? ", fragmented" : f.free == 0 ? ", exhausted" : "").newline();
    const detail::lock_guard hold(clients_lock_);
    std::size_t n = 0;
    for (const arena_client* h = clients_; h != nullptr; h = h->next(), ++n)
        if (n < 8) out.put("    held by ").put(h->name()).put(": ").bytes(h->held()).newline();
    if (n > 8) out.put("    and ").number(n - 8).put(" more").newline();
}

} // namespace allot::inline ALLOT_ABI
