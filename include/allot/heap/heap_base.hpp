// Base class of all heaps of a row manager: usage, reclaiming, visiting, destruction.
//
// Cost: virtual calls, none of them in allocate or release. Threads: any, unless a member says otherwise.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>
#include <allot/heap/live_slots.hpp>
#include <allot/sync/called_list.hpp>
#include <allot/watch/type_histogram.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Usage of one heap at a moment, as row_manager::usage() reports it. Numbers are approximate while other threads run.
struct heap_usage {
    const char* name = "";
    const row_type* type = nullptr; ///< null: rows of many types
    std::size_t row_bytes = 0;      ///< usable bytes of a row
    std::size_t slot_bytes = 0;     ///< bytes from one slot to the next, row header included; 0: huge rows
    std::size_t live_rows = 0;
    std::size_t cached_rows = 0;   ///< free slots in slot caches and quarantine, and frees deferred by a cache
    std::size_t pages = 0;         ///< of the arena
    std::size_t bytes = 0;         ///< charged: pages x page size
    std::size_t scanned_slots = 0; ///< slots examined by claims so far; 0 if the slot policy does not scan
    std::size_t found_slots = 0;   ///< free slots that these scans found
    double overhead_per_row = 0;   ///< (bytes - live_rows x row_bytes) / live_rows; 0 without rows
};

/// The use of a page, of a span, or of the run of pages of one huge row.
struct page_use {
    const std::byte* first = nullptr; ///< start of the first page
    std::size_t pages = 0;
    std::size_t slots = 0; ///< slots of the page, or of the span; 0: a huge row
    std::size_t used = 0;  ///< slots that hold a row or are in a cache
};

namespace detail {

struct heap_config;
struct row_ops;

class heap_base {
  public:
    heap_base() = default;
    heap_base(const heap_base&) = delete;
    heap_base& operator=(const heap_base&) = delete;
    virtual ~heap_base() = default;

    // Returns empty pages to the arena; returns their number. `forced`: flushes the shared caches and the quarantine
    // first and keeps no page. Not forced: may keep one page, and does nothing while another thread holds the lock.
    virtual std::size_t reclaim(bool forced) noexcept = 0;
    // Whether eight pages or more, half of all, have no row, and slots in caches keep them. Maybe not, while another
    // thread holds the lock.
    virtual bool pins_pages() noexcept = 0;
    virtual heap_usage usage() noexcept = 0;
    // Adds the heap's rows by type, estimated where `budget` does not allow to count. Holds the heap's lock.
    virtual void count_types(type_histogram& into, const histogram_budget& budget) noexcept = 0;
    // Visits the heap's pages with its lock held.
    using page_visitor = void (*)(void* context, const page_use& use);
    virtual void visit_pages(page_visitor visit, void* context) noexcept = 0;
    // Visits every live row. No other thread may use the heap meanwhile.
    using row_visitor = void (*)(void* context, std::byte* row, const row_type* type);
    virtual void visit_rows(row_visitor visit, void* context) noexcept = 0;
    // Returns all pages to the arena, live rows included; returns their number. No other thread may use the heap
    // meanwhile.
    virtual std::size_t drop_pages() noexcept = 0;
    virtual bool valid() noexcept = 0;
    // Reports the damage that was logged while a lock was held. Requires that no lock is held.
    virtual void report_found_damage() noexcept {}
    // The operations of the heap's rows; heaps of different types have different ones.
    virtual const row_ops* kind() const noexcept = 0;
    virtual const heap_config& config() const noexcept = 0;
    // Makes it a heap of another config, with the same ops. False: another thread is in a reclaim() of it, and nothing
    // has changed. Requires: the heap is unused.
    virtual bool configure(const heap_config& config) noexcept = 0;
    // Whether the heap has no handles: then it keeps no empty page, and releases go past its caches and quarantine.
    virtual void set_abandoned(bool now) noexcept = 0;
    // Call when it was abandoned: returns empty pages. Waits for threads that release a row into a cache of it.
    virtual void return_all() noexcept = 0;

    // Whether releases go past shared caches and quarantine, to their pages: requests wait for memory of the group.
    virtual void set_shut(bool now) noexcept = 0;
    // Frees the slots of the shared caches to their pages. Waits for threads that release a row into one.
    virtual void flush_shared() noexcept = 0;

    // ---- compaction (row/moving/row_mover.hpp), one at a time in a group ----
    // Chooses the pages to be emptied; returns the number of those with slots that stay. Until end_moves() no slot of
    // the chosen is claimed, but where there is no other.
    virtual std::size_t begin_moves() noexcept = 0;
    virtual void end_moves() noexcept = 0;
    // Frees n slots, then takes up to `most` on pages that stay; returns their number.
    virtual std::size_t exchange(std::byte* const* old, std::size_t n, std::byte** slots,
                                 std::size_t most) noexcept = 0;
    std::size_t marked = 0;           // rows that may move
    std::uint32_t batch_of_moves = 0; // the place of its slots in a row_mover
    live_slots live;                  // where rows have no link counts
    virtual std::size_t pages() noexcept = 0;

    // No handle, row, page or cache of a user, and no damage to report: closed, and not needed any more.
    virtual bool is_idle() noexcept = 0;
    // A handle of it, or a cache of a local handle, exists.
    virtual bool has_users() noexcept = 0;

    // Members of heap_group:
    called_hook<heap_base> in_group;
    heap_base* chained = nullptr;
    heap_base* next_kind = nullptr;
    std::uint64_t index_key = 0;
    std::atomic<std::uint32_t> handles{0};
    bool indexed = false;
    bool unused = false;
    std::atomic<heap_base*> empty_link{nullptr}; // in heap_group's list of heaps with empty pages
    std::atomic<bool> noted{false};              // on the list of heaps with empty pages
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
