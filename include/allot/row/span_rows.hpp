// span_rows: rows of a tenth of a page to a whole one, in spans: contiguous pages that are cut into slots together, so
// that each row is charged at most 12.5 % more than its size.
//
//   slot:   P/9  P/8 | 2P/15  P/7  2P/13  P/6 .. P/4 | 4P/15  2P/7  4P/13  P/3 .. P/2 | 8P/15  4P/7  8P/13 .. P  9P/8
//   pages:  1    1   | 2      1    2      1   .. 1   | 4      2     4      1   .. 1   | 8      4     8     .. 1  9
//
// P is the page; the last class is for rows of a page with a header or a canary beside them. A span holds 1 to 15
// slots; powers of two take no more than they are. A heap of one class is as others are, with the shared caches in
// front of it. Its headers are in host memory (heap/header_location.hpp): a page would lose a slot to one.
// Invariant: an entry is null, or a heap that exists as long as the manager. Slots are multiples of 16 bytes.
// Cost: 500 bytes; 3.25 KiB per class in use, which takes a span; 512 bytes of host memory per span.
// Threads: any; a spin lock only to create a heap. Source: spans of tcmalloc, 2005; eight classes per doubling, as the
// list fine.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/size_class.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/row/row_context.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

// For sets without spans.
struct no_span_rows {
    no_span_rows(page_provider&, row_context&, std::size_t) noexcept {}
    static constexpr std::size_t least() noexcept { return SIZE_MAX; }
    static constexpr bool serves(std::size_t, std::size_t) noexcept { return false; }
    static constexpr std::size_t capacity_for(std::size_t) noexcept { return 0; }
};

// `Rows`: slot_rows with header_of_span.
template <class Rows> class span_rows {
  public:
    using heap = typename Rows::heap;

    // `most`: the most bytes of pages, as of now. With few of them there are no spans.
    span_rows(page_provider& provider, row_context& context, std::size_t most) noexcept
        : provider_(provider), context_(context), shift_(log2_floor(provider.page_bytes())),
          least_(most / least_limit < provider.page_bytes()
                     ? SIZE_MAX
                     : max(provider.page_bytes() / 10, std::size_t{size_table::max_direct})) {
        add(1, 9), add(1, 8);
        for (std::size_t pages = 2; pages <= most_pages; pages *= 2)
            for (std::size_t slots = 15; slots >= 8; --slots) add(pages, slots);
        add(most_pages + 1, 8);
    }
    span_rows(const span_rows&) = delete;
    span_rows& operator=(const span_rows&) = delete;

    // Rows of more bytes are served.
    std::size_t least() const noexcept { return least_; }
    bool serves(std::size_t bytes, std::size_t align) const noexcept {
        return bytes > least_ && bytes <= classes_.back().slot - header && align <= slot_align;
    }
    // Bytes that a row may use. Requires serves().
    std::size_t capacity_for(std::size_t bytes) const noexcept { return classes_[index(bytes)].slot - header; }
    // A slot for a row; null if it is refused. Requires serves().
    std::byte* pop(std::size_t bytes, memory_request& asked) noexcept {
        const std::size_t i = index(bytes);
        heap* h = heaps_[i].load(std::memory_order_acquire);
        if (ALLOT_UNLIKELY(h == nullptr)) h = create(i, asked);
        return h != nullptr ? h->pop(asked) : nullptr;
    }

  private:
    static constexpr std::size_t header = Rows::counting::header_bytes(false) + Rows::guard::row_bytes; // per row
    static constexpr std::size_t slot_align = 16;
    static constexpr std::size_t most_pages = 8;               // in the doublings
    static constexpr std::size_t least_limit = 512;            // pages: all classes together take a sixth of it
    static constexpr std::size_t per_doubling = 8, before = 2; // classes; before the first doubling
    static constexpr std::size_t all_classes = before + 3 * per_doubling + 1;

    struct span_class {
        std::uint32_t slot = 0, pages = 0; // bytes; of a span
    };

    void add(std::size_t pages, std::size_t slots) noexcept {
        while (pages % 2 == 0 && slots % 2 == 0) pages /= 2, slots /= 2;
        // Bytes before the header of the first row, which is aligned, too.
        constexpr std::size_t row_header = Rows::counting::header_bytes(false);
        constexpr std::size_t in_front = align_up(Rows::page::least_offset + row_header, slot_align) - row_header;
        const std::size_t slot = align_down(((pages << shift_) - in_front) / slots, slot_align);
        classes_[count_++] = {static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(pages)};
    }
    std::size_t index(std::size_t bytes) const noexcept {
        const std::size_t slot = bytes + header, first = (slot - 1) >> (shift_ - 3); // in eighths of a page
        std::size_t i = first == 0 ? 0 : before + per_doubling * log2_floor(first);
        while (classes_[i].slot < slot) ++i;
        return i;
    }
    ALLOT_NOINLINE heap* create(std::size_t i, memory_request& asked) noexcept {
        if (!provider_.books().pay(asked)) return nullptr;
        heap_config config = Rows::plan(context_, "rows", nullptr, classes_[i].slot - header, slot_align);
        config.pages = classes_[i].pages;
        const lock_guard hold(create_lock_);
        heap* made = heaps_[i].load(std::memory_order_acquire);
        if (made == nullptr) {
            made = new (std::nothrow) heap(provider_, config);
            if (made == nullptr) return asked.refuse(charge_outcome::no_memory, sizeof *made);
            heaps_[i].store(made, std::memory_order_release);
        }
        return made;
    }

    page_provider& provider_;
    row_context& context_;
    const unsigned shift_; // of a page
    const std::size_t least_;
    std::array<span_class, all_classes> classes_{};
    std::size_t count_ = 0;
    basic_spin_lock<lock_rank::buckets> create_lock_;
    std::array<std::atomic<heap*>, all_classes> heaps_{};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
