// The page provider of a row manager: pages of its arena, charged to its ledger.
//
// A request first collects the empty pages of noted heaps, then charges and takes. What follows a refusal is the
// ladder's (request/ladder.hpp).
// Cost: O(1) per page, independent of the number of heaps unless memory is short. Threads: any.
// Source: HPCC roxiemem's checkLimit, 2010.
#pragma once

#include <allot/account/books.hpp>
#include <allot/config.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/page/charged_pages.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Ledger> class ledger_pages final : public page_provider {
  public:
    ledger_pages(page_arena& arena, Ledger& ledger) noexcept
        : page_provider(arena, detail::books_of(ledger, !arena.headers_out_of_band()), ledger.strain(),
                        charged_pages<Ledger>::watched, charged_pages<Ledger>::notifies),
          pages_(arena, ledger) {}

    std::byte* take(std::size_t pages, detail::memory_request& asked,
                    detail::pages_in_transit::move& taken) noexcept override {
        heaps().collect();
        return pages_.take(pages, asked, taken);
    }
    bool take(detail::regrow& run, detail::memory_request& asked,
              detail::pages_in_transit::move& taken) noexcept override {
        heaps().collect();
        return run.take(pages_, asked, taken);
    }
    bool may_take(detail::memory_request& asked) noexcept override {
        return pages_.may_take(asked, [this] { static_cast<void>(heaps().reclaim(true)); });
    }
    void took(const detail::memory_request& asked) noexcept override { pages_.took(asked); }
    void given(std::size_t pages) noexcept override { pages_.given(pages); }
    void given(std::size_t pages, detail::pages_in_transit::move& moved) noexcept override {
        pages_.given(pages, [&] { moved.end(); });
    }
    std::size_t idle() const noexcept override { return pages_.idle(); }
    std::size_t leaves() const noexcept override { return pages_.leaves(); }
    std::size_t trim() noexcept override { return pages_.trim(); }
    std::size_t trim_for(std::size_t bytes) noexcept override { return pages_.trim_for(bytes); }

  private:
    void note_settled() noexcept override { pages_.settled(); }
    void note_event(watch_event kind, std::size_t bytes, const char* name) noexcept override {
        pages_.record(kind, bytes, name);
    }
    void notify_unused() noexcept override { pages_.notify_unused(); }
    void open_caches() noexcept override { pages_.open_caches(); }

    charged_pages<Ledger> pages_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
