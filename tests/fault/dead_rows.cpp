// A compaction of rows without link counts that the host has no memory for: the rows stay, and dead ones are not moved.
// Compiled alone: it replaces operator new.
#include <support/catch.hpp>

#include <allot/core/units.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <new>
#include <set>
#include <vector>

using namespace allot::literals;

namespace {

bool no_arrays = false;
struct uncounted : allot::policies<allot::count::none> {};

} // namespace

void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return no_arrays ? nullptr : ::operator new[](bytes);
}

TEST_CASE("rows without counts stay where the host has no memory for a bit per slot", "[fault][compaction]") {
    allot::row_manager<uncounted> rows{allot::limit{8_MiB}, allot::page_bytes{16_KiB}};
    std::vector<void*> all, span;
    for (int i = 0; i != 4000; ++i) all.push_back(rows.allocate(60));
    for (std::size_t i = 0; i != all.size(); ++i)
        if (i % 20 == 0) span.push_back(all[i]);
        else rows.release(all[i]);
    const std::size_t live = span.size();
    span.insert(span.end(), {all[1], all[2], all[3]});
    const std::vector<void*> was = span;
    no_arrays = true;
    const allot::compaction refused = rows.compact(span);
    no_arrays = false;
    CHECK(refused.moved == 0);
    CHECK(refused.pinned == span.size());
    CHECK(span == was);
    CHECK(rows.live_rows() == live);
    const allot::compaction done = rows.compact(span); // and the next one works
    CHECK(done.moved != 0);
    CHECK(done.ignored == 3);
    span.resize(live);
    CHECK(rows.live_rows() == live);
    CHECK(std::set<void*>(span.begin(), span.end()).size() == live);
    for (void* const row : span) rows.release(row);
    CHECK(rows.valid());
}
