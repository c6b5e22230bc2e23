// What the heaps of one row manager have in common for those who walk over them: usage, reclaiming, destruction.
//
// Cost: a virtual call, never on the path of a row. Threads: any, unless a member says otherwise.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>
#include <allot/watch/type_histogram.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

// One heap's figures at a moment. Bytes unless the name says otherwise.
struct heap_usage {
    const char* name = "";
    const row_type* type = nullptr; // null: rows of many types
    std::size_t row_bytes = 0;      // what a row may use
    std::size_t slot_bytes = 0;     // what a row costs, header included
    std::size_t live_rows = 0;
    std::size_t cached_rows = 0; // free, in the hands of threads and handles, or tallied there
    std::size_t pages = 0;
    std::size_t bytes = 0;         // charged: pages x page size
    std::size_t scanned_slots = 0; // looked at in search of free ones, so far; 0 where nobody searches
    std::size_t found_slots = 0;   // free ones that were found so
    double overhead_per_row = 0;   // (bytes - live_rows x row_bytes) / live_rows; 0 without rows
};

// What a page, or a run of them, is used for.
struct page_use {
    const std::byte* first = nullptr;
    std::size_t pages = 0;
    std::size_t slots = 0; // of the page; 0: a huge row
    std::size_t used = 0;  // of them by rows, or in a cache
};

struct row_ops;

class heap_base {
  public:
    heap_base() = default;
    heap_base(const heap_base&) = delete;
    heap_base& operator=(const heap_base&) = delete;
    virtual ~heap_base() = default;

    // Gives empty pages back to the arena; returns how many. `forced`: shared caches are emptied first and not
    // even one page is kept; otherwise it does nothing when the heap is busy.
    virtual std::size_t reclaim(bool forced) noexcept = 0;
    virtual heap_usage usage() noexcept = 0;
    // Adds the heap's rows by type. Holds the heap's lock while it looks at what the budget allows.
    virtual void count_types(type_histogram& into, const histogram_budget& budget) noexcept = 0;
    // Visits the heap's pages, holding its lock.
    using page_visitor = void (*)(void* context, const page_use& use);
    virtual void visit_pages(page_visitor visit, void* context) noexcept = 0;
    // Visits every live row (its address, its type). No thread may use the heap meanwhile.
    using row_visitor = void (*)(void* context, std::byte* row, const row_type* type);
    virtual void visit_rows(row_visitor visit, void* context) noexcept = 0;
    // Gives all pages back, whatever is in them. No thread may use the heap meanwhile.
    virtual std::size_t drop_pages() noexcept = 0;
    virtual bool valid() noexcept = 0;
    // Tells the damage that was found while a lock was held. No lock may be held.
    virtual void report_found_damage() noexcept {}
    // Tells heaps of different rows apart: their table of operations.
    virtual const row_ops* kind() const noexcept = 0;

    heap_base* next = nullptr;                   // all heaps of the manager; set once
    std::atomic<heap_base*> empty_link{nullptr}; // heaps with empty pages
    std::atomic<bool> noted{false};              // it is on that list
};

} // namespace allot::inline ALLOT_ABI
