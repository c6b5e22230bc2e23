// Who holds an arena's pages: so that a full arena can tell, and can ask for pages that are not needed.
//
// Invariant: a holder is told of and asked from its construction until leave() or its destruction.
// Cost: 56 bytes a holder; asking is for when an arena is full. Threads: any; holders do not go while asked.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/page/arena_base.hpp>
#include <allot/sync/spin_lock.hpp>

#include <cstddef>
#include <mutex>
#include <utility>

namespace allot::inline ALLOT_ABI {

class arena_holder {
  public:
    // `bytes_held` tells them for `self`; `give_back`, if there is one, gives pages without use back and returns how
    // many, at the call of any thread, without taking pages itself. All must stay valid until the holder goes.
    arena_holder(arena_base& arena, const char* name, std::size_t (*bytes_held)(const void*), const void* self,
                 std::size_t (*give_back)(const void*) noexcept = nullptr) noexcept
        : arena_(arena), name_(name), held_(bytes_held), reclaim_(give_back), self_(self) {
        const std::lock_guard hold(arena_.holders_lock_);
        next_ = arena_.holders_;
        if (next_ != nullptr) next_->prev_ = this;
        arena_.holders_ = this;
    }
    arena_holder(const arena_holder&) = delete;
    arena_holder& operator=(const arena_holder&) = delete;
    ~arena_holder() { leave(); }
    // No longer asked or told of; waits for a call that is under way.
    void leave() noexcept {
        const std::lock_guard hold(arena_.holders_lock_);
        if (!std::exchange(listed_, false)) return;
        (prev_ != nullptr ? prev_->next_ : arena_.holders_) = next_;
        if (next_ != nullptr) next_->prev_ = prev_;
    }
    const char* name() const noexcept { return name_; }
    std::size_t held() const noexcept { return held_(self_); }
    std::size_t reclaim() const noexcept { return reclaim_ != nullptr ? reclaim_(self_) : 0; }
    const arena_holder* next() const noexcept { return next_; }

  private:
    arena_base& arena_;
    const char* name_;
    std::size_t (*held_)(const void*);
    std::size_t (*reclaim_)(const void*) noexcept;
    const void* self_;
    arena_holder* next_ = nullptr;
    arena_holder* prev_ = nullptr;
    bool listed_ = true;
};

inline std::size_t arena_base::ask_holders() noexcept {
    const std::lock_guard hold(holders_lock_);
    std::size_t pages = 0;
    for (const arena_holder* h = holders_; h != nullptr; h = h->next()) pages += h->reclaim();
    return pages;
}

inline void arena_base::report(text_writer& out) const noexcept {
    const arena_figures f = figures();
    out.put("  arena ").put(name_).put(" (").put(got_).put(" pages of ").bytes(page_bytes()).put("): taken ");
    out.bytes(f.taken).put(" of ").bytes(f.limit).put(", committed ").bytes(f.committed).put(", reserved ");
    out.bytes(f.reserved).put(", largest free run ").bytes(f.largest_free_run);
    out.put(f.free > f.largest_free_run ? ", fragmented" : f.free == 0 ? ", exhausted" : "").newline();
    const std::lock_guard hold(holders_lock_);
    std::size_t n = 0;
    for (const arena_holder* h = holders_; h != nullptr; h = h->next(), ++n)
        if (n < 8) out.put("    held by ").put(h->name()).put(": ").bytes(h->held()).newline();
    if (n > 8) out.put("    and ").number(n - 8).put(" more").newline();
}

} // namespace allot::inline ALLOT_ABI
