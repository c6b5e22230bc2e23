// What stands behind an arena's pages where that is not the system's memory: a device's.
//
// Units are what it maps and unmaps, a power of two of pages, 64 at most; the arena asks for the pages that it takes,
// and offers units without taken pages. Invariant: a page that was committed is usable until its unit is decommitted.
// Cost: a virtual call a page request. Threads: any for commit and the figures; for decommit any, for units in which no
// page is taken, and none will be before it returns. Idea: pluggable backings, as the extent hooks of jemalloc (2014).
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

class page_backing {
  public:
    page_backing() = default;
    page_backing(const page_backing&) = delete;
    page_backing& operator=(const page_backing&) = delete;

    /// Makes pages usable; false when there is no memory, and then nothing was kept.
    virtual bool commit(std::size_t first_page, std::size_t pages) noexcept = 0;
    /// Gives the memory of whole units back; false when that was refused, and then they are as before.
    virtual bool decommit(std::size_t first_page, std::size_t pages) noexcept = 0;
    virtual std::size_t committed_bytes() const noexcept = 0;
    virtual std::size_t pages_per_unit() const noexcept = 0;

  protected:
    ~page_backing() = default;
};

} // namespace allot::inline ALLOT_ABI
