// huge_rows: rows larger than the largest slot. Each is a run of pages, returned to the arena at its last release.
//
//   header_in_page:       | header 64 | ... | type 4 | count 4 | row ......... | canary 4 |
//   header_out_of_band:   | row .......... |      header, type and count are in the row's entry of the register
//
// Invariant: every huge row has an entry in the manager's register: a list of chunks of 64 entries.
// Cost: a charge and a run of pages per row; at most a page and 80 bytes of waste (its alignment, if that is more); 24
// bytes in the register, found in O(1): a spin lock to allocate, none to release. guard::zero writes the row once at
// its allocation, and once at its release.
// Threads: any. Source: HPCC roxiemem's HugeHeap, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/last_refusal.hpp>
#include <allot/core/units.hpp>
#include <allot/heap/canary.hpp>
#include <allot/heap/header_location.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/row/link_count.hpp>
#include <allot/row/row_context.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/row/row_seal.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/mpsc_stack.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/secret.hpp>
#include <allot/sys/wipe.hpp>
#include <allot/watch/type_histogram.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct huge_header;

// The entry of a huge row in the register.
struct huge_entry {
    std::atomic<huge_header*> row{nullptr};
    std::atomic<std::uint64_t> type_and_pages{0}; // type number 20 bits, pages 44: readable without its pages
    std::atomic<huge_entry*> free_link{nullptr};
};

struct alignas(64) huge_header : page_header {
    row_context* context = nullptr;
    std::size_t pages = 0;
    std::size_t row_offset = 0;
    huge_entry* entry = nullptr; // in the register
};
// The header beside its entry, in host memory, so that a release frees no memory.
struct huge_header_out_of_band : huge_header {
    std::byte* memory = nullptr;          // first page of the run
    std::uint32_t type_and_count[2] = {}; // in the order as in front of other rows
};
struct huge_entry_out_of_band : huge_entry {
    std::atomic<std::byte*> memory{nullptr}; // the same, readable while the header is replaced
    huge_header_out_of_band header;
};

template <bool Counts, class Guard = guard::none, class Place = header_in_page> class huge_rows {
    static_assert(!Place::out_of_band || (Guard::row_bytes == 0 && !Guard::wipes), "a guard touches rows");
    using entry_type = std::conditional_t<Place::out_of_band, huge_entry_out_of_band, huge_entry>;

  public:
    huge_rows(page_provider& provider, row_context& context) noexcept : provider_(provider), context_(context) {
        if constexpr (has_canary<Guard>) canary_.secret = static_cast<std::uint32_t>(sys::object_secret(this));
    }
    huge_rows(const huge_rows&) = delete;
    huge_rows& operator=(const huge_rows&) = delete;
    ~huge_rows() {
        for (chunk* c = first_.next.load(std::memory_order_relaxed); c != nullptr;) {
            chunk* const following = c->next.load(std::memory_order_relaxed);
            delete c;
            c = following;
        }
    }

    // Null if the limit, the arena, or host memory for the register is exhausted.
    std::byte* allocate(std::size_t bytes, std::size_t align, std::uint32_t type) noexcept {
        const std::size_t offset =
            Place::out_of_band ? 0 : align_up(sizeof(huge_header) + 2 * sizeof(std::uint32_t), align < 16 ? 16 : align);
        std::size_t total = 0;
        if (!checked_add(bytes, offset + Guard::row_bytes + provider_.page_bytes() - 1, total))
            return detail::note_refusal(charge_outcome::misused, bytes, text_of(misuse::size_too_large).data()),
                   nullptr;
        const std::size_t pages = Place::out_of_band && bytes == 0 ? 1 : total >> provider_.arena().page_shift();
        entry_type* const entry = enter();
        if (entry == nullptr) return detail::note_refusal(charge_outcome::no_memory, sizeof(chunk)), nullptr;
        std::byte* const base = take(pages);
        if (base == nullptr) {
            leave(entry);
            return nullptr;
        }
        huge_header* const h = make_header(base, entry);
        h->owner = this;
        h->context = &context_;
        h->pages = pages;
        h->row_offset = offset;
        h->entry = entry;
        std::byte* const row = base + offset;
        if constexpr (Guard::wipes) sys::wipe(row, usable_bytes(*h));
        if constexpr (has_canary<Guard>) canary_.write(row, usable_bytes(*h) + Guard::row_bytes, arena_offset(row));
        *type_number(*h, row) = type;
        word(*h, row).start();
        h->ops = &ops;
        provider_.arena().set_owner(base, static_cast<page_header*>(h)); // every page of rows has an owner
        entry->type_and_pages.store(std::uint64_t{type} << 44 | pages,
                                    std::memory_order_release); // before the row replaces reserved()
        entry->row.store(h, std::memory_order_release);
        rows_.fetch_add(1, std::memory_order_relaxed);
        pages_.fetch_add(pages, std::memory_order_relaxed);
        provider_.settled();
        provider_.record(watch_event::huge, bytes, context_.types[type]->name);
        return row;
    }

    std::size_t rows() const noexcept { return rows_.load(std::memory_order_relaxed); }
    std::size_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }

    // Calls visit(row, type, bytes charged) for each row. Requires that no row is released meanwhile.
    template <class Visit> void for_each(Visit visit) noexcept {
        for (chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (entry_type& entry : c->entries)
                if (huge_header* const h = entry.row.load(std::memory_order_acquire); h != nullptr && h != reserved())
                    visit(row_of(*h), type_of(*h), h->pages << provider_.arena().page_shift());
    }
    // True if every canary is intact. Requires that no row is released meanwhile.
    bool valid() noexcept {
        bool good = true;
        if constexpr (has_canary<Guard>)
            for_each([&](std::byte* row, const row_type*, std::size_t bytes) {
                const auto to_end =
                    bytes - (static_cast<std::size_t>(arena_offset(row)) & (provider_.page_bytes() - 1));
                good = good && canary_.intact(row, to_end, arena_offset(row));
            });
        return good;
    }
    // As for_each, while rows are allocated and released: calls visit(first page, pages, type) for up to `most` rows,
    // and returns their number.
    template <class Visit> std::size_t visit(std::size_t most, Visit visit) const noexcept {
        std::size_t n = 0;
        for (const chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (const entry_type& entry : c->entries) {
                if (n == most) return n;
                const huge_header* const h = entry.row.load(std::memory_order_acquire);
                const std::uint64_t type_and_pages = entry.type_and_pages.load(std::memory_order_acquire);
                if (h == nullptr || h == reserved() || entry.row.load(std::memory_order_relaxed) != h) continue;
                visit(run_at(entry, h), type_and_pages & ~(~std::uint64_t{0} << 44),
                      context_.types.find(static_cast<std::uint32_t>(type_and_pages >> 44)));
                ++n;
            }
        return n;
    }
    void count_types(type_histogram& into, std::size_t most) const noexcept {
        const std::size_t all = rows(), held = pages();
        std::size_t known = 0;
        const std::size_t seen = visit(most, [&](const std::byte*, std::size_t n, const row_type* type) {
            into.add(type, 1, n * provider_.page_bytes());
            known += n;
        });
        if (seen != most || all <= most) return;
        into.estimated(); // types of the other rows were not read
        into.add(nullptr, all - most, held > known ? (held - known) * provider_.page_bytes() : 0);
    }
    // Frees all rows without running destructors.
    void drop() noexcept {
        for (chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (entry_type& entry : c->entries)
                if (huge_header* const h = entry.row.load(std::memory_order_acquire); h != nullptr && h != reserved())
                    free(*h);
    }

  private:
    struct chunk {
        static constexpr unsigned count = 64;
        entry_type entries[count];
        std::atomic<chunk*> next{nullptr};
    };
    static_assert(type_table::max_types <= 1 << 16);

    // The first page of the run.
    static std::byte* run_of(huge_header& h) noexcept {
        if constexpr (Place::out_of_band) return static_cast<huge_header_out_of_band&>(h).memory;
        else return reinterpret_cast<std::byte*>(&h);
    }
    static const std::byte* run_at([[maybe_unused]] const entry_type& entry,
                                   [[maybe_unused]] const huge_header* h) noexcept {
        if constexpr (Place::out_of_band) return entry.memory.load(std::memory_order_relaxed);
        else return reinterpret_cast<const std::byte*>(h);
    }
    // A template, because nvcc 13 treats placement new of a known over-aligned type as an allocation.
    template <class Header> static Header* construct_header(void* at) noexcept { return ::new (at) Header; }
    huge_header* make_header(std::byte* run, [[maybe_unused]] entry_type* entry) const noexcept {
        if constexpr (Place::out_of_band) {
            auto* const h = construct_header<huge_header_out_of_band>(&entry->header);
            h->memory = run;
            entry->memory.store(run, std::memory_order_relaxed);
            return h;
        } else {
            return construct_header<huge_header>(run);
        }
    }
    static std::byte* row_of(huge_header& h) noexcept { return run_of(h) + h.row_offset; }
    // The address behind the row's type and count, in the page or in the register.
    static std::byte* behind_count([[maybe_unused]] huge_header& h, std::byte* row) noexcept {
        if constexpr (Place::out_of_band)
            return reinterpret_cast<std::byte*>(static_cast<huge_header_out_of_band&>(h).type_and_count + 2);
        else return row;
    }
    static link_word word(huge_header& h, std::byte* row) noexcept {
        return counting<count::links>::word(behind_count(h, row));
    }
    static std::uint32_t* type_number(huge_header& h, std::byte* row) noexcept {
        return counting<count::links>::type_number(h, behind_count(h, row));
    }
    static const row_type* type_of(huge_header& h) noexcept { return h.context->types[*type_number(h, row_of(h))]; }
    static huge_header* reserved() noexcept { return reinterpret_cast<huge_header*>(std::uintptr_t{1}); }

    // Takes a free entry of the register; null if there is no memory for more of them.
    entry_type* enter() noexcept {
        for (chunk* more = nullptr;;) {
            {
                const lock_guard hold(entries_lock_);
                if (free_ == nullptr) free_ = left_.take_all();
                if (free_ == nullptr && used_of_last_ == chunk::count && more != nullptr) {
                    last_->next.store(more, std::memory_order_release);
                    last_ = std::exchange(more, nullptr);
                    used_of_last_ = 0;
                }
                huge_entry* const entry = free_ != nullptr                ? free_
                                          : used_of_last_ != chunk::count ? &last_->entries[used_of_last_++]
                                                                          : nullptr;
                if (entry != nullptr) {
                    if (entry == free_) free_ = entry->free_link.load(std::memory_order_relaxed);
                    entry->row.store(reserved(), std::memory_order_relaxed);
                    delete more;
                    return static_cast<entry_type*>(entry);
                }
            }
            more = new (std::nothrow) chunk;
            if (more == nullptr) return nullptr;
        }
    }
    // A run of pages. Retries while other threads move pages.
    std::byte* take(std::size_t pages) noexcept {
        detail::pages_in_transit::move taken{provider_.in_transit()};
        std::byte* run = provider_.take(pages, taken, false);
        if (run == nullptr) {
            detail::pages_in_transit::request short_of_pages{provider_.in_transit()};
            do run = provider_.take(pages, taken, true);
            while (run == nullptr && short_of_pages.retry());
        }
        if (run != nullptr) taken.end(); // from here on they count as a live row's
        return run;
    }
    void leave(huge_entry* entry) noexcept {
        entry->row.store(nullptr, std::memory_order_release);
        left_.push(entry);
    }

    static huge_header& header(page_header& p) noexcept { return static_cast<huge_header&>(p); }
    static huge_rows& owner_of(huge_header& h) noexcept { return *static_cast<huge_rows*>(h.owner); }
    // Bytes that a row may use, its type's checksum included.
    std::size_t usable_bytes(const huge_header& h) const noexcept {
        return (h.pages << provider_.arena().page_shift()) - h.row_offset - Guard::row_bytes;
    }
    std::size_t arena_offset(const std::byte* row) const noexcept {
        return static_cast<std::size_t>(row - provider_.arena().begin());
    }
    // The canary is intact; damage is reported.
    bool is_intact([[maybe_unused]] huge_header& h) const noexcept {
        if constexpr (has_canary<Guard>)
            if (!canary_.intact(row_of(h), usable_bytes(h) + Guard::row_bytes, arena_offset(row_of(h)))) {
                context_.report_damage(misuse::overrun, "huge", type_of(h), row_of(h));
                return false;
            }
        return true;
    }
    bool is_seal_intact(huge_header& h) const noexcept {
        if (Place::out_of_band || (word(h, row_of(h)).load() & link_word::sealed) == 0) return true;
        if (seal_fits(*type_of(h), row_of(h), usable_bytes(h))) return true;
        context_.report_damage(misuse::broken_seal, "huge", type_of(h), row_of(h));
        return false;
    }
    // At the last release: verifies the seal, calls the destructor.
    void check_and_destroy(huge_header& h) const noexcept {
        const bool constructed = !Place::out_of_band && (word(h, row_of(h)).load() & link_word::constructed) != 0;
        static_cast<void>(is_seal_intact(h));
        if (constructed) type_of(h)->destroy(row_of(h));
    }
    static bool is_row(page_header& p, std::byte* row) noexcept {
        if (row == row_of(header(p))) return true;
        header(p).context->report(misuse::interior_pointer, "huge", type_of(header(p)), row);
        return false;
    }
    static void link(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row) || !Counts) return;
        huge_header& h = header(p);
        if (word(h, row).link_slow() == link_word::link_result::saturated)
            h.context->report_damage(misuse::too_many_links, "huge", type_of(h), row);
    }
    static void release(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return;
        huge_header& h = header(p);
        switch (Counts ? word(h, row).drop() : link_word::drop_result::freed) {
        case link_word::drop_result::still_linked: return;
        case link_word::drop_result::was_free:
            return h.context->report(misuse::double_release, "huge", type_of(h), row);
        case link_word::drop_result::needs_destroy: owner_of(h).check_and_destroy(h); [[fallthrough]];
        case link_word::drop_result::freed: static_cast<void>(owner_of(h).is_intact(h)); owner_of(h).free(h);
        }
    }
    static bool is_shared(page_header& p, std::byte* row) noexcept {
        return !is_row(p, row) || (Counts && word(header(p), row).shared());
    }
    static std::size_t capacity(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return 0;
        huge_header& h = header(p);
        return owner_of(h).usable_bytes(h) - (Counts ? type_of(h)->check_bytes() : 0);
    }
    static void finalize(page_header& p, std::byte* row) noexcept {
        if constexpr (Place::out_of_band) return report_no_host_access(p, row);
        if (is_row(p, row) && Counts && type_of(header(p))->destroy != nullptr) word(header(p), row).construct();
    }
    static void report_no_host_access(page_header& p, std::byte* row) noexcept {
        header(p).context->report(misuse::no_host_access, "huge", type_of(header(p)), row);
    }
    static void seal(page_header& p, std::byte* row) noexcept {
        if constexpr (Place::out_of_band) return report_no_host_access(p, row);
        if (!is_row(p, row) || !Counts || type_of(header(p))->check == row_check::none) return;
        write_seal(*type_of(header(p)), row, owner_of(header(p)).usable_bytes(header(p)));
        word(header(p), row).seal();
    }
    static bool check(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return false;
        const bool intact = owner_of(header(p)).is_intact(header(p));
        return owner_of(header(p)).is_seal_intact(header(p)) && intact;
    }

    void free(huge_header& h) noexcept {
        const std::size_t pages = h.pages;
        std::byte* const run = run_of(h);
        if constexpr (Guard::wipes) sys::wipe(row_of(h), usable_bytes(h));
        provider_.arena().set_owner(run, nullptr);
        h.ops = nullptr;
        leave(h.entry); // out of band, another row may use the header from now on
        rows_.fetch_sub(1, std::memory_order_relaxed);
        pages_.fetch_sub(pages, std::memory_order_relaxed);
        provider_.give(run, pages);
    }

    static row_moves mark(page_header& h, std::byte*, const void* manager) noexcept {
        const bool own = static_cast<huge_header&>(h).context->manager == manager;
        return own ? row_moves::pinned : row_moves::not_live;
    }
    static heap_base* leaves(page_header&, std::byte*, const void*) noexcept { return nullptr; }

    static constexpr row_ops ops{&link, &release, &is_shared, &capacity, &finalize,
                                 &seal, &check,   &mark,      &leaves,   nullptr};

    page_provider& provider_;
    row_context& context_;
    ALLOT_NO_UNIQUE_ADDRESS page_canary<Guard> canary_;
    std::atomic<std::size_t> rows_{0};
    std::atomic<std::size_t> pages_{0};
    mpsc_stack<huge_entry, &huge_entry::free_link> left_; // entries without a row, pushed by releasers
    spin_lock entries_lock_;                              // the members below
    huge_entry* free_ = nullptr;                          // taken from left_
    chunk* last_ = &first_;
    unsigned used_of_last_ = 0; // entries of the last chunk that were ever handed out
    chunk first_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
