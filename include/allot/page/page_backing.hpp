// Maps and unmaps an arena's pages where they are not memory of the system: those of a device.
//
// It works in units: a power of two of pages, 64 at most. The arena commits the pages that it takes, and decommits
// units without taken pages. Invariant: a committed page is usable until its unit is decommitted.
// Cost: a virtual call per page request. Threads: any; a unit is decommitted by one thread, while no page of it is
// taken.
// Source: pluggable backings, as the extent hooks of jemalloc, 2014.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// The interface of a backing; page::on_device has one.
class page_backing {
  public:
    page_backing() = default;
    page_backing(const page_backing&) = delete;
    page_backing& operator=(const page_backing&) = delete;

    /// Makes pages usable.
    /// Returns: false on lack of memory, and nothing has changed.
    /// Threads: any.
    virtual bool commit(std::size_t first_page, std::size_t pages) noexcept = 0;
    /// Returns the memory of whole units.
    /// Requires: no page of them is taken before this returns.
    /// Returns: false where that is refused; units that were not reached are as before.
    virtual bool decommit(std::size_t first_page, std::size_t pages) noexcept = 0;
    /// Bytes of memory mapped now.
    /// Threads: any.
    virtual std::size_t committed_bytes() const noexcept = 0;
    virtual std::size_t pages_per_unit() const noexcept = 0;

  protected:
    ~page_backing() = default;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
