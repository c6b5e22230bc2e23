// regrow: a run of pages gets another number of pages. Huge rows and blocks of whole pages are resized by it.
//
//   in place     | run ........ | gained |          or shorter:  | run ..... | left |
//   another run  | left ....... |   | gained: room for all of it ...... |
//   slid down    | gained | run ......... | left |  where neither fits: only what it gains is counted
//
// take() finds the pages of one that grows. The owner moves its contents from old_first() to first(), and finish()
// gives back what the run has left; or undo() gives back what it has gained.
// Where committed pages are charged, a slid run is charged for all pages in front of it, and what it has left stays
// charged until it returns to the system.
// Invariant: until finish() or undo() the old pages and the new ones are taken, and those that it gains are charged.
// Cost: 40 bytes of stack; one page request or three. Threads: the run's owner.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

class regrow {
  public:
    // `may_move`: to another run. `may_slide`: its contents move within the longer run.
    regrow(std::byte* first, std::size_t pages, std::size_t wanted, bool may_move = false,
           bool may_slide = false) noexcept
        : old_first_(first), first_(wanted > pages ? nullptr : first), old_pages_(pages), pages_(wanted),
          may_move_(may_move), may_slide_(may_slide) {}

    // One attempt; false: nothing has changed. Requires: grows(). Pages: a charged_pages; `move`: as at its take().
    template <class Pages, class Move> bool take(Pages& pages, memory_request& asked, Move& move) noexcept {
        page_arena& arena = pages.arena();
        const std::size_t more = pages_ - old_pages_;
        asked.stays = !may_move_ && pages_ <= arena.page_count();
        if (pages.charged(more, asked, move,
                          [&](auto& budget) { return arena.grow_up(old_first_, old_pages_, pages_, budget, asked); }))
            return first_ = old_first_, true;
        if (!may_move_ || asked.why.outcome != charge_outcome::no_address_space) return false;
        first_ =
            pages.charged(pages_, asked, move, [&](auto& budget) { return arena.take_to_grow(pages_, budget, asked); });
        is_another_ = first_ != nullptr;
        if (is_another_ || !may_slide_) return is_another_;
        const charge_status why = asked.why; // of the larger request, which reclaimers may help
        detail::shared_level* const at = asked.refused_at;
        first_ = pages.charged(more, asked, move, [&](auto& budget) {
            return arena.slide_down(old_first_, old_pages_, pages_, budget, asked);
        });
        if (first_ == nullptr) asked.refuse(why, at);
        return first_ != nullptr;
    }
    // Whether it has its pages; the other functions require it.
    explicit operator bool() const noexcept { return first_ != nullptr; }

    std::byte* first() const noexcept { return first_; }
    std::byte* old_first() const noexcept { return old_first_; }
    std::size_t pages() const noexcept { return pages_; }
    std::size_t old_pages() const noexcept { return old_pages_; }
    bool grows() const noexcept { return pages_ > old_pages_; }
    bool is_another() const noexcept { return is_another_; }

    // Calls visit(first, pages) for the pages that finish() gives back, if there are some.
    template <class Visit> void visit_left(std::size_t page_bytes, Visit visit) const {
        if (is_another_) return visit(old_first_, old_pages_);
        const std::size_t n = grows() ? uncounted(page_bytes) : old_pages_ - pages_;
        if (n != 0) visit(first_ + pages_ * page_bytes, n);
    }
    // Pages, here and below: a charged_pages or a page_provider.
    template <class Pages> void finish(Pages& pages) const noexcept {
        const bool counted = is_another_ || !grows();
        visit_left(pages.arena().page_bytes(), [&](std::byte* first, std::size_t n) {
            counted ? pages.give(first, n) : pages.arena().give_slid(first, n);
        });
    }
    template <class Pages> void undo(Pages& pages) const noexcept {
        if (is_another_) return pages.give(first_, pages_);
        if (!grows()) return;
        const std::size_t page = pages.arena().page_bytes(), more = pages_ - old_pages_, n = uncounted(page);
        if (n != 0) pages.arena().give_slid(first_, n);
        pages.give(first_ == old_first_ ? first_ + old_pages_ * page : first_ + n * page, more);
    }

  private:
    // Pages of a slid run that are not counted: by as many it has slid beyond those that it gained.
    std::size_t uncounted(std::size_t page_bytes) const noexcept {
        const std::size_t by = static_cast<std::size_t>(old_first_ - first_) / page_bytes;
        return by == 0 ? 0 : by - (pages_ - old_pages_);
    }

    std::byte* const old_first_;
    std::byte* first_; // null: not found yet
    const std::size_t old_pages_, pages_;
    const bool may_move_, may_slide_;
    bool is_another_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
