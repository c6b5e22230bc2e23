// The category `page`: where do whole pages come from.
//
// Declarations and contract; the answers themselves live in allot/page/.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace page {

/// Pages are powers of two, 64 KiB to 16 MiB.
inline constexpr std::size_t least_bytes = std::size_t{64} << 10;
inline constexpr std::size_t most_bytes = std::size_t{16} << 20;

struct mapped_options {
    std::size_t page = std::size_t{1} << 20; // bytes of a page
    std::size_t reserve = 0;                 // bytes of address space; 0: as much as the machine has memory
    bool dont_dump = false;                  // left out of core dumps
    bool lock = false;                       // kept in memory, never swapped
    bool transparent_huge = true;            // huge OS pages beyond the first 16 MiB
};

struct huge_options {
    std::size_t page = std::size_t{2} << 20;
    std::size_t reserve = 0;
    std::size_t huge_page = std::size_t{2} << 20; // bytes of a preallocated OS page
    bool dont_dump = false;
    bool lock = false;
};

constexpr bool is_page_size(std::size_t n) noexcept {
    return n >= least_bytes && n <= most_bytes && (n & (n - 1)) == 0;
}
constexpr bool valid(const mapped_options& o) noexcept { return is_page_size(o.page) && o.reserve % o.page == 0; }
constexpr bool valid(const huge_options& o) noexcept {
    return is_page_size(o.page) && o.reserve % o.page == 0 && o.huge_page >= least_bytes &&
           (o.huge_page & (o.huge_page - 1)) == 0;
}

// Reserve, commit on demand.
template <mapped_options Options = mapped_options{}> struct mapped;
// Preallocated by the system; else transparent; else plain.
template <huge_options Options = huge_options{}> struct huge_pages;
// The caller's bytes.
struct borrowed;
// An arena that several managers share.
template <class Arena> struct of;
// A device's memory, through a model of device::api.
template <class Api> struct on_device;

} // namespace page

namespace category {

struct page {
    static constexpr std::string_view name = "page";
    static constexpr std::string_view question = "where do whole pages come from";
    static constexpr std::string_view contract = "provides host_accessible or device_accessible";
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
