// Where the memory went: what the row manager says about itself and its heaps at the fullest moment that was
// noted.
#pragma once
#include <algorithm>
#include <allot/row_manager.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace flights {

struct heap_line {
    std::string heap, type; // no type: rows of many types
    std::size_t slot_bytes = 0, rows = 0, row_bytes = 0, pages = 0, bytes = 0;
    double overhead = 0; // bytes a row, beyond what was asked for
};

struct memory_use {
    std::string when;
    std::size_t limit = 0, charged = 0, committed = 0, resident = 0, peak = 0, live_rows = 0;
    std::vector<heap_line> heaps; // the biggest first
};

template <class Rows>
memory_use look_at(Rows& rows, std::string when) {
    const auto now = rows.figures();
    memory_use use{std::move(when), now.limit, now.charged,   now.committed,
                   now.resident,    now.peak,  now.live_rows, {}};
    rows.usage([&](const allot::heap_usage& heap) {
        if (heap.live_rows == 0)
            return;
        use.heaps.push_back({heap.name, heap.type == nullptr ? "" : heap.type->name, heap.slot_bytes,
                             heap.live_rows, heap.row_bytes, heap.pages, heap.bytes, heap.overhead_per_row});
    });
    std::sort(use.heaps.begin(), use.heaps.end(),
              [](const heap_line& a, const heap_line& b) { return a.bytes > b.bytes; });
    return use;
}

/// Keeps the fullest of the moments that are noted.
class memory_log {
public:
    template <class Rows>
    void note(Rows& rows, const char* when) {
        if (fullest_.when.empty() || rows.used() > fullest_.charged)
            fullest_ = look_at(rows, when);
    }
    const memory_use& fullest() const { return fullest_; }

private:
    memory_use fullest_;
};

} // namespace flights
