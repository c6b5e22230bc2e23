// Rows larger than a heaplet's largest slot: each is a run of pages of its own, returned at once.
//
//   | header 64 | ... | type 4 | count 4 | row .........        the row lies in the run's first page
//
// Invariant: every huge row stands in the manager's register, so that it can be counted and named.
// Cost: one page charge and one run of the arena; at most a page and 64 bytes of waste. The register is a list of
// chunks of 64 places; entering and leaving are lock-free. Threads: any. Source: HPCC roxiemem's HugeHeap, 2010.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/units.hpp>
#include <allot/heap/family.hpp>
#include <allot/row/link_count.hpp>
#include <allot/row/row_context.hpp>
#include <allot/row/row_ops.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct alignas(64) huge_header : page_header {
    row_context* context = nullptr;
    std::size_t pages = 0;
    std::size_t row_offset = 0;
    std::atomic<huge_header*>* place = nullptr; // in the register
};

template <class Ledger, bool Counts>
class huge_rows {
  public:
    huge_rows(heap_family<Ledger>& family, row_context& context) noexcept : family_(family), context_(context) {}
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
        const std::size_t offset = align_up(sizeof(huge_header) + 2 * sizeof(std::uint32_t), align < 16 ? 16 : align);
        std::size_t total = 0;
        if (!checked_add(bytes, offset + family_.page_bytes() - 1, total)) return nullptr;
        const std::size_t pages = total >> family_.arena().page_shift();
        std::atomic<huge_header*>* const place = enter();
        if (place == nullptr) return nullptr;
        std::byte* const base = family_.take(pages);
        if (base == nullptr) {
            leave(place);
            return nullptr;
        }
        auto* const h = std::construct_at(reinterpret_cast<huge_header*>(base));
        h->owner = this;
        h->context = &context_;
        h->pages = pages;
        h->row_offset = offset;
        h->place = place;
        std::byte* const row = base + offset;
        *counting<count::links>::type_number(*h, row) = type;
        counting<count::links>::word(row).start();
        h->ops = &ops;
        place->store(h, std::memory_order_release);
        rows_.fetch_add(1, std::memory_order_relaxed);
        pages_.fetch_add(pages, std::memory_order_relaxed);
        return row;
    }

    std::size_t rows() const noexcept { return rows_.load(std::memory_order_relaxed); }
    std::size_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }

    // No row may be released meanwhile. Visits (row, type, bytes charged).
    template <class Visit>
    void for_each(Visit visit) noexcept {
        for (chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (auto& place : c->at)
                if (huge_header* const h = place.load(std::memory_order_acquire); h != nullptr && h != reserved())
                    visit(row_of(*h), type_of(*h), h->pages << family_.arena().page_shift());
    }
    // Frees all rows without running destructors.
    void drop() noexcept {
        for (chunk* c = &first_; c != nullptr; c = c->next.load(std::memory_order_acquire))
            for (auto& place : c->at)
                if (huge_header* const h = place.load(std::memory_order_acquire); h != nullptr && h != reserved())
                    free(*h);
    }

  private:
    struct chunk {
        std::atomic<huge_header*> at[64]{};
        std::atomic<chunk*> next{nullptr};
    };

    static std::byte* row_of(huge_header& h) noexcept { return reinterpret_cast<std::byte*>(&h) + h.row_offset; }
    static const row_type* type_of(huge_header& h) noexcept {
        return h.context->types[*counting<count::links>::type_number(h, row_of(h))];
    }
    static huge_header* reserved() noexcept { return reinterpret_cast<huge_header*>(std::uintptr_t{1}); }

    // A place in the register; null when there is no memory for more of it.
    std::atomic<huge_header*>* enter() noexcept {
        for (chunk* c = &first_;;) {
            for (std::atomic<huge_header*>& place : c->at) {
                huge_header* expected = nullptr;
                if (place.load(std::memory_order_relaxed) == nullptr &&
                    place.compare_exchange_strong(expected, reserved(), std::memory_order_acq_rel))
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
    static void leave(std::atomic<huge_header*>* place) noexcept {
        place->store(nullptr, std::memory_order_release);
    }

    static huge_header& header(page_header& p) noexcept { return static_cast<huge_header&>(p); }
    static bool is_row(page_header& p, std::byte* row) noexcept {
        if (row == row_of(header(p))) return true;
        header(p).context->tell(misuse::interior_pointer, "huge", nullptr, row);
        return false;
    }
    static void link(page_header& p, std::byte* row) noexcept {
        if (is_row(p, row)) counting<count::links>::word(row).link();
    }
    static void release(page_header& p, std::byte* row) noexcept {
        if (!is_row(p, row)) return;
        huge_header& h = header(p);
        const link_word word = counting<count::links>::word(row);
        switch (Counts ? word.drop() : link_word::fate::freed) {
        case link_word::fate::alive: return;
        case link_word::fate::was_free: return h.context->tell(misuse::double_release, "huge", nullptr, row);
        case link_word::fate::destroyed: type_of(h)->destroy(row); [[fallthrough]];
        case link_word::fate::freed: static_cast<huge_rows*>(h.owner)->free(h);
        }
    }
    static bool is_shared(page_header&, std::byte* row) noexcept {
        return Counts && counting<count::links>::word(row).shared();
    }
    static std::size_t capacity(page_header& p, std::byte*) noexcept {
        huge_header& h = header(p);
        return h.pages * static_cast<huge_rows*>(h.owner)->family_.page_bytes() - h.row_offset;
    }
    static void finalize(page_header& p, std::byte* row) noexcept {
        if (Counts && is_row(p, row) && type_of(header(p))->destroy != nullptr)
            counting<count::links>::word(row).construct();
    }

    void free(huge_header& h) noexcept {
        const std::size_t pages = h.pages;
        leave(h.place);
        h.ops = nullptr;
        rows_.fetch_sub(1, std::memory_order_relaxed);
        pages_.fetch_sub(pages, std::memory_order_relaxed);
        family_.give(reinterpret_cast<std::byte*>(&h), pages);
    }

    static constexpr row_ops ops{&link, &release, &is_shared, &capacity, &finalize};

    heap_family<Ledger>& family_;
    row_context& context_;
    std::atomic<std::size_t> rows_{0};
    std::atomic<std::size_t> pages_{0};
    chunk first_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
