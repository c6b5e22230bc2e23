// Rows larger than a heaplet's largest slot: each is a run of pages of its own, returned at once.
//
//   | header 64 | ... | type 4 | count 4 | row ......... | canary 4 |        the row lies in the run's first page
//   header_out_of_band:   | row .......... |                                      header, type and count lie in the
//   register
//
// Invariant: every huge row stands in the manager's register, so that it can be counted and named.
// Cost: one page charge and one run of the arena; at most a page and 64 bytes of waste; 16 bytes in the register. Its
// guard may write it once more at its start and at its end. The register is a list of
// chunks of 64 places; entering and leaving are lock-free. Threads: any. Source: HPCC roxiemem's HugeHeap, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/units.hpp>
#include <allot/heap/canary.hpp>
#include <allot/heap/header_location.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/row/link_count.hpp>
#include <allot/row/row_context.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/row/row_seal.hpp>
#include <allot/sys/secret.hpp>
#include <allot/sys/wipe.hpp>
#include <allot/watch/type_histogram.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct huge_header;

// Where a huge row stands in the register.
struct huge_place {
    std::atomic<huge_header*> row{nullptr};
    std::atomic<std::uint64_t> about{0}; // its type's number 20, pages 44: told without looking at its pages
};

struct alignas(64) huge_header : page_header {
    row_context* context = nullptr;
    std::size_t pages = 0;
    std::size_t row_offset = 0;
    huge_place* place = nullptr; // in the register
};
// The same beside the place, so that a release need not free it.
struct huge_header_out_of_band : huge_header {
    std::byte* memory = nullptr;          // the run
    std::uint32_t type_and_count[2] = {}; // as they lie in front of other rows
};
struct huge_place_out_of_band : huge_place {
    std::atomic<std::byte*> memory{nullptr}; // its run: told without looking at the header
    huge_header_out_of_band header;
};

template <bool Counts, class Guard = guard::none, class Place = header_in_page> class huge_rows {
    static_assert(!Place::out_of_band || (Guard::row_bytes == 0 && !Guard::wipes), "a guard touches rows");
    using location_type = std::conditional_t<Place::out_of_band, huge_place_out_of_band, huge_place>;

  public:
    huge_rows(page_provider& provider, row_context& context) noexcept : provider_(provider), context_(context) {
        if constexpr (has_canary<Guard>) canary_.secret = static_cast<std::uint32_t>(sys::secret_for(this));
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

    // Null when no memory can be had.
    std::byte* allocate(std::size_t bytes, std::size_t align, std::uint32_t type) noexcept {
        const std::size_t offset =
            Place::out_of_band ? 0 : align_up(sizeof(huge_header) + 2 * sizeof(std::uint32_t), align < 16 ? 16 : align);
        std::size_t total = 0;
        if (!checked_add(bytes, offset + Guard::row_bytes + provider_.page_bytes() - 1, total)) return nullptr;
        const std::size_t pages = Place::out_of_band && bytes == 0 ? 1 : total >> provider_.arena().page_shift();
        location_type* const place = enter();
        if (place == nullptr) return nullptr;
        std::byte* const base = provider_.take(pages);
        if (base == nullptr) {
            leave(place);
            return nullptr;
        }
        huge_header* const h = make_header(base, place);
        h->owner = this;
        h->context = &context_;
        h->pages = pages;
        h->row_offset = offset;
        h->place = place;
        std::byte* const row = base + offset;
        if constexpr (Guard::wipes) sys::wipe(row, room(*h));
        if constexpr (has_canary<Guard>) canary_.write(row, room(*h) + Guard::row_bytes, distance(row));
        *type_number(*h, row) = type;
        word(*h, row).start();
        h->ops = &ops;
        provider_.arena().set_owner(base, static_cast<page_header*>(h));                  // no page of rows is nobody's
        place->about.store(std::uint64_t{type} << 44 | pages, std::memory_order_release); // behind reserved()
        place->row.store(h, std::memory_order_release);
        rows_.fetch_add(1, std::memory_order_relaxed);
        pages_.fetch_add(pages, std::memory_order_relaxed);
        provider_.settled();
        provider_.record(watch_event::huge, bytes, context_.types[type]->name);
        return row;
    }

    std::size_t rows() const noexcept { return rows_.load(std::memory_order_relaxed); }
    std::size_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }

    // No row may be released meanwhile. Visits (row, type, bytes charged).
    template <class Visit> void for_each(Visit visit) noexcept {
        for (chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (location_type& place : c->at)
                if (huge_header* const h = place.row.load(std::memory_order_acquire); h != nullptr && h != reserved())
                    visit(row_of(*h), type_of(*h), h->pages << provider_.arena().page_shift());
    }
    // Whether nothing wrote behind a row. No row may be released meanwhile.
    bool valid() noexcept {
        bool good = true;
        if constexpr (has_canary<Guard>)
            for_each([&](std::byte* row, const row_type*, std::size_t bytes) {
                const auto to_end = bytes - (static_cast<std::size_t>(distance(row)) & (provider_.page_bytes() - 1));
                good = good && canary_.intact(row, to_end, distance(row));
            });
        return good;
    }
    // The same as for_each while rows come and go: visits (first page, pages, type) of up to `most`, and returns how
    // many.
    template <class Visit> std::size_t visit(std::size_t most, Visit visit) const noexcept {
        std::size_t n = 0;
        for (const chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (const location_type& place : c->at) {
                if (n == most) return n;
                const huge_header* const h = place.row.load(std::memory_order_acquire);
                const std::uint64_t about = place.about.load(std::memory_order_acquire);
                if (h == nullptr || h == reserved() || place.row.load(std::memory_order_relaxed) != h) continue;
                visit(run_at(place, h), about & ~(~std::uint64_t{0} << 44),
                      context_.types.find(static_cast<std::uint32_t>(about >> 44)));
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
        into.estimated(); // the types of the others are not known
        into.add(nullptr, all - most, held > known ? (held - known) * provider_.page_bytes() : 0);
    }
    // Frees all rows without running destructors.
    void drop() noexcept {
        for (chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (location_type& place : c->at)
                if (huge_header* const h = place.row.load(std::memory_order_acquire); h != nullptr && h != reserved())
                    free(*h);
    }

  private:
    struct chunk {
        location_type at[64];
        std::atomic<chunk*> next{nullptr};
    };
    static_assert(type_table::max_types <= 1 << 16);

    // The first of its pages.
    static std::byte* run_of(huge_header& h) noexcept {
        if constexpr (Place::out_of_band) return static_cast<huge_header_out_of_band&>(h).memory;
        else return reinterpret_cast<std::byte*>(&h);
    }
    static const std::byte* run_at([[maybe_unused]] const location_type& place,
                                   [[maybe_unused]] const huge_header* h) noexcept {
        if constexpr (Place::out_of_band) return place.memory.load(std::memory_order_relaxed);
        else return reinterpret_cast<const std::byte*>(h);
    }
    // A template: nvcc 13 takes placement new of a known over-aligned type for an allocation.
    template <class Header> static Header* begin(void* at) noexcept { return ::new (at) Header; }
    huge_header* make_header(std::byte* run, [[maybe_unused]] location_type* place) const noexcept {
        if constexpr (Place::out_of_band) {
            auto* const h = begin<huge_header_out_of_band>(&place->header);
            h->memory = run;
            place->memory.store(run, std::memory_order_relaxed);
            return h;
        } else {
            return begin<huge_header>(run);
        }
    }
    static std::byte* row_of(huge_header& h) noexcept { return run_of(h) + h.row_offset; }
    // Behind the type and the count of its row, wherever those lie.
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

    // A place in the register; null when there is no memory for more of it.
    location_type* enter() noexcept {
        for (chunk* c = &first_;;) {
            for (location_type& place : c->at) {
                huge_header* expected = nullptr;
                if (place.row.load(std::memory_order_relaxed) == nullptr &&
                    place.row.compare_exchange_strong(expected, reserved(), std::memory_order_acq_rel))
                    return &place;
            }
            chunk* following = c->next.load(std::memory_order_acquire);
            if (following == nullptr) {
                auto* const made = new (std::nothrow) chunk;
                if (made == nullptr) return nullptr;
                if (c->next.compare_exchange_strong(following, made, std::memory_order_acq_rel)) following = made;
                else delete made;
            }
            c = following;
        }
    }
    static void leave(huge_place* place) noexcept { place->row.store(nullptr, std::memory_order_release); }

    static huge_header& header(page_header& p) noexcept { return static_cast<huge_header&>(p); }
    static huge_rows& home_of(huge_header& h) noexcept { return *static_cast<huge_rows*>(h.owner); }
    // What a row may use, its type's check included.
    std::size_t room(const huge_header& h) const noexcept {
        return (h.pages << provider_.arena().page_shift()) - h.row_offset - Guard::row_bytes;
    }
    std::size_t distance(const std::byte* row) const noexcept {
        return static_cast<std::size_t>(row - provider_.arena().begin());
    }
    // Damage is told.
    bool is_intact([[maybe_unused]] huge_header& h) const noexcept {
        if constexpr (has_canary<Guard>)
            if (!canary_.intact(row_of(h), room(h) + Guard::row_bytes, distance(row_of(h)))) {
                context_.report_damage(misuse::overrun, "huge", type_of(h), row_of(h));
                return false;
            }
        return true;
    }
    bool is_sealed_well(huge_header& h) const noexcept {
        if (Place::out_of_band || (word(h, row_of(h)).load() & link_word::sealed) == 0) return true;
        if (seal_fits(*type_of(h), row_of(h), room(h))) return true;
        context_.report_damage(misuse::broken_seal, "huge", type_of(h), row_of(h));
        return false;
    }
    // The last holder has gone: checks that may tell, the destructor.
    void end(huge_header& h) const noexcept {
        const bool constructed = !Place::out_of_band && (word(h, row_of(h)).load() & link_word::constructed) != 0;
        static_cast<void>(is_sealed_well(h));
        if (constructed) type_of(h)->destroy(row_of(h));
    }
    static bool is_row(page_header& p, std::byte* row) noexcept {
        if (row == row_of(header(p))) return true;
        header(p).context->report(misuse::interior_pointer, "huge", nullptr, row);
        return false;
    }
    static void link(page_header& p, std::byte* row) noexcept {
        if (is_row(p, row)) word(header(p), row).link();
    }
    static void release(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return;
        huge_header& h = header(p);
        switch (Counts ? word(h, row).drop() : link_word::fate::freed) {
        case link_word::fate::alive: return;
        case link_word::fate::was_free: return h.context->report(misuse::double_release, "huge", nullptr, row);
        case link_word::fate::destroyed: home_of(h).end(h); [[fallthrough]];
        case link_word::fate::freed: static_cast<void>(home_of(h).is_intact(h)); home_of(h).free(h);
        }
    }
    static bool is_shared(page_header& p, std::byte* row) noexcept { return Counts && word(header(p), row).shared(); }
    static std::size_t capacity(page_header& p, std::byte*) noexcept {
        huge_header& h = header(p);
        return home_of(h).room(h) - (Counts ? type_of(h)->check_bytes() : 0);
    }
    static void finalize(page_header& p, std::byte* row) noexcept {
        if constexpr (Place::out_of_band) return untouchable(p, row);
        if (Counts && is_row(p, row) && type_of(header(p))->destroy != nullptr) word(header(p), row).construct();
    }
    static void untouchable(page_header& p, std::byte* row) noexcept {
        header(p).context->report(misuse::no_host_access, "huge", type_of(header(p)), row);
    }
    static void seal(page_header& p, std::byte* row) noexcept {
        if constexpr (Place::out_of_band) return untouchable(p, row);
        if (!Counts || !is_row(p, row) || type_of(header(p))->check == row_check::none) return;
        write_seal(*type_of(header(p)), row, home_of(header(p)).room(header(p)));
        word(header(p), row).seal();
    }
    static bool check(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return false;
        const bool intact = home_of(header(p)).is_intact(header(p));
        return home_of(header(p)).is_sealed_well(header(p)) && intact;
    }

    void free(huge_header& h) noexcept {
        const std::size_t pages = h.pages;
        std::byte* const run = run_of(h);
        if constexpr (Guard::wipes) sys::wipe(row_of(h), room(h));
        provider_.arena().set_owner(run, nullptr);
        h.ops = nullptr;
        leave(h.place); // aside, the header is the next one's from now on
        rows_.fetch_sub(1, std::memory_order_relaxed);
        pages_.fetch_sub(pages, std::memory_order_relaxed);
        provider_.give(run, pages);
    }

    static constexpr row_ops ops{&link, &release, &is_shared, &capacity, &finalize, &seal, &check};

    page_provider& provider_;
    row_context& context_;
    ALLOT_NO_UNIQUE_ADDRESS page_guard<Guard> canary_;
    std::atomic<std::size_t> rows_{0};
    std::atomic<std::size_t> pages_{0};
    chunk first_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
