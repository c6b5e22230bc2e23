// A client of an arena: appears in the arena's reports, and may be asked for pages when the arena is full.
//
// Invariant: a client is reported and asked from its construction to leave() or its destruction.
// A callback may run other code (a ledger's listeners), so no lock is held during one; leave() waits for a callback
// that is running.
// Cost: 88 bytes per client; asking happens when an arena is full. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/sys/lock_rank.hpp>

#include <atomic>
#include <cstddef>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// A manager's entry in its arena's list of clients. Callbacks may come from its construction on.
class arena_client : public detail::arena_client_link {
  public:
    /// `bytes_held(self)` returns the bytes that the client holds. `return_pages(self)`, unless it is null, gives
    /// unused pages back to the arena and returns their number; `when_idle`: also once the client sits idle.
    /// Requires: both can be called on any thread; `return_pages` takes no pages; arena, name and self outlive the
    /// client.
    arena_client(arena_base& arena, const char* name, std::size_t (*bytes_held)(const void*), const void* self,
                 std::size_t (*return_pages)(const void*) noexcept = nullptr, bool when_idle = true) noexcept
        : arena_(arena), name_(name), bytes_held_(bytes_held), reclaim_(return_pages), self_(self),
          when_idle_(when_idle) {
        arena_.clients_.add(arena_.clients_lock_, *this);
    }
    arena_client(const arena_client&) = delete;
    arena_client& operator=(const arena_client&) = delete;
    ~arena_client() { leave(); }
    /// Ends reports and callbacks. Waits until no other thread runs this client's callback; a second call does nothing.
    /// Requires: the client does not end inside its own callback.
    void leave() noexcept {
        if (!std::exchange(listed_, false)) return;
        static_cast<void>(arena_.clients_.remove(arena_.clients_lock_, *this));
    }
    const char* name() const noexcept { return name_; }
    /// Bytes.
    std::size_t held() const noexcept { return bytes_held_(self_); }
    /// Returns the number of pages given back to the arena.
    std::size_t reclaim() const noexcept { return reclaim_ != nullptr ? reclaim_(self_) : 0; }
    // Reclaims, if it holds as much as at the last call.
    void reclaim_if_idle() noexcept {
        if (!when_idle_) return;
        const std::size_t now = held();
        if (held_before_.exchange(now, std::memory_order_relaxed) == now && now != 0) static_cast<void>(reclaim());
    }

  private:
    arena_base& arena_;
    const char* name_;
    std::size_t (*bytes_held_)(const void*);
    std::size_t (*reclaim_)(const void*) noexcept;
    const void* self_;
    const bool when_idle_;
    std::atomic<std::size_t> held_before_{0};
    bool listed_ = true;
};

inline std::size_t arena_base::ask_clients() noexcept {
    detail::check_no_lock_is_held("asks the clients of an arena");
    std::size_t pages = 0;
    clients_.for_each(clients_lock_,
                      [&](detail::arena_client_link& c) { pages += static_cast<const arena_client&>(c).reclaim(); });
    return pages;
}

inline void arena_base::ask_idle_clients() noexcept {
    if (!idle_->has_begun()) return;
    detail::check_no_lock_is_held("asks the clients of an arena");
    clients_.for_each(clients_lock_,
                      [](detail::arena_client_link& c) { static_cast<arena_client&>(c).reclaim_if_idle(); });
}
inline std::size_t arena_base::trim_idle() noexcept {
    if (idle_ == nullptr) return 0;
    ask_idle_clients();
    return arena_pages::trim_idle();
}
ALLOT_NOINLINE inline void arena_base::trim_others_now() noexcept {
    if (detail::steps_are_barred != 0) return;
    ask_idle_clients();
    if (owner_ != nullptr) static_cast<void>(detail::idle_arenas.return_some_of_others(*owner_, 1));
}

inline void arena_base::report(text_writer& out) const noexcept {
    const arena_stats f = stats();
    out.put("  arena ").put(name_).put(" (").put(page_kind_).put(" pages of ").bytes(page_bytes()).put("): taken ");
    out.bytes(f.taken).put(" of ").bytes(f.limit).put(", committed ").bytes(f.committed).put(", reserved ");
    out.bytes(f.reserved).put(", largest free run ").bytes(f.largest_free_run);
    out.put(f.free > f.largest_free_run ? ", fragmented" : f.free == 0 ? ", exhausted" : "").newline();
    std::size_t n = 0;
    clients_.for_each(clients_lock_, [&](detail::arena_client_link& link) {
        const auto& client = static_cast<const arena_client&>(link);
        if (n++ < 8) out.put("    held by ").put(client.name()).put(": ").bytes(client.held()).newline();
    });
    if (n > 8) out.put("    and ").number(n - 8).put(" more").newline();
}

} // namespace allot::inline ALLOT_ABI
