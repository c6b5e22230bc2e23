// Measurements of memory use, by row manager and heap; the largest is kept.
#pragma once
#include <algorithm>
#include <allot/row_manager.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace flights {

struct heap_line {
    std::string table, heap, type; // empty type: rows of many types
    std::size_t slot_bytes = 0, rows = 0, row_bytes = 0, pages = 0, bytes = 0;
    double overhead = 0; // bytes per row, beyond the request
};

struct memory_use {
    std::string when;
    std::size_t limit = 0, charged = 0, promised = 0, committed = 0, resident = 0, peak = 0, live_rows = 0;
    std::vector<heap_line> heaps; // the largest first
};

/// Adds one manager's rows and heaps.
template <class Rows> void add_use(const Rows& rows, const std::string& table, memory_use& use) {
    rows.usage([&](const allot::heap_usage& heap) {
        if (heap.live_rows == 0) return;
        use.live_rows += heap.live_rows;
        use.heaps.push_back({table, heap.name, heap.type == nullptr ? "" : heap.type->name, heap.slot_bytes,
                             heap.live_rows, heap.row_bytes, heap.pages, heap.bytes, heap.overhead_per_row});
    });
}

/// Keeps the largest of the measurements.
class memory_log {
  public:
    template <class Engine> void note(const Engine& memory, const char* when) {
        if (fullest_.when.empty() || memory.account.used() > fullest_.charged + fullest_.promised)
            fullest_ = memory.measure(when);
    }
    const memory_use& fullest() const { return fullest_; }

  private:
    memory_use fullest_;
};

} // namespace flights
