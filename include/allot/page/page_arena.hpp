// An arena: one range of address space cut into pages, which clients take one at a time or in runs.
//
//   | single pages -->  committed |   reserved only   | committed  <-- runs of pages |
//
//   arena_bounds  its addresses, and the owners of its pages        shared_level  who holds pages, who waits for some
//   arena_pages   which pages are taken; commit, limit and trim     arena_memory  its mapping and its tables
//   page_payer    who is charged for committed pages
//
// Pages are committed from both ends (system_pages.hpp) and stay committed until trim() returns free ones to the system
// (arena_pages.hpp). The host never reads the pages of a device (page_backing.hpp): their headers are out of band.
// arena<Set> (arena.hpp) is one that its set of policies has a range for, and that is found by address.
// Invariant: taken pages are usable memory; committed pages, free ones among them, never exceed the limit.
// Cost: 66.1 bits per page out of band; two mappings per arena, four once it has a run of
// pages. Taking a page that was used before searches two words under a spin lock.
// Threads: any, except for construction and destruction. A child of fork() has its own copy, which it may use if no
// other thread of the parent was inside a call to the arena.
// Source: HPCC roxiemem's page bitmap, 2009; watermarks as in snmalloc's ranges, 2019.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/text.hpp>
#include <allot/page/arena_memory.hpp>
#include <allot/page/arena_pages.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/arena_stats.hpp>
#include <allot/page/page_map.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/request/tenant.hpp>
#include <allot/sys/lock_rank.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {

namespace detail {
class arena_table;
} // namespace detail

/// Every arena<Set> is one.
/// Requires: addresses passed in are in the arena's range, except for contains(); every tenant was removed before the
/// destructor runs, otherwise checked builds report misuse.
class page_arena {
  public:
    /// Owns the range's mapping from now on, and has no pages where `begin` is null, or the system refuses memory for
    /// the arena's tables. The name outlives it.
    ALLOT_OUTLINE_WARM page_arena(const arena_range& range, std::size_t limit_bytes, const char* name) noexcept
        : headers_out_of_band_(range.headers_out_of_band), page_kind_(range.page_kind), memory_(range), level_(name),
          pages_(range, pages_of(range), tables_of(range), limit_bytes, level_) {
        bounds_.page_shift = range.page_shift;
        bounds_.page_mask = ~std::uintptr_t{0} << range.page_shift;
        if (memory_.tables() == nullptr) return;
        bounds_.begin = range.begin;
        bounds_.bytes = range.bytes;
        bounds_.owners = reinterpret_cast<detail::page_owner*>(tables_of(range).owners);
    }
    ALLOT_OUTLINE_WARM ~page_arena() {
        if (level_.has_tenants()) detail::report_misuse({.kind = misuse::living_handle, .arena = name()});
    }
    page_arena(const page_arena&) = delete;
    page_arena& operator=(const page_arena&) = delete;

    // ---- pages ----------------------------------------------------------------------------------------------

    /// Takes a run of pages with unspecified contents. Waits only while the last free pages are being trimmed.
    /// Returns: the run, aligned to the page size; null where `pages` is 0, the limit or the address space has no such
    /// run, or the system refuses memory: `why`, unless it is null, says which. A failed take changes nothing.
    /// Complexity: a search of the page bitmap under a spin lock; a system call where pages were not committed before.
    std::byte* take(std::size_t pages = 1, charge_status* why = nullptr) noexcept {
        detail::memory_request asked{pages > SIZE_MAX >> page_shift() ? SIZE_MAX : bytes_of(pages)};
        detail::page_budget all;
        std::byte* const first = take(pages, all, asked);
        asked.report(why, first != nullptr);
        return first;
    }
    // For clients that are charged (charged_pages.hpp), as the next three: where the run would cost more than the
    // budget, `budget.clean` says how much, nothing is taken, and `asked` is as it was.
    std::byte* take(std::size_t pages, detail::page_budget& budget, detail::memory_request& asked) noexcept {
        return take_run(pages, detail::run_use::fixed, budget, asked);
    }
    // For a run that is to grow: leaves free address space behind it for grow_up(), where that costs no other request
    // its run.
    std::byte* take_to_grow(std::size_t pages, detail::page_budget& budget, detail::memory_request& asked) noexcept {
        return take_run(pages, detail::run_use::grows, budget, asked);
    }

    /// Gives taken pages back to the arena: a whole run or a part of it. Never waits, makes no system call.
    /// Requires: all of them are taken. Checked builds abort otherwise.
    ALLOT_OUTLINE_WARM void give(std::byte* first, std::size_t pages) noexcept {
        ALLOT_ASSERT(contains(first) && pages <= page_count() - index(first),
                     "pages of another arena: give pages back to the arena that they were taken from");
        pages_.give(index(first), pages);
    }
    /// Extends a run from `pages` to `new_pages` by the pages after it.
    /// Returns: false, and nothing changed, where one of those is taken, the limit or the system refuses, or the run
    /// would shrink.
    bool grow_up(std::byte* first, std::size_t pages, std::size_t new_pages) noexcept {
        detail::memory_request asked{0};
        detail::page_budget all;
        return grow_up(first, pages, new_pages, all, asked);
    }
    bool grow_up(std::byte* first, std::size_t pages, std::size_t new_pages, detail::page_budget& budget,
                 detail::memory_request& asked) noexcept {
        return new_pages >= pages && pages_.take_at(index(first) + pages, new_pages - pages, budget, asked);
    }
    // Extends a run by the pages before it; its contents slide to its new start, which may lie further down, with room
    // behind the run. Returns the start; null where it is refused.
    // The pages behind its new end then return by give_slid(); without a slide, as many from its new start on.
    std::byte* slide_down(std::byte* first, std::size_t pages, std::size_t new_pages, detail::page_budget& budget,
                          detail::memory_request& asked) noexcept {
        const std::size_t by = pages_.slide(index(first), pages, new_pages, budget, asked);
        return by == 0 ? nullptr : first - bytes_of(by);
    }
    void give_slid(std::byte* first, std::size_t pages) noexcept { pages_.give_uncounted(index(first), pages); }

    /// Returns free pages to the system. Free pages that share a huge OS page with them are returned too, since the
    /// system may have filled those.
    /// Returns: the bytes returned, up to the first refusal of the system; 0 where the memory is the caller's or
    /// preallocated, and under retain::never.
    /// Complexity: O(pages / 64), and a system call per run of free pages.
    std::size_t trim() noexcept { return pages_.trim(); }
    // At a shortage of as many bytes, where the retain rule allows it and committed pages are charged: returns free
    // pages to the system, at least as many, more where much is free; those first that would be taken last. In bytes.
    std::size_t trim_for(std::size_t bytes) noexcept {
        return pages_.has_payer() && bytes != 0 ? pages_.trim_at_shortage(bytes) : 0;
    }
    // Has committed pages charged to the owner of the arena, who charges them when they are taken; before the first
    // take. `payer` outlives the arena. Ignored where the memory is lent, or of a device.
    void set_payer(detail::page_payer& payer) noexcept { pages_.set_payer(payer); }
    // Whether the next take commits all of its pages, and likely none that may be in a huge OS page.
    bool takes_clean_plain_pages() const noexcept { return pages_.takes_clean_plain_pages(); }
    // Whether free pages stay charged while they may hold memory.
    bool has_payer() const noexcept { return pages_.has_payer(); }

    /// Adds an object that holds pages: it is in reports, and may be asked for pages from now on. remove() ends this,
    /// and waits for a call of it on another thread.
    ALLOT_OUTLINE_WARM void add(tenant& t) noexcept { level_.add(t); }
    ALLOT_OUTLINE_WARM void remove(tenant& t) noexcept { level_.remove(t); }
    /// Asks every tenant for pages that it does not need. Holds no lock meanwhile.
    /// Returns: bytes given back to the arena.
    std::size_t ask_tenants() noexcept {
        detail::check_no_lock_is_held("asks the tenants of an arena");
        std::size_t bytes = 0;
        level_.each_tenant([&](tenant& t) { bytes += t.return_idle(SIZE_MAX, false); });
        return bytes;
    }

    // Where the system, or a device behind an arena, has no more memory: has all arenas return free pages to it, where
    // their retain rules allow it, until as many bytes are returned.
    static void ask_others(std::size_t bytes) noexcept {
        detail::check_no_lock_is_held("asks other arenas");
        std::size_t returned = 0;
        detail::the_system().each_tenant([&](tenant& t) {
            if (returned < bytes) returned += t.return_idle(bytes - returned, false);
        });
    }

    // ---- queries --------------------------------------------------------------------------------------------

    /// Whether an address, of any object or none, is in the arena's range.
    ALLOT_ALWAYS_INLINE bool contains(const void* p) const noexcept { return bounds_.contains(p); }
    ALLOT_ALWAYS_INLINE unsigned page_shift() const noexcept { return bounds_.page_shift; }
    /// `address & page_mask()` is the start of its page.
    ALLOT_ALWAYS_INLINE std::uintptr_t page_mask() const noexcept { return bounds_.page_mask; }
    std::byte* begin() const noexcept { return bounds_.begin; }
    std::byte* end() const noexcept { return bounds_.begin + bounds_.bytes; }
    std::size_t page_bytes() const noexcept { return std::size_t{1} << page_shift(); }
    std::size_t page_count() const noexcept { return bounds_.bytes >> page_shift(); }
    /// Whether the page of an address is taken.
    bool is_taken(const void* p) const noexcept { return pages_.is_taken(index(p)); }
    /// True: the host does not touch the pages, so their headers are kept in host memory.
    bool headers_out_of_band() const noexcept { return headers_out_of_band_; }
    /// The state of a page, by its number from 0.
    page_state state_of(std::size_t page) const noexcept { return pages_.state_of(page); }
    /// Whether a taken page may hold bytes of an earlier use. False: it holds zeros.
    bool was_used(const std::byte* page) const noexcept { return pages_.was_used(index(page)); }
    // Taken pages serve a second use.
    void set_used(const std::byte* first, std::size_t pages) noexcept { pages_.set_used(index(first), pages); }
    /// Writes zeros to bytes of taken pages that are in their first use, or may hold bytes of an earlier one: these are
    /// written, the others hold zeros, and are not touched.
    void zero(std::byte* first, std::size_t bytes) const noexcept {
        for (std::byte *at = first, *const end = first + bytes; at != end;) {
            const auto left = static_cast<std::size_t>(end - at);
            const std::size_t n =
                detail::min(left, page_bytes() - (reinterpret_cast<std::uintptr_t>(at) & ~page_mask()));
            if (was_used(at)) std::memset(at, 0, n);
            at += n;
        }
    }
    /// Records the owner of a taken page, for view().
    /// Requires: the page is the caller's; the owner is set to null before the page is given back.
    void set_owner(const std::byte* page, const void* owner) noexcept {
        bounds_.owners[index(page)].store(owner, std::memory_order_relaxed);
    }
    /// The owner of the page of an address in the arena; null: the page has none.
    const void* owner_of(const void* p) const noexcept { return bounds_.owner_at(bounds_.offset(p)); }
    // A copy of what a handle needs to classify an address.
    detail::arena_bounds view() const noexcept { return bounds_; }
    const char* name() const noexcept { return level_.name(); }
    // Where requests that it refuses wait.
    detail::shared_level& level() const noexcept { return level_; }
    /// The kind of OS pages in use: "plain", "transparent", "hugetlb" or "borrowed"; on a device "mapped on a device"
    /// or "one piece of a device".
    const char* page_kind() const noexcept { return page_kind_; }
    /// Whether committed memory is locked against swapping: the policy asks for it, and the system never refused.
    bool locked() const noexcept { return pages_.are_locked(); }
    /// Bytes, in whole pages.
    std::size_t limit() const noexcept { return bytes_of(pages_.limit().most()); }
    /// Bytes of taken pages; of free ones that may hold memory of the system.
    std::size_t taken() const noexcept { return bytes_of(pages_.limit().taken()); }
    std::size_t kept() const noexcept { return bytes_of(pages_.limit().kept()); }
    /// Of the last: those that a shortage returns to the system.
    std::size_t unused() const noexcept { return bytes_of(pages_.unused()); }

    /// Complexity: a walk over the bitmaps.
    ALLOT_OUTLINE_WARM arena_stats stats() const noexcept {
        arena_stats f;
        f.reserved = bounds_.bytes;
        f.limit = limit();
        f.taken = taken();
        f.peak_taken = bytes_of(pages_.limit().peak());
        f.committed = pages_.committed();
        f.free = f.taken < f.limit ? f.limit - f.taken : 0;
        f.largest_free_run = bytes_of(pages_.largest_free_run());
        f.returned = returned();
        return f;
    }
    /// Bytes returned to the system so far.
    std::size_t returned() const noexcept { return pages_.returned(); }
    /// Bytes resident in memory, by the system's count; of a device, bytes mapped.
    /// Complexity: a walk over the committed range; for reports.
    std::size_t resident() const noexcept { return page_count() == 0 ? 0 : pages_.resident(); }
    /// Writes one line about the arena and one per client, eight at most. Allocates nothing.
    ALLOT_OUTLINE_WARM void report(text_writer& out) const noexcept {
        const arena_stats f = stats();
        out.put("  arena ")
            .brief(name())
            .put(" (")
            .put(page_kind_)
            .put(" pages of ")
            .bytes(page_bytes())
            .put("): taken ");
        out.bytes(f.taken).put(" of ").bytes(f.limit).put(", committed ").bytes(f.committed).put(", reserved ");
        out.bytes(f.reserved);
        if (const std::size_t wanted = pages_.limit().wanted(); wanted != 0)
            out.put(" of ").bytes(wanted).put(" (the system refuses more: raise ulimit -v)");
        out.put(", largest free run ").bytes(f.largest_free_run);
        out.put(f.free > f.largest_free_run ? ", fragmented" : f.free == 0 ? ", exhausted" : "").newline();
        std::size_t n = 0;
        level_.each_tenant([&](const tenant& t) {
            if (n++ < 8) out.put("    held by ").brief(t.name()).put(": ").bytes(t.held()).newline();
        });
        if (n > 8) out.put("    and ").number(n - 8).put(" more").newline();
    }

    /// Whether bitmaps, counts and limit agree. For tests.
    /// Threads: no other thread may use the arena meanwhile.
    bool valid() const noexcept { return pages_.valid(); }

  private:
    friend class detail::arena_table;

    struct process_tenant final : tenant {
        explicit process_tenant(page_arena& arena) noexcept : tenant(arena.name()), of(arena) {
            detail::the_system().add(*this);
        }
        ~process_tenant() { detail::the_system().remove(*this); }
        std::size_t held() const noexcept override { return of.taken() + of.kept(); }
        std::size_t return_idle(std::size_t bytes, bool) noexcept override { return of.pages_.trim_at_shortage(bytes); }
        page_arena& of;
    };
    std::size_t pages_of(const arena_range& range) const noexcept {
        return memory_.tables() != nullptr ? range.bytes >> range.page_shift : 0;
    }
    detail::arena_tables tables_of(const arena_range& range) const noexcept {
        return {memory_.tables(), pages_of(range)};
    }
    std::size_t bytes_of(std::size_t pages) const noexcept { return pages << page_shift(); }
    ALLOT_OUTLINE_WARM std::byte* take_run(std::size_t pages, detail::run_use use, detail::page_budget& budget,
                                           detail::memory_request& asked) noexcept {
        const std::size_t first = pages_.take(pages, use, budget, asked);
        return first != detail::arena_pages::none ? begin() + bytes_of(first) : nullptr;
    }
    std::size_t index(const void* p) const noexcept { return bounds_.offset(p) >> page_shift(); }

    detail::arena_bounds bounds_;
    const bool headers_out_of_band_;
    const char* const page_kind_;
    detail::arena_memory memory_;
    mutable detail::shared_level level_;
    detail::arena_pages pages_;
    process_tenant in_process_{*this};
};

} // namespace allot::inline ALLOT_ABI
