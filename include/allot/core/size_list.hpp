// Lists of slot sizes: roxie, thor, fine, or your own.
//
//     struct mine {
//         static constexpr std::array<std::uint32_t, 3> sizes{24, 48, 96};                 // header included
//         static constexpr auto above = allot::size::tail::fractions;                      // optional
//     };
//
// Sizes are bytes of a slot, the row's header included: ascending multiples of 4, from 8 to 64 KiB, at most 64 of them.
// Above the last size, classes follow from the page size and the list's `above`; the last class is the whole page.
// Constants; host and device.
// Source: roxie and thor are the bucket tables of HPCC roxiemem, 2010; eight classes per doubling as jemalloc's size
// classes (four per doubling), 2005.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace size {

/// The size classes above a list's last size. Both end with fractions of the page, which leave none of it unused.
enum class tail {
    fractions, // multiples of 4096 to 16384, then four per doubling; the page divided by 15, 14, .. 1
    eighths,   // eight per doubling to 256 KiB, then four; the page divided by 31 (15 where those are more
               // than 128 classes), .. 1
};

inline constexpr std::size_t max_list_sizes = 64;
inline constexpr std::uint32_t largest_list_size = 64 * 1024;

namespace list {

struct roxie {
    static constexpr std::array<std::uint32_t, 8> sizes{16, 32, 64, 128, 256, 512, 1024, 2048};
};

struct thor {
    static constexpr std::array<std::uint32_t, 14> sizes{16,  32,  48,  64,  96,   128,  192,
                                                         256, 384, 512, 768, 1024, 1536, 2048};
};

/// At most 12.5 % above the request, from 64 bytes to a 15th of the page (at most 256 KiB). A row manager under a limit
/// of 1 MiB or less has a class per doubling instead: each takes a page.
struct fine {
    static constexpr std::array<std::uint32_t, 47> sizes = [] {
        std::array<std::uint32_t, 47> all{};
        std::size_t n = 0;
        for (std::uint32_t size = 16; size <= 128; size += 8) all[n++] = size;
        for (std::uint32_t base = 128; base < 2048; base *= 2)
            for (std::uint32_t i = 1; i <= 8; ++i) all[n++] = base + base / 8 * i;
        return all;
    }();
    static constexpr tail above = tail::eighths;
};

/// As many sizes as fine, so chosen that the 12.5 % hold with a page's header and the bytes behind its last slot:
/// pages of 64 KiB. All but those below 128 are multiples of 16.
struct even {
    static constexpr std::array<std::uint32_t, 47> sizes{
        16,  24,  32,  40,  48,  56,  64,   72,   80,   88,   96,   104,  112,  120,  128, 144,
        160, 176, 192, 208, 224, 240, 256,  272,  304,  336,  368,  400,  432,  464,  512, 544,
        608, 672, 736, 800, 864, 928, 1024, 1088, 1200, 1328, 1472, 1616, 1760, 1904, 2048};
    static constexpr tail above = tail::eighths;
};

} // namespace list

template <class List> constexpr tail tail_of() {
    if constexpr (requires { List::above; }) return List::above;
    else return tail::fractions;
}

namespace detail {

/// The rule that a list breaks.
enum class list_fault { none, no_sizes, too_many, not_a_multiple, not_ascending, out_of_range, above_is_no_tail };

template <class List> constexpr list_fault fault_of() {
    if constexpr (!requires {
                      { List::sizes.size() } -> std::convertible_to<std::size_t>;
                      { List::sizes[0] } -> std::convertible_to<std::uint32_t>;
                  }) {
        return list_fault::no_sizes;
    } else if constexpr (requires { List::above; } && !requires { tail{List::above}; }) {
        return list_fault::above_is_no_tail;
    } else {
        if (List::sizes.size() == 0) return list_fault::no_sizes;
        if (List::sizes.size() > max_list_sizes) return list_fault::too_many;
        std::uint32_t before = 0;
        for (const std::uint32_t size : List::sizes) {
            if (size % 4 != 0) return list_fault::not_a_multiple;
            if (size <= before && before != 0) return list_fault::not_ascending;
            if (size < 8 || size > largest_list_size) return list_fault::out_of_range;
            before = size;
        }
        return list_fault::none;
    }
}

} // namespace detail

template <class List> inline constexpr bool is_list = detail::fault_of<List>() == detail::list_fault::none;

/// Reports one error for a list that breaks a rule, with the list's name and the rule.
template <class Set, class List, detail::list_fault Fault = detail::fault_of<List>()> constexpr auto refuse_list() {
    using enum detail::list_fault;
    static_assert(Fault != no_sizes,
                  "allot: a size list must have static constexpr std::array<std::uint32_t, N> sizes, N > 0");
    static_assert(Fault != too_many, "allot: a size list must have at most 64 sizes");
    static_assert(Fault != not_a_multiple, "allot: the sizes of a size list must be multiples of 4");
    static_assert(Fault != not_ascending, "allot: the sizes of a size list must be ascending");
    static_assert(Fault != out_of_range, "allot: the sizes of a size list must be 8 to 65536");
    static_assert(Fault != above_is_no_tail, "allot: `above` of a size list must be an allot::size::tail");
}

static_assert(is_list<list::roxie> && is_list<list::thor> && is_list<list::fine> && is_list<list::even>);
static_assert(list::fine::sizes.back() == 2048);

} // namespace size

} // namespace allot::inline ALLOT_ABI
