// An arena: one range of address space cut into pages, which clients take one at a time or in runs.
//
//   | single pages -->  committed |   reserved only   | committed  <-- runs of pages |
//
// Pages are committed from both ends (system_pages.hpp) and stay committed until trim() returns free ones to the system
// (arena_pages.hpp). The host never reads the pages of a device (page_backing.hpp): their headers are out of band.
// Invariant: taken pages are usable memory; taken x page size never exceeds the limit.
// Cost: 66.1 bits per page out of band (67.1 under retain::idle); two mappings per arena, four once it has a run of
// pages. Taking a page that was used before searches two words under a spin lock; taking and giving pages test one
// pointer for retain::idle.
// Threads: any, except for construction and destruction. A child of fork() has its own copy, which it may use if no
// other thread of the parent was inside a call to the arena.
// Source: HPCC roxiemem's page bitmap, 2009; watermarks as in snmalloc's ranges, 2019.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/account/tenant.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/text.hpp>
#include <allot/page/arena_metadata.hpp>
#include <allot/page/arena_pages.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/arena_stats.hpp>
#include <allot/page/idle_pages.hpp>
#include <allot/page/page_backing.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/page/page_map.hpp>
#include <allot/page/system_pages.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/map.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace detail {
class arena_table;

// The arenas under retain::idle.
inline constinit tenants idle_arenas;

} // namespace detail

/// The public functions of every arena<Set>.
/// Requires: addresses passed in are in the arena's range, except for contains().
class arena_base : detail::arena_pages {
  public:
    arena_base() = default;
    arena_base(const arena_base&) = delete;
    arena_base& operator=(const arena_base&) = delete;

    // ---- pages ----------------------------------------------------------------------------------------------

    /// Takes a run of pages with unspecified contents. Waits only while the last free pages are being trimmed.
    /// Returns: the run, aligned to the page size; null where `pages` is 0, the limit or the address space has no such
    /// run, or the system refuses memory: `why`, unless it is null, says which. A failed take changes nothing.
    /// Complexity: a search of the page bitmap under a spin lock; a system call where pages were not committed before.
    std::byte* take(std::size_t pages = 1, charge_status* why = nullptr) noexcept {
        detail::memory_request asked{pages > SIZE_MAX >> shift_ ? SIZE_MAX : pages << shift_};
        std::byte* const first = take(pages, asked);
        asked.report(why, first != nullptr);
        return first;
    }
    std::byte* take(std::size_t pages, detail::memory_request& asked) noexcept {
        return take_with(pages, run_use::fixed, asked);
    }
    /// As take(), for a run that is to grow: leaves free address space behind it for grow_up(), where that costs no
    /// other request its run.
    std::byte* take_to_grow(std::size_t pages, detail::memory_request& asked) noexcept {
        return take_with(pages, run_use::grows, asked);
    }

    /// Gives taken pages back to the arena: a whole run or a part of it. Never waits, makes no system call.
    /// Requires: all of them are taken. Checked builds abort otherwise.
    void give(std::byte* first, std::size_t pages) noexcept {
        ALLOT_ASSERT(contains(first) && pages <= page_count() - index(first),
                     "pages of another arena: give pages back to the arena that they were taken from");
        const std::size_t page = index(first);
        mark_dirty(page, pages);
        if (ALLOT_UNLIKELY(idle_ != nullptr)) idle_->used(page, pages);
        confirmed_.fetch_sub(pages, std::memory_order_relaxed);
        put_back(page, pages);
    }
    /// Extends a run from `pages` to `new_pages` by the pages after it.
    /// Returns: false, and nothing changed, where one of those is taken, the limit or the system refuses, or the run
    /// would shrink.
    bool grow_up(std::byte* first, std::size_t pages, std::size_t new_pages) noexcept {
        detail::memory_request asked{0};
        return grow_up(first, pages, new_pages, asked);
    }
    bool grow_up(std::byte* first, std::size_t pages, std::size_t new_pages, detail::memory_request& asked) noexcept {
        return new_pages >= pages && grow(index(first) + pages, new_pages - pages, asked);
    }
    // Extends a run by the pages before it; its contents slide to its new start, which may lie further down, with room
    // behind the run. Returns the start; null where it is refused.
    // The pages behind its new end then return by give_slid(); without a slide, as many from its new start on.
    std::byte* slide_down(std::byte* first, std::size_t pages, std::size_t new_pages,
                          detail::memory_request& asked) noexcept {
        const std::size_t by = slide(index(first), pages, new_pages, asked);
        return by == 0 ? nullptr : first - (by << shift_);
    }
    void give_slid(std::byte* first, std::size_t pages) noexcept {
        mark_dirty(index(first), pages);
        bitmap_.give(index(first), pages);
    }

    /// Returns free pages to the system. Free pages that share a huge OS page with them are returned too, since the
    /// system may have filled those.
    /// Returns: the bytes returned, up to the first refusal of the system; 0 where the memory is the caller's or
    /// preallocated, and under retain::never.
    /// Complexity: O(pages / 64), and a system call per run of free pages.
    using arena_pages::trim;
    /// Does the step that page requests do under retain::idle: returns up to 8 pages that were not used for the set's
    /// time span; once in that span it asks tenants that rest for pages that they do not need. For programs that
    /// have a timer.
    /// Returns: the bytes returned to the system; 0 under other retain rules.
    /// Complexity: a clock read, at most 256 words of the bitmap.
    std::size_t trim_idle() noexcept {
        if (idle_ == nullptr) return 0;
        ask_resting_tenants();
        return arena_pages::trim_idle();
    }
    // The same at a page request of a client, which does the rest; and a step for another arena under retain::idle.
    void trim_others() noexcept {
        if (ALLOT_UNLIKELY(idle_ != nullptr)) trim_others_now();
    }

    /// Adds an object that holds pages: it is in reports, and may be asked for pages from now on. remove() ends this,
    /// and waits for a call of it on another thread.
    void add(tenant& t) noexcept { tenants_.add(t); }
    void remove(tenant& t) noexcept { tenants_.remove(t); }
    /// Asks every tenant for pages that it does not need. Holds no lock meanwhile.
    /// Returns: bytes given back to the arena.
    std::size_t ask_tenants() noexcept {
        detail::check_no_lock_is_held("asks the tenants of an arena");
        std::size_t bytes = 0;
        tenants_.for_each([&](tenant& t) { bytes += t.return_idle(SIZE_MAX, false); });
        return bytes;
    }

    // ---- queries --------------------------------------------------------------------------------------------

    /// Whether an address, of any object or none, is in the arena's range.
    ALLOT_ALWAYS_INLINE bool contains(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(begin_) < bytes_;
    }
    ALLOT_ALWAYS_INLINE unsigned page_shift() const noexcept { return shift_; }
    /// `address & page_mask()` is the start of its page.
    ALLOT_ALWAYS_INLINE std::uintptr_t page_mask() const noexcept { return ~std::uintptr_t{0} << shift_; }
    std::byte* begin() const noexcept { return begin_; }
    std::byte* end() const noexcept { return begin_ + bytes_; }
    std::size_t page_bytes() const noexcept { return std::size_t{1} << shift_; }
    std::size_t page_count() const noexcept { return bytes_ >> shift_; }
    /// Whether the page of an address is taken.
    bool is_taken(const void* p) const noexcept {
        return bitmap_.is_taken(static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_) >> shift_);
    }
    /// True: the host does not touch the pages, so their headers are kept in host memory.
    bool headers_out_of_band() const noexcept { return headers_out_of_band_; }
    /// The state of a page, by its number from 0.
    page_state state_of(std::size_t page) const noexcept {
        if (bitmap_.is_taken(page)) return page_state::taken;
        if ((dirty_[page / 64].load(std::memory_order_relaxed) >> page % 64 & 1) != 0) return page_state::dirty;
        return system_.are_usable(page, 1) ? page_state::clean : page_state::untouched;
    }
    /// Whether a taken page may hold bytes of an earlier use. False: it holds zeros.
    bool was_used(const std::byte* page) const noexcept {
        const std::size_t at = index(page);
        return own_metadata_ == nullptr || (dirty_[at / 64].load(std::memory_order_relaxed) >> at % 64 & 1) != 0;
    }
    /// Records the owner of a taken page, for view().
    /// Requires: the page is the caller's; the owner is set to null before the page is given back.
    void set_owner(const std::byte* page, const void* owner) noexcept {
        owners_[index(page)].store(owner, std::memory_order_relaxed);
    }
    /// The owner of the page of an address in the arena; null: the page has none.
    const void* owner_of(const void* p) const noexcept {
        return owners_[static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_) >> shift_].load(
            std::memory_order_acquire);
    }
    // A copy of what a handle needs to classify an address.
    detail::arena_bounds view() const noexcept {
        return {reinterpret_cast<std::uintptr_t>(begin_), bytes_, owners_, page_mask(), shift_};
    }
    const char* name() const noexcept { return name_; }
    /// The kind of OS pages in use: "plain", "transparent", "hugetlb" or "borrowed"; on a device "mapped on a device"
    /// or "one piece of a device".
    const char* page_kind() const noexcept { return page_kind_; }
    /// Whether committed memory is locked against swapping: the policy asks for it, and the system never refused.
    bool locked() const noexcept { return system_.are_locked(); }
    /// Bytes, in whole pages.
    std::size_t limit() const noexcept { return limit_pages_ << shift_; }

    /// Complexity: a walk over the bitmaps.
    arena_stats stats() const noexcept {
        arena_stats f;
        f.reserved = bytes_;
        f.limit = limit();
        f.taken = taken_.load(std::memory_order_relaxed) << shift_;
        f.peak_taken = peak_.load(std::memory_order_relaxed) << shift_;
        std::size_t used = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            used += static_cast<std::size_t>(
                std::popcount((bitmap_.taken_in_word(w) & existing_pages(w)) | dirty_[w].load()));
        f.committed = backing_ != nullptr ? backing_->committed_bytes() : used << shift_;
        f.free = f.taken < f.limit ? f.limit - f.taken : 0;
        f.largest_free_run = bitmap_.largest_free_run().pages << shift_;
        f.returned = returned();
        return f;
    }
    /// Bytes returned to the system so far.
    std::size_t returned() const noexcept { return returned_.load(std::memory_order_relaxed); }
    /// Bytes resident in memory, by the system's count; of a device, bytes mapped.
    /// Complexity: a walk over the committed range; for reports.
    std::size_t resident() const noexcept {
        if (page_count() == 0) return 0;
        return backing_ != nullptr ? backing_->committed_bytes() : system_.resident();
    }
    /// Writes one line about the arena and one per client, eight at most. Allocates nothing.
    void report(text_writer& out) const noexcept {
        const arena_stats f = stats();
        out.put("  arena ").put(name_).put(" (").put(page_kind_).put(" pages of ").bytes(page_bytes()).put("): taken ");
        out.bytes(f.taken).put(" of ").bytes(f.limit).put(", committed ").bytes(f.committed).put(", reserved ");
        out.bytes(f.reserved).put(", largest free run ").bytes(f.largest_free_run);
        out.put(f.free > f.largest_free_run ? ", fragmented" : f.free == 0 ? ", exhausted" : "").newline();
        std::size_t n = 0;
        tenants_.for_each([&](const tenant& t) {
            if (n++ < 8) out.put("    held by ").put(t.name()).put(": ").bytes(t.held()).newline();
        });
        if (n > 8) out.put("    and ").number(n - 8).put(" more").newline();
    }

    /// Whether bitmaps, counts and limit agree. For tests.
    /// Threads: no other thread may use the arena meanwhile.
    bool valid() const noexcept {
        std::size_t taken = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            taken += static_cast<std::size_t>(std::popcount(bitmap_.taken_in_word(w) & existing_pages(w)));
        return taken == taken_.load() && taken == confirmed_.load() && taken <= limit_pages_ && peak_.load() >= taken &&
               peak_.load() <= limit_pages_ && bitmap_.valid();
    }

  protected:
    ~arena_base() { close(); }
    void close() noexcept {
        if (own_metadata_ != nullptr && front_ == 0)
            sys::unmap(own_metadata_, detail::arena_metadata::bytes(page_count(), idle_ != nullptr));
        if (mapping_ != 0) sys::unmap(begin_ - front_, mapping_ + front_);
        own_metadata_ = begin_ = nullptr;
        mapping_ = front_ = bytes_ = limit_pages_ = 0;
    }
    // Call at the end. Reports a tenant that is still there.
    void check_tenants() const noexcept {
        if (!tenants_.empty()) report_misuse({.kind = misuse::living_handle, .arena = name_});
    }
    // Lets page requests of other arenas return its memory.
    void join_idle(tenant& own) noexcept {
        own_ = &own;
        detail::idle_arenas.add(own);
    }
    void leave_idle() noexcept {
        if (own_ != nullptr) detail::idle_arenas.remove(*std::exchange(own_, nullptr));
    }
    // Sets up the tables for a range. False: no memory for them, and the arena is empty.
    bool start(const arena_range& range, std::size_t limit_bytes, const char* name) noexcept {
        name_ = name;
        std::byte* out_of_band = range.out_of_band;
        const std::size_t pages = range.bytes >> range.page_shift;
        if (out_of_band == nullptr) {
            // All of the front, so that the tables and the first pages are one mapping.
            const std::size_t bytes =
                range.front != 0 ? range.front : detail::arena_metadata::bytes(pages, range.idle != nullptr);
            out_of_band = range.front != 0 ? range.begin - range.front : sys::reserve(bytes, sys::os_page_bytes());
            if (out_of_band == nullptr) return false;
            if (!sys::commit(out_of_band, bytes)) {
                if (range.front == 0) sys::unmap(out_of_band, bytes);
                return false;
            }
            own_metadata_ = out_of_band;
            front_ = range.front;
        }
        begin_ = range.begin;
        bytes_ = range.bytes;
        shift_ = range.page_shift;
        mapping_ = range.mapping;
        returns_pages_ = range.returns_pages;
        under_pressure_ = range.under_pressure;
        page_kind_ = range.page_kind;
        limit_pages_ = detail::min(limit_bytes >> shift_, pages);
        range_is_limit_ = limit_bytes >> shift_ > pages;
        bitmap_.start(out_of_band, pages);
        out_of_band += detail::page_bitmap::bytes_for(pages);
        dirty_ = reinterpret_cast<word*>(out_of_band);
        out_of_band += detail::arena_metadata::dirty_bytes(pages);
        idle_ = own_metadata_ != nullptr ? range.idle : nullptr; // lent memory is never returned
        if (idle_ != nullptr) {
            idle_->start(out_of_band);
            out_of_band += detail::idle_pages::bytes_for(pages);
        }
        owners_ = reinterpret_cast<detail::page_owner*>(out_of_band);
        headers_out_of_band_ = range.headers_out_of_band;
        backing_ = range.backing;
        system_.start(range, pages);
        return true;
    }

  private:
    enum class run_use { fixed, grows };

    friend class detail::arena_table;

    void ask_resting_tenants() noexcept {
        if (!idle_->has_begun()) return;
        detail::check_no_lock_is_held("asks the tenants of an arena");
        tenants_.for_each([](tenant& t) { static_cast<void>(t.return_resting()); });
    }
    ALLOT_NOINLINE void trim_others_now() noexcept {
        if (!detail::user_call::may_do_steps_for_others()) return;
        ask_resting_tenants();
        if (own_ != nullptr) static_cast<void>(detail::idle_arenas.return_resting_of_others(*own_, 1));
    }

    std::byte* take_with(std::size_t pages, run_use use, detail::memory_request& asked) noexcept {
        if (ALLOT_UNLIKELY(idle_ != nullptr)) arena_pages::trim_idle();
        for (;;) {
            std::size_t first = detail::page_bitmap::none;
            {
                const detail::lock_guard hold(lock_);
                if (ALLOT_UNLIKELY(pages == 0 || !within_limit(pages)))
                    return refuse(asked, pages == 0 ? charge_outcome::misused : charge_outcome::over_limit, pages),
                           nullptr;
                first = use == run_use::grows ? pick_to_grow(pages)
                        : pages == 1          ? bitmap_.take_one()
                                              : bitmap_.take_run(pages);
                if (first != detail::page_bitmap::none) count_taken(pages);
                else if (in_trim_ == 0) return refuse(asked, charge_outcome::no_address_space, pages), nullptr;
            }
            if (first != detail::page_bitmap::none)
                return commit_or_put_back(first, pages, use == run_use::grows, asked) ? at(first) : nullptr;
            yield(); // the pages that are being trimmed become free again
        }
    }
    // Whether the arena's mapping fills its granules of the arena table, so that no other memory is in them.
    bool has_granules_alone(std::size_t granule) const noexcept {
        return mapping_ != 0 && reinterpret_cast<std::uintptr_t>(begin_) % granule == 0 && mapping_ % granule == 0;
    }

    mutable detail::tenants tenants_;
    tenant* own_ = nullptr; // of the process, under retain::idle
};

} // namespace allot::inline ALLOT_ABI
