// The blocks of a chunk arena that are whole pages of its arena: those larger than a class, or aligned to more than a
// page, up to 16 MiB.
//
// A few stay after their release, for requests of as many pages (page_block_cache.hpp); memory that is short takes them
// back. The number of a block's pages is in the block table. A block that replaces one which could not grow gets a run
// with room behind it, as huge rows do: note_growth().
// Invariant: the pages of live and kept blocks are charged. Cost: a page request, about 150 ns; 35 ns where a block was
// kept. Threads: any. A release calls no system.
// Source: huge allocations of Netty's arenas, 2013.
#pragma once

#include <allot/chunk/block_table.hpp>
#include <allot/chunk/page_block_cache.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/page/pages_in_transit.hpp>
#include <allot/page/regrow.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sys/poison.hpp>
#include <allot/watch/event_ring.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Pages: a charged_pages. HostAccess: the host may touch the pages.
template <class Pages, bool HostAccess> class page_blocks {
  public:
    page_blocks(Pages& pages, block_table& map, pages_in_transit& in_transit, std::size_t kept_pages) noexcept
        : pages_(pages), map_(map), in_transit_(in_transit), kept_(kept_pages) {}

    // One attempt at a live block at a multiple of `align`; null: no memory.
    std::byte* take(std::size_t pages, std::size_t align, memory_request& asked) noexcept {
        const std::size_t more = align > arena().page_bytes() ? (align >> shift()) - 1 : 0;
        if (pages >= block_table::inside - 1 - more) return refuse(pages, asked);
        const bool grows = more == 0 && grows_.load(std::memory_order_relaxed) == pages;
        if (std::size_t first = 0; more == 0 && !grows && kept_.take(pages, first)) {
            pages_.arena().set_used(address_of(first), pages);
            if constexpr (HostAccess) sys::expose(address_of(first), pages << shift());
            if (ALLOT_UNLIKELY(pages_.is_strained())) pages_.took(asked);
            return start(first);
        }
        pages_in_transit::move taken{in_transit_};
        std::byte* p = grows ? take_to_grow(pages, asked, taken) : pages_.take(pages + more, asked, taken);
        if (p == nullptr) return nullptr;
        taken.end(); // the pages count as a live block from here on
        if (more != 0) p = keep_aligned(p, pages, more, align);
        const std::size_t first = page_of(p);
        map_.set_words(first + 1, pages - 1, block_table::inside);
        map_.set_word(first, static_cast<std::uint32_t>(pages) + 1);
        all_pages_.fetch_add(pages, std::memory_order_relaxed);
        start(first);
        pages_.settled();
        pages_.record(watch_event::huge, pages << shift());
        return p;
    }
    std::size_t pages_of(const std::byte* p) const noexcept { return map_.word(page_of(p)) - 1; }
    // Deallocates a live block.
    void give(std::byte* p) noexcept {
        const std::size_t pages = pages_of(p);
        live_.fetch_sub(1, std::memory_order_relaxed);
        if (!kept_.keeps(pages)) return drop(p, [] {});
        map_.set(distance(p), block_table::kept);
        if constexpr (HostAccess) sys::poison(p, pages << shift());
        while (!kept_.keep(page_of(p), pages))
            if (drop_kept() == 0) return drop(p, [] {});
    }
    // Grows a live block by the pages after it, or gives its last ones back. False: nothing has changed. Requires
    // pages > 0.
    bool resize(std::byte* p, std::size_t pages) noexcept {
        if (pages >= block_table::inside - 1) return false;
        const std::size_t now = pages_of(p);
        regrow run{p, now, pages};
        if (run.grows()) {
            pages_in_transit::move taken{in_transit_};
            memory_request asked{(pages - now) << shift()};
            while (!run.take(pages_, asked, taken))
                if (drop_kept() == 0) return note_growth(pages), false;
            taken.end();
            map_.set_words(page_of(p) + now, pages - now, block_table::inside);
        } else {
            map_.set_words(page_of(p) + pages, now - pages, 0);
        }
        map_.set_word(page_of(p), static_cast<std::uint32_t>(pages) + 1);
        all_pages_.fetch_add(pages - now, std::memory_order_relaxed); // may wrap
        run.finish(pages_);
        if (run.grows()) pages_.settled();
        return true;
    }
    // Call it where a block cannot grow in place to this number of pages, and a new block replaces it. The next request
    // for that number of pages gets a run with room behind it, so that the new block can grow beside others that do.
    void note_growth(std::size_t pages) noexcept { grows_.store(pages, std::memory_order_relaxed); }
    // More pages than any address space has: the limit refuses them, if there is one, else the arena.
    ALLOT_COLD std::byte* refuse(std::size_t pages, memory_request& asked) noexcept {
        pages_in_transit::move taken{in_transit_};
        const auto none = [&](page_budget& budget) -> std::byte* {
            budget.clean = pages;
            return asked.refuse({.outcome = charge_outcome::no_address_space,
                                 .by = refuser::arena,
                                 .requested = pages << shift(),
                                 .limit = arena().page_count() << shift(),
                                 .name = arena().name()},
                                &arena().level());
        };
        return pages_.charged(pages, asked, taken, none, pages);
    }
    // Gives the pages of one kept block back to the arena. Returns their number; 0: there is none.
    std::size_t drop_kept() noexcept {
        pages_in_transit::move given{in_transit_};
        given.begin();
        std::size_t first = 0;
        if (!kept_.take_any(first)) return given.end(), 0;
        std::byte* const p = address_of(first);
        const std::size_t pages = pages_of(p);
        drop(p, [&] { given.end(); });
        return pages;
    }

    std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); } // blocks
    // Of live and kept blocks.
    std::size_t pages() const noexcept { return all_pages_.load(std::memory_order_relaxed); }
    std::size_t kept_pages() const noexcept { return kept_.pages(); }

  private:
    page_arena& arena() const noexcept { return pages_.arena(); }
    unsigned shift() const noexcept { return arena().page_shift(); }
    std::size_t distance(const std::byte* p) const noexcept { return static_cast<std::size_t>(p - arena().begin()); }
    std::size_t page_of(const std::byte* p) const noexcept { return distance(p) >> shift(); }
    std::byte* address_of(std::size_t page) const noexcept { return arena().begin() + (page << shift()); }

    ALLOT_NOINLINE std::byte* take_to_grow(std::size_t pages, memory_request& asked,
                                           pages_in_transit::move& taken) noexcept {
        note_growth(0);
        return pages_.charged(pages, asked, taken,
                              [&](auto& budget) { return arena().take_to_grow(pages, budget, asked); });
    }
    std::byte* start(std::size_t first) noexcept {
        map_.set(first << shift(), block_table::large);
        live_.fetch_add(1, std::memory_order_relaxed);
        return address_of(first);
    }
    // Gives the pages of a block, which is not live, back to the arena. `on_refunded`: see charged_pages::give().
    template <class OnRefunded> void drop(std::byte* p, OnRefunded on_refunded) noexcept {
        const std::size_t pages = pages_of(p);
        map_.set(distance(p), 0);
        map_.set_words(page_of(p), pages, 0);
        all_pages_.fetch_sub(pages, std::memory_order_relaxed);
        pages_.give(p, pages, on_refunded);
    }
    // Gives back the pages of a run around the aligned ones.
    std::byte* keep_aligned(std::byte* first, std::size_t pages, std::size_t more, std::size_t align) noexcept {
        const auto from = reinterpret_cast<std::uintptr_t>(first);
        std::byte* const p = first + (align_up(from, align) - from);
        const std::size_t before = static_cast<std::size_t>(p - first) >> shift();
        if (before != 0) pages_.give(first, before);
        if (before != more) pages_.give(p + (pages << shift()), more - before);
        return p;
    }

    Pages& pages_;
    block_table& map_;
    pages_in_transit& in_transit_;
    page_block_cache kept_;
    std::atomic<std::size_t> live_{0}, all_pages_{0};
    std::atomic<std::size_t> grows_{0}; // see note_growth(); 0: none
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
