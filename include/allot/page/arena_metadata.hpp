// The bytes of an arena's own tables, beside its pages.
//
//   | page bitmap | dirty bits | idle bits, under retain::idle | an owner per page | zeros, where headers are out of
//   band |
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
    static std::size_t own_bytes(std::size_t pages, bool idle, bool headers_out_of_band) noexcept {
        return bytes(pages, idle) + (headers_out_of_band ? align_up(dirty_bytes(pages), sys::os_page_bytes()) : 0);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
