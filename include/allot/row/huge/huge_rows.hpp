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
#include <allot/core/min_max.hpp>
#include <allot/core/units.hpp>
#include <allot/guard/canary.hpp>
#include <allot/heap/header_location.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/page/regrow.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/huge/huge_register.hpp>
#include <allot/row/link_count.hpp>
#include <allot/row/row_context.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/row/row_seal.hpp>
#include <allot/sys/poison.hpp>
#include <allot/sys/secret.hpp>
#include <allot/sys/wipe.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <bool Counts, class Guard = guard::none, class Place = header_in_page> class huge_rows : huge_layout<Place> {
    using layout = huge_layout<Place>;
    using layout::run_at, layout::run_of, layout::row_of, layout::word, layout::type_number, layout::type_of;
    static_assert(!Place::out_of_band || (Guard::row_bytes == 0 && !Guard::wipes), "a guard touches rows");
    using rows_register = huge_register<Place>;
    using entry_type = typename rows_register::entry_type;

  public:
    huge_rows(page_provider& provider, row_context& context) noexcept : provider_(provider), context_(context) {
        if constexpr (has_canary<Guard>) canary_.secret = static_cast<std::uint32_t>(sys::object_secret(this));
    }
    huge_rows(const huge_rows&) = delete;
    huge_rows& operator=(const huge_rows&) = delete;

    // Null if the limit, the arena, or host memory for the register is exhausted.
    ALLOT_OUTLINE_OF(huge_rows)
    std::byte* allocate(std::size_t bytes, std::size_t align, std::uint32_t type, memory_request& asked) noexcept {
        const std::size_t offset = layout::offset_for(align), pages = pages_for(bytes, offset);
        if (pages == 0) return refuse_size(bytes, asked);
        entry_type* const entry = register_.enter();
        if (entry == nullptr) return asked.refuse(charge_outcome::no_memory, sizeof(typename rows_register::chunk));
        std::byte* const base = take([&](auto& taken) { return provider_.take(pages, asked, taken); });
        if (base == nullptr) {
            register_.leave(entry);
            return nullptr;
        }
        huge_header* const h = layout::make_header(base, entry);
        h->owner = this;
        h->context = &context_;
        h->pages = pages;
        h->row_offset = offset;
        h->entry = entry;
        std::byte* const row = base + offset;
        if constexpr (Guard::wipes) sys::wipe(row, usable_bytes(*h));
        write_canary(row, usable_bytes(*h));
        type_number(*h, row).store(type, std::memory_order_relaxed);
        word(*h, row).start();
        h->ops = &ops;
        provider_.arena().set_owner(base, layout::word_of(h)); // every page of rows has an owner
        rows_register::publish(*entry, *h, type);
        rows_.fetch_add(1, std::memory_order_relaxed);
        pages_.fetch_add(pages, std::memory_order_relaxed);
        provider_.settled();
        provider_.record(watch_event::huge, bytes, context_.types[type]->name);
        return row;
    }

    // Bytes that a row for such a request may use, its type's checksum included; 0: the arena has not as many pages.
    std::size_t capacity_for(std::size_t bytes, std::size_t align) const noexcept {
        const std::size_t offset = layout::offset_for(align), pages = pages_for(bytes, offset);
        return pages == 0 || pages > provider_.arena().page_count() ? 0 : usable_bytes(pages, offset);
    }
    // ---- resize: grow or shrink, then adopt, then drop_old; or give_up instead of the last two ------------------

    // A row that is resized, and its run.
    struct resizing {
        huge_header* row;
        regrow run;
        explicit operator bool() const noexcept { return static_cast<bool>(run); }
    };
    // Whether a row of `bytes` takes the pages that this one has.
    bool keeps_pages(page_header& p, std::size_t bytes) const noexcept {
        return pages_for(bytes, header(p).row_offset) == header(p).pages;
    }
    // Takes memory for a row of `bytes`; the row does not change. False where the request is refused.
    resizing find(page_header& p, std::size_t bytes, memory_request& asked) noexcept {
        huge_header& h = header(p);
        const row_type& type = *type_of(h);
        const std::size_t pages = pages_for(bytes, h.row_offset);
        if (pages == 0) return refuse_size(bytes, asked), resizing{&h, regrow{nullptr, 0, 0}};
        resizing to{&h, regrow{run_of(h), h.pages, pages, type.can_move(), type.moves_as_bytes()}};
        if (to.run.grows()) take([&](auto& taken) { return provider_.take(to.run, asked, taken); });
        return to;
    }
    // Makes the run the row's, with its first `keep` bytes, and returns the row; the old pages are still there. Drops
    // its seal.
    std::byte* adopt(resizing& to, std::size_t keep) noexcept {
        const huge_header was = *to.row;
        std::byte* const from = row_of(*to.row);
        const row_type& type = *type_of(*to.row);
        const std::size_t had = usable_bytes(was), has = usable_bytes(to.run.pages(), was.row_offset);
        if constexpr (has_canary<Guard>) sys::expose(from + had, Guard::row_bytes, sys::unit_ends::own);
        word(*to.row, from).unseal();
        std::byte* row = from;
        std::size_t kept = had - (Counts ? type.check_bytes() : 0); // bytes that the caller may know
        if (to.run.first() != to.run.old_first()) {
            constexpr std::size_t count_bytes = 2 * sizeof(std::uint32_t);
            const bool constructed = (word(*to.row, from).load() & link_word::constructed) != 0;
            row = to.run.first() + was.row_offset;
            kept = min(keep, kept);
            provider_.arena().set_owner(to.run.old_first(), nullptr);
            std::memmove(row - count_bytes, from - count_bytes, count_bytes + kept);
            if (type.moves_as_object(constructed)) type.relocate(row, from); // over the copy: what lies behind it stays
            if (to.run.is_another()) to.row->ops = nullptr;
            to.row = layout::template construct_header<huge_header>(to.run.first());
            *to.row = was;
            provider_.arena().set_owner(to.run.first(), layout::word_of(to.row));
        }
        to.row->pages = to.run.pages();
        if constexpr (Guard::wipes)
            if (kept < has) sys::wipe(row + kept, has - kept);
        write_canary(row, has);
        rows_register::publish(*was.entry, *to.row, type_number(*to.row, row).load(std::memory_order_relaxed));
        pages_.fetch_add(to.run.pages() - to.run.old_pages(), std::memory_order_relaxed); // may wrap
        return row;
    }
    // Gives back the pages that the adopted row has left.
    void drop_old(const resizing& to) noexcept {
        const std::size_t page = provider_.page_bytes();
        if constexpr (Guard::wipes)
            to.run.visit_left(page, [&](std::byte* first, std::size_t n) { sys::wipe(first, n * page); });
        to.run.finish(provider_);
        if (to.run.grows()) provider_.settled();
    }
    // Gives back the pages that find() has taken.
    void give_up(const resizing& to) noexcept { to.run.undo(provider_); }

    std::size_t rows() const noexcept { return rows_.load(std::memory_order_relaxed); }
    std::size_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }

    // Calls visit(row, type, bytes charged) for each row. Requires that none is released or resized meanwhile.
    template <class Visit> void for_each(Visit visit) noexcept {
        register_.for_each([&](const entry_type&, huge_header& h) {
            visit(row_of(h), type_of(h), h.pages << provider_.arena().page_shift());
            return true;
        });
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
        register_.for_each([&](const entry_type& entry, huge_header& h) {
            if (n == most) return false;
            const std::uint64_t type_and_pages = entry.type_and_pages.load(std::memory_order_acquire);
            if (entry.row.load(std::memory_order_relaxed) != &h) return true;
            visit(run_at(entry, &h), type_and_pages & ~(~std::uint64_t{0} << 44),
                  context_.types.find(static_cast<std::uint32_t>(type_and_pages >> 44)));
            ++n;
            return true;
        });
        return n;
    }
    heap_usage usage() const noexcept {
        heap_usage u;
        u.name = "huge";
        u.live_rows = rows();
        u.pages = pages();
        u.bytes = u.pages << provider_.arena().page_shift();
        return u;
    }
    // Frees all rows without running destructors.
    ALLOT_OUTLINE_OF(huge_rows) void drop() noexcept {
        register_.for_each([&](const entry_type&, huge_header& h) { return free(h), true; });
    }

  private:
    static_assert(type_table::max_types <= 1 << 16);

    ALLOT_COLD static std::nullptr_t refuse_size(std::size_t bytes, memory_request& asked) noexcept {
        return asked.refuse(charge_outcome::misused, bytes, text_of(misuse::size_too_large).data());
    }
    // 0: too large.
    std::size_t pages_for(std::size_t bytes, std::size_t offset) const noexcept {
        std::size_t total = 0;
        if (!checked_add(bytes, offset + Guard::row_bytes + provider_.page_bytes() - 1, total)) return 0;
        return Place::out_of_band && bytes == 0 ? 1 : total >> provider_.arena().page_shift();
    }
    // What request(taken) takes: pages.
    template <class Request> auto take(Request request) noexcept {
        detail::pages_in_transit::move taken{provider_.in_transit()};
        const auto run = request(taken);
        if (run) taken.end(); // from here on they count as a live row's
        return run;
    }

    static huge_header& header(page_header& p) noexcept { return static_cast<huge_header&>(p); }
    static huge_rows& owner_of(huge_header& h) noexcept { return *static_cast<huge_rows*>(h.owner); }
    // Bytes that a row may use, its type's checksum included.
    std::size_t usable_bytes(const huge_header& h) const noexcept { return usable_bytes(h.pages, h.row_offset); }
    std::size_t usable_bytes(std::size_t pages, std::size_t offset) const noexcept {
        return (pages << provider_.arena().page_shift()) - offset - Guard::row_bytes;
    }
    std::size_t arena_offset(const std::byte* row) const noexcept {
        return static_cast<std::size_t>(row - provider_.arena().begin());
    }
    void write_canary([[maybe_unused]] std::byte* row, [[maybe_unused]] std::size_t usable) const noexcept {
        if constexpr (has_canary<Guard>) {
            canary_.write(row, usable + Guard::row_bytes, arena_offset(row));
            sys::hide(row + usable, Guard::row_bytes);
        }
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
    ALLOT_OUTLINE_OF(huge_rows) bool is_seal_intact(huge_header& h) const noexcept {
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
    ALLOT_OUTLINE_OF(huge_rows) static void link(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row) || !Counts) return;
        huge_header& h = header(p);
        if (word(h, row).link_slow() == link_word::link_result::saturated)
            h.context->report_damage(misuse::too_many_links, "huge", type_of(h), row);
    }
    ALLOT_OUTLINE_OF(huge_rows) static void release(page_header& p, std::byte* row) noexcept {
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
    ALLOT_OUTLINE_OF(huge_rows) static std::size_t capacity(page_header& p, std::byte* row) noexcept {
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
    ALLOT_OUTLINE_OF(huge_rows) static void seal(page_header& p, std::byte* row) noexcept {
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

    ALLOT_OUTLINE_OF(huge_rows) void free(huge_header& h) noexcept {
        const std::size_t pages = h.pages;
        std::byte* const run = run_of(h);
        if constexpr (Guard::wipes) sys::wipe(row_of(h), usable_bytes(h));
        provider_.arena().set_owner(run, nullptr);
        h.ops = nullptr;
        register_.leave(h.entry); // out of band, another row may use the header from now on
        rows_.fetch_sub(1, std::memory_order_relaxed);
        pages_.fetch_sub(pages, std::memory_order_relaxed);
        provider_.give(run, pages);
    }

    static row_moves mark(page_header& p, std::byte* row, const void* manager) noexcept {
        const bool own = header(p).context->manager == manager && row == row_of(header(p));
        return own ? row_moves::pinned : row_moves::not_live;
    }
    static heap_base* leaves(page_header&, std::byte*, const void*) noexcept { return nullptr; }

    ALLOT_OUTLINE_OF(huge_rows) static row_state state(page_header& p, std::byte* row, const void* manager) noexcept {
        huge_header& h = header(p);
        if (h.context->manager != manager) return {.is_of_other = true};
        if (row != row_of(h)) return {};
        const std::uint32_t flags = Counts && !Place::out_of_band ? word(h, row).load() : 0;
        return {.moves = Counts && word(h, row).shared() ? row_moves::shared
                         : type_of(h)->can_move()        ? row_moves::yes
                                                         : row_moves::pinned,
                .constructed = (flags & link_word::constructed) != 0,
                .sealed = (flags & link_word::sealed) != 0,
                .may_be_damaged = true,
                .capacity = capacity(p, row),
                .type = Counts ? type_of(h) : nullptr,
                .align = layout::align_of(h.row_offset)};
    }

    static constexpr row_ops ops{&link,  &release, &is_shared, &capacity, &finalize, &seal,
                                 &check, &mark,    &leaves,    nullptr,   &state,    nullptr};

    page_provider& provider_;
    row_context& context_;
    ALLOT_NO_UNIQUE_ADDRESS page_canary<Guard> canary_;
    std::atomic<std::size_t> rows_{0};
    std::atomic<std::size_t> pages_{0};
    rows_register register_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
