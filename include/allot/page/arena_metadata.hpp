// How much memory an arena's own tables take, beside its pages: bitmaps, owners, and what retain::idle marks.
//
// In this order: page bitmap | dirty bits | idle bits, if any | an owner a page | an empty bitmap where headers lie
// aside.
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
    // Whole OS pages of zeros. The caller of a borrowed arena lends them for pages that never idle.
    static std::size_t bytes(std::size_t pages, bool idle) noexcept {
        return align_up(page_bitmap::bytes_for(pages) + dirty_bytes(pages) + (idle ? idle_pages::bytes_for(pages) : 0) +
                            pages * sizeof(page_owner),
                        sys::os_page_bytes());
    }
    static std::size_t lent_bytes(std::size_t pages) noexcept { return bytes(pages, false); }
    static std::size_t own_bytes(std::size_t pages, bool idle, bool headers_out_of_band) noexcept {
        return bytes(pages, idle) + (headers_out_of_band ? align_up(dirty_bytes(pages), sys::os_page_bytes()) : 0);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
