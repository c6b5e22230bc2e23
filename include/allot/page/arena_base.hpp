// An arena: one range of address space cut in pages, which heaps take one at a time or in runs.
//
//   | single pages -->  committed |   reserved only   | committed  <-- runs of pages |
//
// Pages are committed from both ends (system_pages), and stay so until trim() gives free ones back to the system.
// Taking picks pages under a short spin lock and makes system calls outside of it, so no thread waits for
// another's (but when the last free pages are just being trimmed); giving back takes no lock and makes no system call.
// Pages of a device (page_backing) are mapped when they are taken, at every take that finds them unmapped, and the host
// never reads them: their headers stand aside.
// Invariant: taken pages are usable memory; taken x page size never exceeds the limit. A failing take leaves
// everything as before, and the peak counts only pages that somebody really had.
// Cost: 66.1 bits a page out of band (67.1 under retain::idle), four mappings an arena. A page that was used before: a
// locked search of two words. Threads: any, but for construction and destruction. A child of fork() has its own copy
// and may use it if the parent was in no call to the arena in another thread.
// Source: HPCC roxiemem's page bitmap, 2009; watermarks as in snmalloc's ranges.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/arena_metadata.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/arena_stats.hpp>
#include <allot/page/idle_pages.hpp>
#include <allot/page/page_backing.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/page/page_map.hpp>
#include <allot/page/system_pages.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/map.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

class arena_client; // and what asks for it: page/arena_client.hpp
class text_writer;
namespace detail {
class arena_table;
struct client_walk;
} // namespace detail

class arena_base {
  public:
    arena_base() = default;
    arena_base(const arena_base&) = delete;
    arena_base& operator=(const arena_base&) = delete;

    // ---- pages ----------------------------------------------------------------------------------------------

    // Takes pages in one run, contents unspecified; null when there are none, or the system refuses memory.
    std::byte* take(std::size_t pages = 1) noexcept {
        if (ALLOT_UNLIKELY(idle_ != nullptr)) trim_idle();
        for (;;) {
            std::size_t first = detail::page_bitmap::none;
            {
                const detail::lock_guard hold(lock_);
                if (pages == 0 || !within_limit(pages)) return nullptr;
                first = pages == 1 ? bitmap_.take_one() : bitmap_.take_run(pages);
                if (first != detail::page_bitmap::none) count_taken(pages);
                else if (in_trim_ == 0) return nullptr;
            }
            if (first != detail::page_bitmap::none) return commit_or_put_back(first, pages) ? at(first) : nullptr;
            yield(); // every page that is left is being trimmed: it comes back in a moment
        }
    }
    // Gives pages back that were taken, all or a part of a run. Never waits, no system call.
    void give(std::byte* first, std::size_t pages) noexcept {
        ALLOT_ASSERT(contains(first) && pages <= page_count() - index(first),
                     "pages given to an arena that has them not");
        const std::size_t page = index(first);
        mark_dirty(page, pages);
        if (ALLOT_UNLIKELY(idle_ != nullptr)) idle_->used(page, pages);
        confirmed_.fetch_sub(pages, std::memory_order_relaxed);
        put_back(page, pages);
    }
    // Adds the pages behind (before) a run to it; false (null) when they are not free.
    bool grow_up(std::byte* first, std::size_t pages, std::size_t new_pages) noexcept {
        return new_pages >= pages && grow(index(first) + pages, new_pages - pages);
    }
    std::byte* grow_down(std::byte* first, std::size_t pages, std::size_t new_pages) noexcept {
        const std::size_t more = new_pages - pages;
        if (new_pages < pages || more > index(first)) return nullptr;
        return grow(index(first) - more, more) ? first - (more << shift_) : nullptr;
    }
    void shrink(std::byte* first, std::size_t pages, std::size_t new_pages) noexcept {
        if (new_pages < pages) give(first + (new_pages << shift_), pages - new_pages);
    }

    // Gives free pages back to the system; returns bytes. 0 where the memory is the caller's or preallocated.
    // Free pages beside them that lie in the same huge OS page go with them: the system may have filled those too.
    std::size_t trim() noexcept {
        if (!returns_pages_) return 0;
        std::size_t bytes = 0;
        for (std::size_t w = 0; w < bitmap_.word_count(); ++w)
            while (const std::uint64_t idle = free_and_dirty(w)) {
                if (!return_pages(w, idle, bytes)) return bytes;
                if (backing_ != nullptr) break; // pages beside taken ones stay as they are
            }
        return bytes;
    }
    // Does what a page request does under retain::idle, for who has a timer: gives pages back that were free for long,
    // a few at a time; returns bytes.
    ALLOT_NOINLINE std::size_t trim_idle() noexcept {
        std::size_t bytes = 0;
        if (idle_ != nullptr && returns_pages_)
            idle_->step(
                bitmap_.word_count(), [this](std::size_t w) { return free_and_dirty(w); },
                [&](std::size_t w, std::uint64_t pages) { return return_pages(w, pages, bytes); });
        return bytes;
    }

    // Asks every holder for pages that it does not need; returns how many came back. No lock is held while one is
    // asked.
    std::size_t ask_clients() noexcept;

    // ---- questions ------------------------------------------------------------------------------------------

    ALLOT_ALWAYS_INLINE bool contains(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(begin_) < bytes_;
    }
    ALLOT_ALWAYS_INLINE unsigned page_shift() const noexcept { return shift_; }
    // Leaves the start of the page of an address.
    ALLOT_ALWAYS_INLINE std::uintptr_t page_mask() const noexcept { return ~std::uintptr_t{0} << shift_; }
    std::byte* begin() const noexcept { return begin_; }
    std::byte* end() const noexcept { return begin_ + bytes_; }
    std::size_t page_bytes() const noexcept { return std::size_t{1} << shift_; }
    std::size_t page_count() const noexcept { return bytes_ >> shift_; }
    // Whether the page of an address within the arena is taken.
    bool is_taken(const void* p) const noexcept {
        return bitmap_.is_taken(static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_) >> shift_);
    }
    // Whether it is taken, and its header stands in it.
    bool has_header(const void* p) const noexcept {
        const std::size_t page = static_cast<std::size_t>(static_cast<const std::byte*>(p) - begin_) >> shift_;
        return (header_bits_[page / 64].load(std::memory_order_acquire) >> page % 64 & 1) != 0;
    }
    // The host does not touch its pages: who holds rows there keeps what it knows of them elsewhere.
    bool headers_out_of_band() const noexcept { return header_bits_ != bitmap_.words(); }
    page_state state_of(std::size_t page) const noexcept {
        if (bitmap_.is_taken(page)) return page_state::taken;
        if ((dirty_[page / 64].load(std::memory_order_relaxed) >> page % 64 & 1) != 0) return page_state::dirty;
        return system_.are_usable(page, 1) ? page_state::clean : page_state::untouched;
    }
    // Says whose a taken page is; null before it is given back.
    void set_owner(const std::byte* page, const void* owner) noexcept {
        owners_[index(page)].store(owner, std::memory_order_relaxed);
    }
    detail::arena_view view() const noexcept {
        return {reinterpret_cast<std::uintptr_t>(begin_), bytes_, owners_, page_mask(), shift_};
    }
    const char* name() const noexcept { return name_; }
    // Which kind of OS pages it got: "plain", "transparent", "hugetlb" or "borrowed".
    const char* page_kind() const noexcept { return page_kind_; }
    // Whether its memory is kept from being swapped: asked for, and never refused by the system.
    bool locked() const noexcept { return system_.are_locked(); }
    std::size_t limit() const noexcept { return limit_pages_ << shift_; }

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
        f.largest_free_run = bitmap_.largest_free_run() << shift_;
        f.returned = returned();
        return f;
    }
    // Bytes given back to the system so far.
    std::size_t returned() const noexcept { return returned_.load(std::memory_order_relaxed); }
    // What the system says is in memory; a walk over the committed range, for reports.
    std::size_t resident() const noexcept {
        if (page_count() == 0) return 0;
        return backing_ != nullptr ? backing_->committed_bytes() : system_.resident();
    }
    void report(text_writer& out) const noexcept;

    // No other thread may use the arena meanwhile.
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
        if (own_metadata_ != nullptr)
            sys::unmap(own_metadata_,
                       detail::arena_metadata::own_bytes(page_count(), idle_ != nullptr, headers_out_of_band()));
        if (mapping_ != 0) sys::unmap(begin_, mapping_);
        own_metadata_ = begin_ = nullptr;
        mapping_ = bytes_ = limit_pages_ = 0;
    }
    // False when there is no memory for the bitmaps; the arena is then empty.
    bool start(const arena_range& range, std::size_t limit_bytes, const char* name) noexcept {
        name_ = name;
        std::byte* out_of_band = range.out_of_band;
        const std::size_t pages = range.bytes >> range.page_shift;
        if (out_of_band == nullptr) {
            const std::size_t bytes =
                detail::arena_metadata::own_bytes(pages, range.idle != nullptr, range.headers_out_of_band);
            out_of_band = own_metadata_ = sys::reserve(bytes, sys::os_page_bytes());
            if (out_of_band != nullptr && !sys::commit(out_of_band, bytes)) {
                sys::unmap(out_of_band, bytes);
                out_of_band = own_metadata_ = nullptr;
            }
            if (out_of_band == nullptr) return false;
        }
        begin_ = range.begin;
        bytes_ = range.bytes;
        shift_ = range.page_shift;
        mapping_ = range.mapping;
        returns_pages_ = range.returns_pages;
        under_pressure_ = range.under_pressure;
        page_kind_ = range.page_kind;
        limit_pages_ = detail::min(limit_bytes >> shift_, pages);
        bitmap_.start(out_of_band, pages);
        out_of_band += detail::page_bitmap::bytes_for(pages);
        dirty_ = reinterpret_cast<word*>(out_of_band);
        out_of_band += detail::arena_metadata::dirty_bytes(pages);
        idle_ = own_metadata_ != nullptr ? range.idle : nullptr; // lent memory never goes back
        if (idle_ != nullptr) {
            idle_->start(out_of_band);
            out_of_band += detail::idle_pages::bytes_for(pages);
        }
        owners_ = reinterpret_cast<detail::page_owner*>(out_of_band);
        out_of_band += pages * sizeof(detail::page_owner);
        header_bits_ = range.headers_out_of_band ? reinterpret_cast<const word*>(out_of_band) : bitmap_.words();
        backing_ = range.backing;
        system_.start(range, pages);
        return true;
    }

  private:
    friend class arena_client;
    friend class detail::arena_table;
    using word = std::atomic<std::uint64_t>;

    std::uint64_t existing_pages(std::size_t w) const noexcept {
        const std::size_t left = page_count() - w * 64;
        return detail::page_bitmap::run_mask(0, detail::min(left, std::size_t{64}));
    }
    // Whether nothing else can lie in the table's granules that it touches.
    bool has_granules_alone(std::size_t granule) const noexcept {
        return mapping_ != 0 && reinterpret_cast<std::uintptr_t>(begin_) % granule == 0 && mapping_ % granule == 0;
    }
    std::byte* at(std::size_t page) const noexcept { return begin_ + (page << shift_); }
    std::size_t index(const std::byte* first) const noexcept {
        return static_cast<std::size_t>(first - begin_) >> shift_;
    }

    // ---- under the lock -------------------------------------------------------------------------------------

    bool within_limit(std::size_t pages) const noexcept {
        const std::size_t taken = taken_.load(std::memory_order_acquire); // see put_back()
        return taken <= limit_pages_ && pages <= limit_pages_ - taken;
    }
    void count_taken(std::size_t pages) noexcept { taken_.fetch_add(pages, std::memory_order_relaxed); }
    // Free pages that trim() works on look taken meanwhile.
    bool begin_trim(std::size_t first, std::size_t n) noexcept {
        const detail::lock_guard hold(lock_);
        const bool ok = bitmap_.take_at(first, n);
        if (ok) in_trim_ += n;
        return ok;
    }
    void end_trim(std::size_t first, std::size_t n) noexcept {
        const detail::lock_guard hold(lock_);
        bitmap_.give(first, n);
        in_trim_ -= n;
    }
    std::uint64_t free_and_dirty(std::size_t w) const noexcept {
        return ~bitmap_.taken_in_word(w) & dirty_[w].load(std::memory_order_acquire);
    }
    // Gives the free ones of these pages of a word back to the system, and clean neighbours in the same huge OS page;
    // adds the bytes of the former to `bytes`. False when the system refuses.
    bool return_pages(std::size_t w, std::uint64_t pages, std::size_t& bytes) noexcept {
        const std::uint64_t others = bitmap_.taken_in_word(w) | (dirty_[w].load(std::memory_order_acquire) & ~pages);
        const std::uint64_t idle = backing_ == nullptr ? system_.in_huge_pages(pages) & ~others : whole_units(w, pages);
        for (std::uint64_t wide = idle & existing_pages(w); wide != 0;) {
            const auto low = static_cast<std::size_t>(std::countr_zero(wide));
            const auto n = static_cast<std::size_t>(std::countr_one(wide >> low));
            const std::uint64_t bits = detail::page_bitmap::run_mask(low, n);
            wide &= ~bits;
            if (!begin_trim(w * 64 + low, n)) continue; // somebody was quicker
            const bool gone =
                backing_ == nullptr ? system_.return_pages(w * 64 + low, n) : backing_->decommit(w * 64 + low, n);
            if (gone) {
                const std::uint64_t was = dirty_[w].fetch_and(~bits, std::memory_order_acq_rel) & bits;
                const std::size_t back = (backing_ != nullptr ? n : static_cast<std::size_t>(std::popcount(was)))
                                         << shift_;
                returned_.fetch_add(back, std::memory_order_relaxed);
                bytes += back;
            }
            end_trim(w * 64 + low, n);
            if (!gone) return false;
        }
        return true;
    }
    // The units of the backing that have some of these pages of a word, and none that is taken.
    std::uint64_t whole_units(std::size_t w, std::uint64_t pages) const noexcept {
        const std::size_t each = backing_->pages_per_unit();
        const std::uint64_t taken = bitmap_.taken_in_word(w) & existing_pages(w);
        std::uint64_t whole = 0;
        for (std::size_t at = 0; at < 64; at += each)
            if (const std::uint64_t unit = detail::page_bitmap::run_mask(at, each);
                (pages & unit) != 0 && (taken & unit) == 0)
                whole |= unit;
        return whole;
    }
    bool grow(std::size_t first, std::size_t n) noexcept {
        {
            const detail::lock_guard hold(lock_);
            if (!within_limit(n) || !bitmap_.take_at(first, n)) return false;
            count_taken(n);
        }
        return n == 0 || commit_or_put_back(first, n);
    }

    // ---- outside of it --------------------------------------------------------------------------------------

    // Whoever takes in the room that this makes sees what was done before.
    void put_back(std::size_t first, std::size_t n) noexcept {
        [[maybe_unused]] const bool were_taken = bitmap_.give(first, n);
        ALLOT_ASSERT(were_taken, "pages given back to an arena twice");
        taken_.fetch_sub(n, std::memory_order_release);
    }
    void mark_dirty(std::size_t first, std::size_t n) noexcept {
        detail::page_bitmap::for_words(first, n, [&](std::size_t w, std::uint64_t bits) {
            if ((dirty_[w].load(std::memory_order_relaxed) & bits) != bits)
                dirty_[w].fetch_or(bits, std::memory_order_acq_rel);
        });
    }
    bool commit_or_put_back(std::size_t first, std::size_t n) noexcept {
        if (ALLOT_UNLIKELY(!system_.are_usable(first, n)) && !commit(first, n) &&
            (!under_pressure_ || trim() == 0 || !commit(first, n))) {
            put_back(first, n);
            return false;
        }
        const std::size_t now = confirmed_.fetch_add(n, std::memory_order_relaxed) + n;
        std::size_t peak = peak_.load(std::memory_order_relaxed);
        while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
        }
        return true;
    }
    ALLOT_COLD bool commit(std::size_t first, std::size_t n) noexcept {
        return backing_ != nullptr ? backing_->commit(first, n) // nothing becomes usable for ok: every take asks
                                   : system_.commit(first, n);
    }

    std::byte* begin_ = nullptr; // the line that every question about an address reads
    std::size_t bytes_ = 0;
    unsigned shift_ = 20;
    bool returns_pages_ = false;
    bool under_pressure_ = false;
    const char* name_ = "";
    const char* page_kind_ = "plain";
    std::size_t limit_pages_ = 0;
    word* dirty_ = nullptr; // pages that may hold memory of the system
    detail::page_owner* owners_ = nullptr;
    std::byte* own_metadata_ = nullptr;
    std::size_t mapping_ = 0;
    detail::idle_pages* idle_ = nullptr;
    std::atomic<std::size_t> returned_{0};
    const word* header_bits_ = nullptr; // of pages whose header stands in them: the bitmap's words, or none is
    page_backing* backing_ = nullptr;

    alignas(64) spin_lock lock_; // for takers
    std::size_t in_trim_ = 0;    // pages, under the lock
    detail::page_bitmap bitmap_;
    detail::system_pages system_;

    alignas(64) std::atomic<std::size_t> taken_{0};
    std::atomic<std::size_t> confirmed_{0}; // of these, got by their taker: what is being committed may still fail
    std::atomic<std::size_t> peak_{0};      // of confirmed_
    mutable spin_lock clients_lock_;
    arena_client* clients_ = nullptr;
    detail::client_walk* walks_ = nullptr; // of who asks them now
};

} // namespace allot::inline ALLOT_ABI
