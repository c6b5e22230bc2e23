// The chunks of a chunk arena: runs of pages of its arena, cut by a fit; and runs of pages for larger blocks.
//
// One lock guards the fit; pages are taken without it. Where a chunk cannot be taken, half of it is tried, down to what
// the request needs. Free pages go back to the arena (whole chunks, where the fit has them whole): all of them when a
// request is short of pages; chunks, where more than an eighth of all and a chunk is free, at the next request for
// blocks. So a long-lived block holds its page, not its chunk, and requests of any size compete for the same pages. A
// private arena's pages stay charged until it returns them to the system (charged_pages.hpp). A request is not refused
// because of pages in transit (pages_in_transit.hpp).
// Requirements of a fit: add(address, bytes, segment), remove(free run, from, bytes), allocate(bytes, align),
// release(address), grow, shrink, bytes_of, visit_free(0, least, visit), largest(), statistics, valid().
// Invariant: pages held are the fit's ranges and the large blocks, and are charged. Cost: a spin lock and the fit's
// cost; a page request where nothing fits. Threads: any, except where noted.
// Source: chunks, Netty 2013; requests of its users: memory that is returned (#9381), chunks not held by one block
// (#16827).
#pragma once

#include <allot/account/books.hpp>
#include <allot/chunk/block_table.hpp>
#include <allot/chunk/charged_metadata.hpp>
#include <allot/chunk/page_blocks.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/page/charged_pages.hpp>
#include <allot/page/pages_in_transit.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/poison.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Policies> class chunk_heap {
    using fit_type = typename Policies::fit;
    using run = decltype(std::declval<fit_type&>().largest());
    using classes = typename Policies::classes;
    using pages_type = charged_pages<typename Policies::ledger>;

  public:
    static constexpr std::size_t unit = classes::unit;
    static constexpr unsigned max_classes = 124;
    static constexpr std::size_t max_chunk = std::size_t{64} << 20;
    // A cut takes some 100 ns, and 32 to 80 bytes of metadata for what it frees.
    static constexpr std::size_t least_cut = 1024;
    // Empties all caches into this heap. Called without a lock.
    using flusher = void (*)(void* context) noexcept;

    ALLOT_OUTLINE_OF(chunk_heap)
    chunk_heap(pages_type& pages, const books_of_object& books, std::size_t chunk_bytes, flusher flush,
               void* context) noexcept
        : books_(books), begin_(reinterpret_cast<std::uintptr_t>(pages.arena().begin())),
          span_(pages.arena().page_count() << pages.arena().page_shift()), pages_(pages), chunk_(chunk_bytes),
          largest_block_(
              largest_of(Policies::whole_pages ? min(chunk_bytes, 4 * pages.arena().page_bytes()) : chunk_bytes)),
          flush_(flush), context_(context),
          blocks_(pages, map_, in_transit_, Policies::whole_pages ? chunk_bytes / 2 >> pages.arena().page_shift() : 0) {
    }
    chunk_heap(const chunk_heap&) = delete;
    chunk_heap& operator=(const chunk_heap&) = delete;

    // Requests for blocks that wait.
    std::atomic<std::uint32_t>& waiting() noexcept { return waiting_; }
    bool open() noexcept { return map_.open(span_, arena().page_count()); }
    page_arena& arena() const noexcept { return pages_.arena(); }
    block_table& map() noexcept { return map_; }
    const block_table& map() const noexcept { return map_; }
    std::size_t chunk_bytes() const noexcept { return chunk_; }
    // The bytes of the largest block of a class. Larger ones are whole pages.
    std::size_t largest_block() const noexcept { return largest_block_; }
    // From the arena's start; not less than span() for an address outside.
    ALLOT_ALWAYS_INLINE std::size_t distance(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - begin_;
    }
    ALLOT_ALWAYS_INLINE std::size_t span() const noexcept { return span_; }

    // ---- blocks of a class --------------------------------------------------------------------------------
    // Allocates up to `wanted` blocks of class c into `out`, marked `cached` in the block table, at multiples of
    // `align`, which is at most a page. Returns their number; 0: no memory.
    ALLOT_OUTLINE_OF(chunk_heap)
    std::uint32_t take(unsigned c, std::size_t align, std::byte** out, std::uint32_t wanted,
                       memory_request& asked) noexcept {
        if constexpr (Policies::in_tree)
            if (!books_.pay(asked)) return 0;
        if (ALLOT_UNLIKELY(excess_.load(std::memory_order_relaxed))) return_excess();
        const bool asks = pages_.is_strained();
        if (ALLOT_UNLIKELY(asks) && !may_take(asked)) return 0;
        const std::size_t least = align_up(classes::bytes_of(c), arena().page_bytes());
        std::uint32_t got = cut(c, align, out, wanted);
        if (ALLOT_UNLIKELY(asks) && got != 0) pages_.took(asked);
        for (std::size_t chunk = growth(least); got == 0; chunk = max(chunk / 2, least)) {
            got = add(chunk, c, align, out, wanted, asked);
            if (chunk == least) break;
        }
        return got;
    }
    // Frees blocks that are out of all caches.
    ALLOT_OUTLINE_OF(chunk_heap) void give(std::byte* const* blocks, std::uint32_t n) noexcept {
        const lock_guard hold(lock_);
        for (std::uint32_t i = 0; i != n; ++i) give_locked(blocks[i]);
        if constexpr (Policies::returns_pages)
            if (fit_.free_bytes() > trim_threshold_) excess_.store(true, std::memory_order_relaxed);
        note_free();
    }
    // Changes the class of a block in place: larger to `to`, smaller to `to` or as near as the fit allows, where that
    // frees enough. Returns its class now; `from`: nothing has changed.
    ALLOT_OUTLINE_OF(chunk_heap) unsigned resize(std::byte* block, unsigned from, unsigned to) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        const std::size_t bytes = classes::bytes_of(to), now_has = classes::bytes_of(from);
        if (to < from && now_has - bytes < max(now_has / 4, least_cut)) return from;
        const lock_guard hold(lock_);
        if (to > from ? !fit_.grow(address, bytes) : !fit_.shrink(address, bytes)) return from;
        const std::size_t now = fit_.bytes_of(address);
        for (unsigned c = classes::class_of(now); to < c; --c)
            if (classes::bytes_of(c) <= now) to = c;
        const std::size_t has = classes::bytes_of(to);
        if constexpr (Policies::host_access) // of the rest another block may be made once lock_ is free
            has < now_has ? sys::poison(block + has, now_has - has) : sys::unpoison(block + now_has, has - now_has);
        --out_[from];
        ++out_[to];
        if (to < from) note_free();
        return to;
    }

    // ---- blocks of pages ----------------------------------------------------------------------------------
    // See page_blocks.hpp.
    ALLOT_OUTLINE_OF(chunk_heap)
    std::byte* take_pages(std::size_t pages, std::size_t align, memory_request& asked) noexcept {
        if (ALLOT_UNLIKELY(pages_.is_strained()) && !may_take(asked)) return nullptr;
        return blocks_.take(pages, align, asked);
    }
    std::size_t pages_of(const std::byte* p) const noexcept { return blocks_.pages_of(p); }
    ALLOT_OUTLINE_OF(chunk_heap) void give_pages(std::byte* p) noexcept {
        blocks_.give(p);
        pages_.notify_unused();
    }
    ALLOT_OUTLINE_OF(chunk_heap) bool resize_pages(std::byte* p, std::size_t pages) noexcept {
        return blocks_.resize(p, pages);
    }
    void note_growth(std::size_t pages) noexcept { blocks_.note_growth(pages); }

    // ---- free pages ----------------------------------------------------------------------------------------
    // Empties the caches and gives all free pages back to the arena. Returns their number.
    ALLOT_OUTLINE_OF(chunk_heap) std::size_t reclaim() noexcept {
        flush_(context_);
        std::size_t pages = 0;
        while (const std::size_t kept = blocks_.drop_kept()) pages += kept;
        excess_.store(false, std::memory_order_relaxed);
        return pages + return_pages(true, arena().page_bytes());
    }
    // The k-th way to return memory that no block uses; false: there is no such way.
    ALLOT_OUTLINE_OF(chunk_heap) bool return_idle(unsigned way) noexcept {
        if (way != 0) return false;
        const std::size_t pages = reclaim();
        pages_.record(watch_event::reclaimed, pages << arena().page_shift());
        return true;
    }
    pages_in_transit& in_transit() noexcept { return in_transit_; }
    void open_caches() noexcept { pages_.open_caches(); }
    // Gives free pages back while more than kept_free_bytes() are free; in whole chunks, so that the arena keeps runs
    // for the next chunk.
    ALLOT_OUTLINE_OF(chunk_heap) void return_excess() noexcept {
        excess_.store(false, std::memory_order_relaxed);
        return_pages(false, chunk_);
    }
    // For another client of the arena: also waits for pages that threads of this heap are moving.
    ALLOT_OUTLINE_OF(chunk_heap) std::size_t reclaim_for_arena() noexcept {
        std::size_t pages = reclaim();
        if (pages_in_transit::request{in_transit_}.wait()) pages += return_pages(true, arena().page_bytes());
        return pages;
    }
    // Gives all pages back to the arena. No thread may use the heap any more. Cost: by what was used; see
    // visit_words().
    ALLOT_OUTLINE_OF(chunk_heap) void drop_pages() noexcept {
        std::size_t left = held_bytes() >> arena().page_shift();
        if (left == 0) return;
        map_.visit_words([&](std::size_t page) {
            map_.set_word(page, 0);
            pages_.give(address_of(page), 1);
            return --left != 0;
        });
    }
    // Whether fit and counts agree. For tests.
    ALLOT_OUTLINE_OF(chunk_heap) bool valid() noexcept {
        const lock_guard hold(lock_);
        std::size_t out = 0;
        for (const std::size_t n : out_) out += n;
        return fit_.valid() && fit_.live_runs() == out;
    }

    // ---- statistics ---------------------------------------------------------------------------------------
    // In `out` bytes and `blocks`, live and cached ones count, in large_pages live and kept ones; `large` is the number
    // of live ones.
    struct state {
        std::size_t bytes = 0, out = 0, blocks = 0, largest = 0, metadata = 0;
        std::size_t large = 0, large_pages = 0, kept_pages = 0;
        std::array<std::size_t, max_classes> of_class{}; // blocks, live or cached
    };
    ALLOT_OUTLINE_OF(chunk_heap) state snapshot() const noexcept {
        const lock_guard hold(lock_);
        return {fit_.bytes(),
                fit_.live_bytes(),
                fit_.live_runs(),
                fit_.largest().bytes,
                fit_.metadata_bytes() + map_.bytes(),
                blocks_.live(),
                blocks_.pages(),
                blocks_.kept_pages(),
                out_};
    }
    std::size_t held_bytes() const noexcept {
        const lock_guard hold(lock_);
        return fit_.bytes() + (blocks_.pages() << arena().page_shift());
    }
    // Whether an address that begins no block is inside one; for a report of misuse.
    ALLOT_OUTLINE_OF(chunk_heap) bool is_inside_a_block(const void* p) const noexcept {
        const std::size_t at = distance(p), page = at >> arena().page_shift();
        const std::uint32_t w = map_.word(page);
        if (w > 1) return true; // a page of a block of whole pages
        if (w == 0) return false;
        for (std::size_t back = at / unit * unit, steps = chunk_ / unit; steps != 0; back -= unit, --steps) {
            const std::uint8_t s = map_.at(back);
            if (s == 0 && back == 0) return false;
            if (s == 0) continue;
            return (s & block_table::free_bit) == 0 && s != block_table::large &&
                   at - back < classes::bytes_of(block_table::class_in(s));
        }
        return false;
    }

  private:
    std::size_t page_of(const std::byte* p) const noexcept { return distance(p) >> arena().page_shift(); }
    std::byte* address_of(std::size_t page) const noexcept { return arena().begin() + (page << arena().page_shift()); }
    static constexpr std::size_t largest_of(std::size_t bytes) noexcept {
        const unsigned c = classes::class_of(bytes);
        return classes::bytes_of(classes::bytes_of(c) <= bytes ? c : c - 1);
    }
    // Requires lock_. The block table holds memory for the most that the fit had, until the end.
    void note_size() noexcept {
        if (fit_.bytes() <= most_bytes_) return;
        books_.owe_pages((fit_.bytes() - most_bytes_) / unit);
        most_bytes_ = fit_.bytes();
    }
    // How much to ask the arena for: a chunk; while there is little, a 16th of what is held, where a fit joins ranges.
    std::size_t growth(std::size_t least) const noexcept {
        if constexpr (!Policies::joins_ranges) return chunk_;
        const lock_guard hold(lock_);
        const std::size_t part = std::size_t{1} << log2_floor(max(fit_.bytes() / 16, arena().page_bytes()));
        return min(max(part, least), chunk_);
    }
    bool may_take(memory_request& asked) noexcept {
        return pages_.may_take(asked, [this] { static_cast<void>(reclaim()); });
    }
    std::uint32_t cut(unsigned c, std::size_t align, std::byte** out, std::uint32_t wanted) noexcept {
        const lock_guard hold(lock_);
        return cut_locked(c, align, out, wanted);
    }
    // Requires lock_.
    std::uint32_t cut_locked(unsigned c, std::size_t align, std::byte** out, std::uint32_t wanted) noexcept {
        const std::size_t bytes = classes::bytes_of(c);
        std::uint32_t got = 0;
        for (; got != wanted; ++got) {
            const run r = fit_.allocate(bytes, align);
            if (!r) break;
            out[got] = reinterpret_cast<std::byte*>(r.address);
            map_.set(distance(out[got]), block_table::cached(c));
        }
        out_[c] += got;
        trim_threshold_ = min(trim_threshold_, next_threshold());
        return got;
    }
    // Free bytes to keep for the next requests: a chunk, or an eighth of all.
    std::size_t kept_free_bytes() const noexcept { return max(chunk_, fit_.bytes() / 8); }
    // Free bytes above which return_excess() is worth a try: a chunk more than now. Requires lock_.
    std::size_t next_threshold() const noexcept { return max(fit_.free_bytes(), kept_free_bytes()) + chunk_; }
    // Blocks became free, which requests of this heap may wait for; requests of others only wait for pages. Requires
    // lock_.
    void note_free() noexcept {
        if (waiting_.load(std::memory_order_seq_cst) != 0 ||
            ((pages_type::notifies || arena().level().is_waited_for()) && fit_.largest().bytes >= arena().page_bytes()))
            pages_.notify_unused();
    }
    // Requires lock_.
    void give_locked(std::byte* block) noexcept {
        const std::size_t at = distance(block);
        --out_[block_table::class_in(map_.at(at))];
        map_.set(at, 0);
        [[maybe_unused]] const std::size_t bytes = fit_.release(reinterpret_cast<std::uintptr_t>(block));
        ALLOT_ASSERT(bytes != 0,
                     "a cached block is in no chunk: its entry of the block table, or the cache, was overwritten");
    }
    // Adds a chunk to the fit and, before another thread can use it or give it back, allocates from it.
    std::uint32_t add(std::size_t chunk, unsigned c, std::size_t align, std::byte** out, std::uint32_t wanted,
                      memory_request& asked) noexcept {
        const std::size_t pages = chunk >> arena().page_shift();
        pages_in_transit::move taken{in_transit_};
        std::byte* const p = pages_.take(pages, asked, taken);
        if (p == nullptr) return 0;
        if constexpr (Policies::host_access) sys::poison(p, chunk); // until it is a block
        map_.set_words(page_of(p), pages, 1);
        bool added = false;
        std::uint32_t got = 0;
        {
            const lock_guard hold(lock_);
            added = fit_.add(reinterpret_cast<std::uintptr_t>(p), chunk, 0);
            if (added) got = cut_locked(c, align, out, wanted), note_size();
            else map_.set_words(page_of(p), pages, 0); // the fit has no metadata for it
        }
        if (!added) return pages_.give(p, pages, [&] { taken.end(); }), 0;
        taken.end();
        pages_.settled();
        return got;
    }
    // Gives whole free pages back to the arena, in multiples of `step` bytes or in whole ranges of the fit: all, or
    // until kept_free_bytes() are left. Returns their number.
    std::size_t return_pages(bool all, std::size_t step) noexcept {
        std::size_t pages = 0;
        for (;;) {
            pages_in_transit::move given{in_transit_};
            std::byte* first = nullptr;
            std::size_t n = 0;
            {
                const lock_guard hold(lock_);
                const std::size_t free = fit_.free_bytes(), keep = all ? 0 : kept_free_bytes();
                if (free >= keep + step) n = free_pages(first, free - keep, step);
                if (n != 0) {
                    map_.set_words(page_of(first), n, 0);
                    given.begin();
                } else {
                    trim_threshold_ = next_threshold(); // no free run qualifies
                }
            }
            if (n == 0) return all ? drop_metadata() : void(), pages;
            pages_.give(first, n, [&] { given.end(); });
            pages += n;
        }
    }
    // A fit without ranges needs none.
    void drop_metadata() noexcept {
        const lock_guard hold(lock_);
        if (fit_.bytes() != 0 || fit_.metadata_bytes() == 0) return;
        fit_.~fit_type();
        ::new (static_cast<void*>(&fit_)) fit_type{unit, charged_metadata{books_}};
    }
    // Removes whole pages from the fit: of the first free run with at least `step` bytes of them. Requires lock_.
    std::size_t free_pages(std::byte*& first, std::size_t most, std::size_t step) noexcept {
        const std::size_t page = arena().page_bytes();
        run found{};
        std::uintptr_t from = 0;
        std::size_t bytes = 0;
        fit_.visit_free(0, step, [&](const run& r) {
            const std::uintptr_t end = align_down(r.address + r.bytes, page);
            from = align_up(r.address, page);
            if (end <= from || end - from < step) return true;
            bytes = end - from;
            if constexpr (requires { fit_.is_range(r); }) {
                if (!fit_.is_range(r) || bytes > most) return true;
            } else {
                bytes = align_down(min(bytes, most), step);
            }
            found = r;
            return false;
        });
        if (!found || !fit_.remove(found, from, bytes)) return 0;
        first = reinterpret_cast<std::byte*>(from);
        return bytes >> arena().page_shift();
    }

    const books_of_object books_;
    const std::uintptr_t begin_;
    const std::size_t span_;
    pages_type& pages_;
    const std::size_t chunk_;
    const std::size_t largest_block_;
    const flusher flush_;
    void* const context_;
    block_table map_;
    std::atomic<std::uint32_t> waiting_{0};
    std::atomic<bool> excess_{false}; // more is free than trim_threshold_
    pages_in_transit in_transit_;
    page_blocks<pages_type, Policies::host_access> blocks_; // after the members that it uses
    mutable basic_spin_lock<lock_rank::heap> lock_;
    fit_type fit_{unit, charged_metadata{books_}};
    std::size_t most_bytes_ = 0; // of the fit so far
    std::size_t trim_threshold_ = 2 * chunk_;
    std::array<std::size_t, max_classes> out_{}; // blocks, live or cached, by class
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
