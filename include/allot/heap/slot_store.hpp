// The pages of a heap and their slots: takes pages from a provider, cuts them into slots, claims and frees slots.
//
// Claiming holds the heap's spin lock for a short, bounded time, never across a system call. Freeing needs no lock: it
// updates the heaplet's free slots and its state word, and pushes the page on a lock-free list if its state changed.
// Invariant: that of heap/page_queues.hpp.
// Cost: one lock per batch of up to 32 slots. Threads: any, except where a member says otherwise.
// Source: HPCC roxiemem's CHeap and space list, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/header_location.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/heap_config.hpp>
#include <allot/heap/heap_hardening.hpp>
#include <allot/heap/heap_layout.hpp>
#include <allot/heap/heaplet.hpp>
#include <allot/heap/leaving_pages.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/heap/page_queues.hpp>
#include <allot/heap/scan_counters.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/slots/deferred_frees.hpp>
#include <allot/slots/geometry.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/poison.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Slots, class Guard = guard::none, class Location = header_in_page> class slot_store {
  public:
    using page = heaplet<Slots, Guard, Location>;
    using guard_type = Guard;
    using hardening = heap_hardening<Slots, Guard, Location>;
    using lock_type = basic_spin_lock<lock_rank::heap>;
    using deferred_type = typename decltype(deferred_frees_for<Slots>())::type;
    // The policy takes and frees groups: words of bits.
    static constexpr bool groups = requires(typename Slots::in_page& slots) { slots.put_group(0, 0); };
    // The policy scans for free slots and counts those it examines.
    static constexpr bool scans = requires(typename Slots::in_page& slots) { slots.scanned(); };

    // `heap`: of which it is a part; noted when a page becomes empty, and written into the headers of its pages.
    slot_store(page_provider& provider, const heap_config& config, heap_base& heap) noexcept
        : layout_{config, provider, cut_for(config, provider.page_bytes() * config.pages)}, heap_(heap),
          guards_(cut().capacity) {}
    slot_store(const slot_store&) = delete;
    slot_store& operator=(const slot_store&) = delete;

    // Slots per page; 0 if a row does not fit in a page.
    static std::size_t rows_per_page(const heap_config& config, std::size_t page_bytes) noexcept {
        return cut_for(config, page_bytes).capacity;
    }
    // Makes it the store of another config. Requires lock(), no pages, and an unused heap.
    void configure(const heap_config& config) noexcept {
        layout_.config = config;
        layout_.cut = cut_for(config, layout_.page_bytes());
        guards_.set_slots_of_page(cut().capacity);
        scans_ = {};
    }

    const heap_layout& layout() const noexcept { return layout_; }
    const heap_config& config() const noexcept { return layout_.config; }
    const slot_geometry& cut() const noexcept { return layout_.cut; }
    page_provider& provider() const noexcept { return layout_.provider; }
    std::uintptr_t tag() const noexcept { return heap_tag::of(&heap_, config().index); }
    hardening& guards() noexcept { return guards_; }
    const hardening& guards() const noexcept { return guards_; }

    lock_type& lock() noexcept { return lock_; }
    // The next two require lock().
    page_queues<page>& pages() noexcept { return pages_; }
    const auto& scan_counts() const noexcept { return scans_; }

    // Reports the damage that was logged while a lock was held. Requires that no lock is held.
    void report_damage() noexcept { guards_.report_logged_damage(layout_); }
    void note_empty() noexcept { provider().note_empty(heap_); }

    // Takes slots into a place for them (slot_caches.hpp); false if out of memory. The place's members:
    //   take_cached()       takes one that it has by now: a listener of the page request released rows into it
    //   claim_freed(page)   takes freed slots of the page; false: it found none
    //   claim_untouched(page)  takes slots of a page that has untouched ones; its cache is empty
    //   free_more()         before a page is taken: true means that slots were freed
    //   find_waiting()      before the request fails: takes slots that are free and in no page
    // The first three are called with the lock.
    template <class Place> bool take_slots(Place& place, detail::memory_request& asked) noexcept {
        const bool got = find_slots(place, asked);
        if (got) provider().note_claim();
        report_damage();
        return got;
    }

    // Claims up to n freed slots of a page; returns their number. Requires lock(), as the next ones.
    std::size_t claim_freed(page& p, std::byte** out, std::size_t n) noexcept {
        const std::size_t got = p.slots.claim(p.base(), cut(), out, n);
        claimed(p, got);
        if constexpr (scans) scans_.add(p.slots.scanned(), got);
        guards_.log_if_broken(layout_, p);
        return got;
    }
    void claimed(page& p, std::size_t n) noexcept {
        if (n != 0) p.claim(static_cast<std::uint32_t>(n));
    }
    // Hands out the next n untouched slots; returns the first. Requires that there are n.
    std::byte* begin_slots(page& p, std::uint32_t n) noexcept {
        const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed);
        std::byte* const first = p.row(fresh);
        std::byte* row = first;
        for (std::uint32_t i = 0; i != n; ++i, row += cut().stride) {
            if (has_counts()) clear_count(row);
            guards_.begin_slot(layout_, row);
        }
        p.fresh.store(fresh + n, std::memory_order_relaxed);
        if constexpr (scans) p.slots.set_high_water_mark(fresh + n);
        return first;
    }

    // Frees n slots without the lock. Never waits.
    void put(std::byte* const* rows, std::size_t n, deferred_type& deferred) noexcept {
        deferred.sweep(count_callback());
        by_pages(rows, n, provider().arena().page_mask(), [&](page& p, std::byte* const* of_page, std::size_t k) {
            p.slots.put(p.base(), cut(), of_page, k);
            deferred.add(p.base(), static_cast<std::uint32_t>(k), provider().arena().page_shift(), cut().capacity,
                         count_callback());
        });
        provider().note_free_slots();
    }
    // Frees one slot, bypassing all caches. Never waits.
    ALLOT_OUTLINE_OF(slot_store) ALLOT_NOINLINE void put_one(std::byte* row) noexcept {
        page& p = page_of_slot(row);
        p.slots.put(p.base(), cut(), &row, 1);
        count(p, 1);
    }
    // Counts frees that a cache deferred; called by deferred_frees.
    auto count_callback() noexcept {
        return [this](std::byte* base, std::uint32_t n) { count(page_of_base(base), n); };
    }
    // The same with lock_ held.
    auto locked_count_callback() noexcept {
        return [this](std::byte* base, std::uint32_t n) { count_locked(page_of_base(base), n); };
    }
    // Frees n slots, counted without an atomic operation unless a page's locked frees are flushed. Requires lock().
    void put_locked(std::byte* const* rows, std::size_t n, deferred_type& deferred) noexcept {
        deferred.sweep(locked_count_callback());
        put_locked(rows, n);
    }
    ALLOT_ALWAYS_INLINE void put_locked(std::byte* const* rows, std::size_t n) noexcept {
        const std::uintptr_t mask = provider().arena().page_mask();
        const slot_geometry cut = layout_.cut; // a copy stays in registers: stores to rows could alias it
        if (are_close(rows[0], rows[n - 1])) {
            by_pages(rows, n, mask, [&](page& p, std::byte* const* of_page, std::size_t k) {
                p.slots.put_locked(p.base(), cut, of_page, k);
                count_locked(p, static_cast<std::uint32_t>(k));
            });
        } else { // random order: grouping by page would only cost mispredicted branches
            for (std::size_t i = 0; i != n; ++i) {
                page& p = page_of_row(rows[i], mask);
                p.slots.put_locked(p.base(), cut, rows + i, 1);
                count_locked(p, 1);
            }
        }
        provider().note_free_slots();
    }

    // Frees slots of a group (slots/bitmap.hpp): those behind its first slot whose bits are set.
    ALLOT_OUTLINE_OF(slot_store)
    void put_group(std::byte* first, std::uint64_t bits) noexcept {
        if constexpr (groups) {
            page& p = page_of_slot(first);
            p.slots.put_group(p.index(first), bits);
            count(p, count_bits(bits));
        }
    }
    void put_group_locked(std::byte* first, std::uint64_t bits) noexcept {
        if constexpr (groups) {
            page& p = page_of_slot(first);
            p.slots.put_group_locked(p.index(first), bits);
            count_locked(p, count_bits(bits));
            provider().note_free_slots();
        }
    }
    page& page_of_slot(std::byte* row) const noexcept { return page_of_row(row, provider().arena().page_mask()); }
    // Whether an address is in a page of this heap.
    bool has_page_of(const std::byte* address) const noexcept {
        const page_arena& arena = provider().arena();
        const void* const owner = arena.contains(address) ? arena.owner_of(address) : nullptr;
        if constexpr (Location::out_of_band) {
            return detail::is_out_of_band(owner) &&
                   static_cast<const page_header*>(detail::header_of_word(owner))->owner == &heap_;
        } else {
            return owner == reinterpret_cast<const void*>(tag());
        }
    }

    // ---- pages ------------------------------------------------------------------------------------------------------

    // Takes empty pages out of the heap. Requires lock(). `keeps_one`: may keep one.
    ALLOT_OUTLINE_OF(slot_store) void collect(bool keeps_one, leaving_pages<page>& leaving) noexcept {
        if (pages_.collect(keeps_one, [&](page& p) { leaving.add(p); })) note_empty();
    }
    // Takes all pages out, live rows included; returns their number. No other thread may use the heap meanwhile.
    std::size_t drop_pages(leaving_pages<page>& leaving) noexcept {
        const detail::lock_guard hold(lock_);
        return pages_.drop([&](page& p) {
            guards_.end_rows(layout_, p);
            leaving.add(p);
        });
    }
    // For compaction, as heap_base says.
    std::size_t begin_moves() noexcept {
        const detail::lock_guard hold(lock_);
        return pages_.begin_moves(cut().capacity);
    }
    void end_moves() noexcept {
        const detail::lock_guard hold(lock_);
        pages_.end_moves();
    }
    ALLOT_OUTLINE_OF(slot_store)
    std::size_t exchange(std::byte* const* old, std::size_t n, std::byte** slots, std::size_t most) noexcept {
        const detail::lock_guard hold(lock_);
        if (n != 0) put_locked(old, n);
        return most != 0 ? pages_.claim_target([&](page& p) { return claim_for_moves(p, slots, most); }) : 0;
    }

  private:
    template <class Place> bool find_slots(Place& place, detail::memory_request& asked) noexcept {
        if (ALLOT_UNLIKELY(provider().is_strained())) return find_in_turn(place, asked);
        return find_listed(place) || claim_with_page(place, asked);
    }
    template <class Place> ALLOT_NOINLINE bool find_in_turn(Place& place, detail::memory_request& asked) noexcept {
        if (!provider().may_take(asked)) return false;
        if (place.take_cached()) return true;
        if (!find_listed(place)) return claim_with_page(place, asked);
        return provider().took(asked), true;
    }
    template <class Place> ALLOT_ALWAYS_INLINE bool find_listed(Place& place) noexcept {
        do {
            const detail::lock_guard hold(lock_);
            if (claim_listed(place)) return true;
        } while (place.free_more());
        return false;
    }
    // Takes a page without the lock, and uses it unless others have freed slots meanwhile; without one takes any free
    // slots. False: there are none.
    template <class Place> ALLOT_NOINLINE bool claim_with_page(Place& place, detail::memory_request& asked) noexcept {
        detail::pages_in_transit::move in_transit{provider().in_transit()};
        std::byte* const memory = take_page(asked, in_transit);
        bool used = false, got = false;
        {
            const detail::lock_guard hold(lock_);
            got = claim(place); // other threads may have freed slots or added a page
            used = !got && memory != nullptr;
            if (used) {
                pages_.add(*format(memory));
                got = claim(place);
            }
            if (!got) got = pages_.claim_any([&](page& p) { return claim_from(p, place); });
        }
        if (used) in_transit.end();
        else if (memory != nullptr) give_page(memory, in_transit); // in the heap no release would find it empty
        if (memory != nullptr) provider().settled();               // the take is over, whether it was used or not
        return got || place.find_waiting();
    }
    template <class Place> bool claim(Place& place) noexcept { return place.take_cached() || claim_listed(place); }
    template <class Place> ALLOT_ALWAYS_INLINE bool claim_listed(Place& place) noexcept {
        return pages_.claim([&](page& p) { return claim_from(p, place); });
    }
    // Prefers freed slots, which are warm, if there are at least 32 and an eighth of those handed out; then untouched
    // slots; then any freed slots.
    template <class Place> bool claim_from(page& p, Place& place) noexcept {
        if (p.is_broken()) return false;
        const std::uint32_t fresh = p.fresh.load(std::memory_order_relaxed);
        const std::int64_t freed = p.freed();
        const bool untouched = fresh != p.cut.capacity;
        const bool warm = freed > 0 && (!untouched || (freed >= 32 && freed * 8 >= fresh));
        if (warm && place.claim_freed(p)) return true;
        if (untouched) return place.claim_untouched(p), true;
        return !warm && freed > 0 && place.claim_freed(p);
    }
    // Freed slots of the page, then untouched ones: up to n in all. Requires lock().
    std::size_t claim_for_moves(page& p, std::byte** out, std::size_t n) noexcept {
        std::size_t got = p.freed() > 0 ? claim_freed(p, out, n) : 0;
        const std::size_t untouched = cut().capacity - p.fresh.load(std::memory_order_relaxed);
        const auto more = static_cast<std::uint32_t>(untouched < n - got ? untouched : n - got);
        if (more == 0 || p.is_broken()) return got;
        std::byte* row = begin_slots(p, more);
        for (std::uint32_t i = 0; i != more; ++i, row += cut().stride) out[got++] = row;
        return got;
    }

    bool has_counts() const noexcept { return cut().header >= sizeof(std::uint32_t); }
    // A link count of 0 marks a slot that holds no row. Requires has_counts().
    static void clear_count(std::byte* row) noexcept {
        constexpr std::uint32_t none = 0;
        sys::write_hidden(row - sizeof none, &none, sizeof none);
    }
    // The page may hold counts of rows that another heap dropped, or other bytes that look like one.
    void clear_counts(page& p) const noexcept {
        if (!has_counts()) return;
        bool was_used = false;
        for (std::size_t i = 0; i != p.pages(); ++i)
            was_used = was_used || provider().arena().was_used(p.base() + i * provider().page_bytes());
        if (!was_used) return;
        const std::size_t stride = cut().stride; // a copy stays in a register: stores to rows could alias it
        for (std::byte *row = p.row(0), *const end = p.row(cut().capacity); row != end; row += stride) clear_count(row);
    }

    // Counts n slots freed without the lock.
    void count(page& p, std::uint32_t n) noexcept {
        const auto change = pages_.count(p, n); // the page may be returned already
        if (change.note || (change.locked_frees && must_be_noted())) note_empty();
        provider().note_free_slots();
    }
    // A heap that is noted will be looked at. Requests that wait may have done that, and are to be woken again.
    bool must_be_noted() noexcept {
        return !heap_.noted.load(std::memory_order_relaxed) || provider().heaps().is_shut();
    }
    ALLOT_ALWAYS_INLINE void count_locked(page& p, std::uint32_t n) noexcept {
        if (ALLOT_UNLIKELY(p.locked_frees.add(n))) flush_or_defer(p);
    }
    ALLOT_OUTLINE_OF(slot_store) ALLOT_NOINLINE void flush_or_defer(page& p) noexcept {
        if (pages_.flush_or_defer(p)) note_empty();
    }
    // If the first and the last row of a batch are close, its rows were probably released in address order.
    bool are_close(const std::byte* a, const std::byte* b) const noexcept {
        const std::size_t apart = a < b ? static_cast<std::size_t>(b - a) : static_cast<std::size_t>(a - b);
        return apart <= std::size_t{cut().stride} * 128;
    }

    // A page for format() or give_page(): its address, or that of its new out-of-band header; the move is in progress
    // then. Null: refused, and it has ended.
    ALLOT_ALWAYS_INLINE std::byte* take_page(detail::memory_request& asked,
                                             detail::pages_in_transit::move& in_transit) noexcept {
        if constexpr (!Location::out_of_band) {
            return provider().take(1, asked, in_transit);
        } else {
            const std::size_t pages = config().pages;
            if (!provider().books().pay(asked)) return nullptr; // for headers before this one
            std::byte* const memory = provider().take(pages, asked, in_transit);
            if (memory == nullptr) return nullptr;
            const std::size_t bytes = page::header_bytes(cut(), config().out_of_band_count_bytes);
            std::byte* const header = allocate_header(bytes);
            if (header == nullptr) {
                provider().give(memory, pages, in_transit);
                asked.refuse(charge_outcome::no_memory, bytes);
                return nullptr;
            }
            provider().books().owe(bytes);
            auto& location = (::new (header) page)->location;
            location.memory = memory;
            location.pages = config().pages;
            location.bytes = static_cast<std::uint32_t>(bytes);
            return header;
        }
    }
    void give_page(std::byte* page_or_header, detail::pages_in_transit::move& in_transit) noexcept {
        if constexpr (Location::out_of_band) {
            const auto location = reinterpret_cast<page*>(page_or_header)->location;
            provider().give(location.memory, location.pages, in_transit);
            free_header(page_or_header);
            provider().books().end(location.bytes);
        } else {
            provider().give(page_or_header, 1, in_transit);
        }
    }
    // Makes a page that was taken a heaplet of this heap, as one that is listed. Before one of its slots is handed out,
    // only a stale address finds it, so the order of the writes is free.
    ALLOT_OUTLINE_OF(slot_store) page* format(std::byte* memory) noexcept {
        page* p;
        if constexpr (Location::out_of_band) p = reinterpret_cast<page*>(memory); // take_page() has made it
        else p = ::new (memory) page;
        p->ops = config().ops;
        p->owner = &heap_;
        if constexpr (Location::out_of_band)
            for (std::size_t i = 0; i != p->pages(); ++i)
                provider().arena().set_owner(p->base() + i * provider().page_bytes(),
                                             detail::word_of_header(static_cast<page_header*>(p)));
        else provider().arena().set_owner(memory, reinterpret_cast<const void*>(tag()));
        p->type = config().type;
        p->tag = tag();
        p->cut = cut();
        p->threshold = cut().capacity / 16 + 1; // of freed slots, from which it is listed again
        p->slots.reset(p->out_of_band(), cut());
        guards_.begin_page(layout_, *p);
        if (config().out_of_band_count_bytes != 0) // its counts are made here, those in front of rows cleared below
            for (std::size_t i = 0; i < cut().capacity * config().out_of_band_count_bytes / sizeof(std::uint32_t); ++i)
                ::new (p->counts() + i) std::uint32_t{0};
        clear_counts(*p);
        p->hide_slots(layout_.page_bytes());
        p->state.reset(true);
        return p;
    }

    ALLOT_OUTLINE_OF(slot_store)
    static slot_geometry cut_for(const heap_config& config, std::size_t page_bytes) noexcept {
        return page::geometry_for(page_bytes, config.row_bytes, config.align, config.header_bytes,
                                  config.out_of_band_count_bytes);
    }

    // The page of a row, or of the page's own start address.
    ALLOT_ALWAYS_INLINE page& page_of_row(std::byte* row, [[maybe_unused]] std::uintptr_t mask) const noexcept {
        if constexpr (Location::out_of_band) return page_at<page>(provider().arena().view(), row);
        else return *reinterpret_cast<page*>(page_of(row, mask));
    }
    ALLOT_ALWAYS_INLINE page& page_of_base(std::byte* base, [[maybe_unused]] std::uintptr_t mask = 0) const noexcept {
        if constexpr (Location::out_of_band) return page_of_row(base, mask);
        else return *reinterpret_cast<page*>(base);
    }
    // Calls visit(page, rows, n) for each group of consecutive rows in one page.
    template <class Visit>
    ALLOT_ALWAYS_INLINE void by_pages(std::byte* const* rows, std::size_t n, std::uintptr_t mask,
                                      Visit visit) const noexcept {
        for (std::size_t i = 0; i < n;) {
            std::byte* const base = page_of(rows[i], mask);
            std::size_t end = i + 1;
            while (end < n && page_of(rows[end], mask) == base) ++end;
            visit(page_of_base(base, mask), rows + i, end - i);
            i = end;
        }
    }

    heap_layout layout_;
    heap_base& heap_;
    ALLOT_NO_UNIQUE_ADDRESS hardening guards_;

    // Protects the members below, and the list of slot_caches.
    alignas(64) lock_type lock_;
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<scans, scan_counters, no_scan_counters> scans_;
    page_queues<page> pages_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
