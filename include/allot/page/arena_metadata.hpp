// The bytes of an arena's own tables, beside its pages.
//
//   | page bitmap | dirty bits | idle bits, under retain::idle | an owner per page |
//
// Cost: see arena_base.hpp. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/page/idle_pages.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/page/page_map.hpp>
#include <allot/sys/map.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct arena_metadata {
    static std::size_t dirty_bytes(std::size_t pages) noexcept {
        return ceil_div(pages, std::size_t{64}) * sizeof(std::uint64_t);
    }
    // In whole OS pages; the memory must be zeros.
    static std::size_t bytes(std::size_t pages, bool idle) noexcept {
        return align_up(page_bitmap::bytes_for(pages) + dirty_bytes(pages) + (idle ? idle_pages::bytes_for(pages) : 0) +
                            pages * sizeof(page_owner),
                        sys::os_page_bytes());
    }
    // Of a borrowed arena, which never returns pages.
    static std::size_t lent_bytes(std::size_t pages) noexcept { return bytes(pages, false); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
