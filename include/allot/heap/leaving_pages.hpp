// Pages that left their heap under its lock, and return to the arena without it: that may call listeners.
//
// Invariant: the pages are in no list of the heap; from the first one on they are in transit (pages_in_transit.hpp).
// Cost: 64 bytes on the stack; one call for all. Threads: one.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/header_location.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/page/pages_in_transit.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Page> class leaving_pages {
  public:
    explicit leaving_pages(page_provider& provider) noexcept : provider_(provider), move_(provider.in_transit()) {}

    // Requires the heap's lock, and that the page is in no list.
    void add(Page& p) noexcept {
        if (count_ == 0) move_.begin();
        count_ += p.pages();
        pages_.add(p);
    }
    // Requires that no lock is held. Returns the number of pages of the arena.
    std::size_t give() noexcept {
        if (count_ == 0) return 0;
        page_arena& arena = provider_.arena();
        while (Page* const p = pages_.first()) {
            pages_.remove(*p);
            std::byte* const memory = p->base();
            p->ops = nullptr; // a stale row is not released the fast way
            p->tag = 0;       // where it is not read from the page map
            const std::size_t n = p->pages(), bytes = n * provider_.page_bytes();
            for (std::size_t at = 0; at != bytes; at += provider_.page_bytes())
                arena.set_owner(memory + at, nullptr); // before the arena has it: the next owner sets its own
            if constexpr (Page::location_type::out_of_band) {
                const std::size_t header = p->location.bytes;
                free_header(p);
                provider_.books().end(header);
            }
            arena.give(memory, n);
        }
        provider_.given(count_, move_); // ends the move
        return count_;
    }

  private:
    page_provider& provider_;
    detail::pages_in_transit::move move_;
    intrusive_list<Page, &Page::in_all> pages_;
    std::size_t count_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
