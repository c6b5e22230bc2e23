// The category `page`: where whole pages come from.
//
// Declarations and contract; the answers are in allot/page/.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace page {

/// The range of page sizes; a page size is a power of two.
inline constexpr std::size_t min_bytes = std::size_t{16} << 10;
inline constexpr std::size_t max_bytes = std::size_t{16} << 20;
/// The least size of a huge OS page.
inline constexpr std::size_t min_huge_bytes = std::size_t{64} << 10;

/// Options of page::mapped.
struct mapped_options {
    std::size_t page = 0;         // bytes of a page; 0: by the limit
    std::size_t reserve = 0;      // bytes of address space; 0: by the limit, or the machine's memory
    bool dont_dump = false;       // leave the memory out of core dumps
    bool lock = false;            // lock the memory: it is never swapped
    bool transparent_huge = true; // huge OS pages beyond the first 16 MiB
};

/// Options of page::huge_pages; those of the same name as in mapped_options.
struct huge_options {
    std::size_t page = 0;
    std::size_t reserve = 0;
    std::size_t huge_page = std::size_t{2} << 20; // bytes of a preallocated OS page
    bool dont_dump = false;
    bool lock = false;
};

constexpr bool is_page_size(std::size_t n) noexcept { return n >= min_bytes && n <= max_bytes && (n & (n - 1)) == 0; }
constexpr bool are_valid(std::size_t page, std::size_t reserve) noexcept {
    return page == 0 ? reserve % min_bytes == 0 : is_page_size(page) && reserve % page == 0;
}
constexpr bool valid(const mapped_options& o) noexcept { return are_valid(o.page, o.reserve); }
constexpr bool valid(const huge_options& o) noexcept {
    return are_valid(o.page, o.reserve) && o.huge_page >= min_huge_bytes && (o.huge_page & (o.huge_page - 1)) == 0;
}

/// Reserves address space and commits pages on demand.
template <mapped_options Options = mapped_options{}> struct mapped;
/// Preallocated huge OS pages; else transparent huge pages; else plain OS pages.
template <huge_options Options = huge_options{}> struct huge_pages;
/// Pages in bytes that the caller provides.
struct borrowed;
/// Pages of an arena that several objects share.
template <class Arena> struct of;
/// A device's memory, through a model of device::api.
template <class Api> struct on_device;

} // namespace page

namespace category {

struct page {
    static constexpr std::string_view name = "page";
    static constexpr std::string_view question = "where do whole pages come from";
    static constexpr std::string_view contract = "it must provide host_accessible or device_accessible";
    static constexpr std::string_view fallback_rule = "mapped";
    static constexpr std::string_view room = "page";
    using fallback = allot::page::mapped<>;

    template <class P>
    static constexpr bool takes = detail::answers<P, page> && requires {
        requires detail::provides<P, property::host_accessible> || detail::provides<P, property::device_accessible>;
    };
};

} // namespace category

} // namespace allot::inline ALLOT_ABI
