#include "second.hpp"

#include <vector>

void* make_row(shared_rows& rows) { return rows.allocate(100); }

std::size_t pmr_bytes(shared_rows& rows) {
    allot::adapt::memory_resource resource{rows};
    std::pmr::vector<int> numbers(1000, 7, &resource);
    return rows.stats().live_bytes;
}
