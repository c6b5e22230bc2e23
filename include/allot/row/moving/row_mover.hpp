// Moves rows of a span out of the pages that a compaction empties (page_queues::begin_moves).
//
//   mark each row on its page -> each heap chooses the pages to be emptied -> move each row that lies on one
//
// A row that moves is the caller's alone: it has one link, that of the caller of compact(). So no other thread
// may use it, and it is copied without a lock. Slots are taken and freed in batches, under the lock of their heap.
// Invariant: a slot that was taken holds a row, or is freed in the end. Cost: 20 KiB of stack; no memory of the heap.
// Where rows have no link counts: a bit per slot of host memory, 2 ns per free slot under its heap's lock.
// Threads: one compaction at a time in a manager, beside any other use of it.
// Source: the new algorithm of HPCC roxiemem's compactRows(), 2018.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/page/arena.hpp>
#include <allot/row/moving/compaction.hpp>
#include <allot/row/row.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/sys/clock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {

class row_mover {
  public:
    // `manager`: rows of other ones are ignored.
    row_mover(page_arena& arena, const void* manager, const compaction_budget& budget) noexcept
        : manager_(manager), left_(budget.nanoseconds != 0 ? budget.rows : 0), arena_(arena),
          time_(budget.nanoseconds) {}
    row_mover(const row_mover&) = delete;
    row_mover& operator=(const row_mover&) = delete;

    compaction& done() noexcept { return done_; }

    ALLOT_OUTLINE_WARM void mark(std::span<void* const> rows) noexcept {
        for (std::size_t i = 0; i != rows.size(); ++i) {
            prefetch<1>(rows, i);
            void* const row = rows[i];
            page_header* const p = page_of(row);
            switch (p != nullptr ? p->ops->mark(*p, bytes_of(row), manager_) : row_moves::not_live) {
            case row_moves::yes: ++done_.kept; break;
            case row_moves::shared: ++done_.shared; break;
            case row_moves::pinned: ++done_.pinned; break;
            case row_moves::not_live: ++done_.ignored; break;
            }
        }
    }
    ALLOT_OUTLINE_WARM void move(std::span<void*> rows) noexcept {
        for (std::size_t i = 0; i != rows.size(); ++i) {
            prefetch<2>(rows, i);
            void*& row = rows[i];
            page_header* const p = page_of(row);
            heap_base* const of = p != nullptr ? p->ops->leaves(*p, bytes_of(row), manager_) : nullptr;
            if (of == nullptr) continue;
            std::byte* const to = take(*of);
            if (to == nullptr) {
                if (left_ == 0) break;
                continue; // no target of this heap has room: others took it
            }
            p->ops->move(*p, bytes_of(row), to);
            batch& b = *last_;
            b.old[b.n_old++] = bytes_of(row);
            row = to;
            ++done_.moved;
            --done_.kept;
            --left_;
        }
    }
    void settle() noexcept {
        for (batch& b : batches_) settle(b);
    }

  protected:
    static std::byte* bytes_of(void* row) noexcept { return static_cast<std::byte*>(row); }
    page_header* page_of(void* row) const noexcept {
        const page_arena* const in = arena_.contains(row) ? &arena_ : arena_at(row); // of packets: those are pinned
        return in != nullptr ? page_of_row(*in, row, []() noexcept -> page_header* { return nullptr; }) : nullptr;
    }
    // A slot on a page that stays; null: none is left, or the budget is used up.
    std::byte* take(heap_base& of) noexcept {
        if (left_ == 0) return nullptr;
        last_ = &batches_[of.batch_of_moves % n_batches];
        batch& b = *last_;
        if (b.of != &of) {
            settle(b);
            b.of = &of;
            b.is_full = false;
        }
        if (b.next == b.n) {
            if (b.is_full) return nullptr;
            if (is_late()) return left_ = 0, nullptr;
            b.n = of.exchange(b.old, b.n_old, b.slots, left_ < per_batch ? left_ : per_batch);
            b.next = b.n_old = 0;
            if (b.n == 0) return b.is_full = true, nullptr;
        }
        if (b.next + slots_ahead < b.n)
            prefetch_lines<2>(reinterpret_cast<std::uintptr_t>(b.slots[b.next + slots_ahead]) - 8);
        return b.slots[b.next++];
    }

    const void* const manager_;
    std::size_t left_; // rows that may be moved
    compaction done_;

  private:
    static constexpr std::size_t per_batch = 16;
    static constexpr std::size_t rows_ahead = 32, slots_ahead = 8; // that are prefetched
    struct batch {
        heap_base* of = nullptr;
        std::size_t next = 0, n = 0, n_old = 0; // slots from `next` to `n` are free
        bool is_full = false;                   // no target of the heap has room
        std::byte* slots[per_batch];
        std::byte* old[per_batch];
    };

    // Hints for a later row: the header of its page, and its first lines, with its count. Always inlined: g++ takes a
    // function that only prefetches for one without effect, and drops calls of it.
    template <std::size_t Lines>
    ALLOT_ALWAYS_INLINE void prefetch(std::span<void* const> rows, std::size_t i) const noexcept {
        if (i + rows_ahead >= rows.size()) return;
        const void* const row = rows[i + rows_ahead]; // of this manager, of another, or null
        prefetch_lines<2>(reinterpret_cast<std::uintptr_t>(row) & arena_.page_mask());
        prefetch_lines<Lines>(reinterpret_cast<std::uintptr_t>(row) - 8);
    }
    template <std::size_t Lines> ALLOT_ALWAYS_INLINE static void prefetch_lines(std::uintptr_t at) noexcept {
        for (std::size_t i = 0; i != Lines; ++i) __builtin_prefetch(reinterpret_cast<const void*>(at + 64 * i));
    }
    // Whether the time is over. It begins with the first rows that move, so each call moves some.
    bool is_late() noexcept {
        if (time_ == UINT64_MAX) return false;
        const std::uint64_t now = sys::fine_clock::now();
        if (begun_ == 0) begun_ = now;
        return now - begun_ > time_;
    }
    // Frees what the rows have left, and the slots that were not used.
    static void settle(batch& b) noexcept {
        if (b.of == nullptr) return;
        b.of->exchange(b.old, b.n_old, nullptr, 0);
        b.of->exchange(b.slots + b.next, b.n - b.next, nullptr, 0);
        b = batch{};
    }

    static constexpr std::size_t n_batches = 64; // as many classes as most managers have

    page_arena& arena_;
    const std::uint64_t time_; // nanoseconds
    std::uint64_t begun_ = 0;  // when the first rows moved
    batch* last_ = nullptr;
    batch batches_[n_batches];
};

// The compactions of a row manager, one at a time.
class compactor {
  public:
    // each_span(call) calls call(std::span<void*>) for each span of rows, with the same spans each time.
    template <class EachSpan>
    compaction run(page_provider& pages, const void* manager, EachSpan each_span,
                   const compaction_budget& budget) noexcept {
        return run(pages, manager, each_span, budget,
                   [](row_mover& by, std::span<void*> rows) noexcept { by.move(rows); });
    }
    // move(Mover&, span). Mover: a row_mover.
    template <class Mover = row_mover, class EachSpan, class Move>
    compaction run(page_provider& pages, const void* manager, EachSpan each_span, const compaction_budget& budget,
                   Move move) noexcept {
        while (runs_.exchange(true, std::memory_order_acquire)) runs_.wait(true, std::memory_order_relaxed);
        std::size_t returned = pages.reclaim_all(); // caches and quarantine hold no slot from now on
        Mover moves(pages.arena(), manager, budget);
        each_span([&](std::span<void*> rows) noexcept { moves.mark(rows); });
        compaction& done = moves.done();
        std::uint32_t heaps = 0;
        pages.heaps().for_each([&](heap_base& heap) {
            if (heap.marked == 0) return;
            heap.batch_of_moves = heaps++;
            done.pages_before += heap.pages();
            done.pages_pinned += heap.begin_moves();
        });
        each_span([&](std::span<void*> rows) noexcept { move(moves, rows); });
        moves.settle();
        std::size_t emptied = 0;
        pages.heaps().for_each([&](heap_base& heap) {
            heap.live.end();
            if (heap.marked == 0) return;
            heap.end_moves();
            emptied += heap.reclaim(true);
            done.pages_after += heap.pages();
        });
        // Where a request waits for memory, it has returned pages meanwhile.
        if (done.pages_after < done.pages_before) emptied = max(emptied, done.pages_before - done.pages_after);
        returned += emptied;
        runs_.store(false, std::memory_order_release);
        runs_.notify_one();
        done.bytes_returned = returned << pages.arena().page_shift();
        pages.record(watch_event::reclaimed, done.bytes_returned);
        return done;
    }

  private:
    std::atomic<bool> runs_{false};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
