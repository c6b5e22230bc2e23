// A row manager of any set with the memory that the set asks for, small enough for tests of hundreds of sets. A
// device's memory is simulated without anything behind its addresses: who touches it ends the program.
#pragma once

#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace sets {

inline constexpr std::size_t room = std::size_t{8} << 20;

template <class Set, class Category>
using answer = typename allot::detail::resolved<Set, allot::product::row_manager>::template answer<Category>;

// Spans are for a limit of 512 pages or more.
template <class Set>
inline constexpr bool in_spans = std::is_same_v<answer<Set, allot::category::size>, allot::size::in_spans>;
template <class Set> inline constexpr allot::page_bytes small_pages{std::size_t{in_spans<Set> ? 16 : 64} << 10};

template <class Rows> inline constexpr bool charges = answer<typename Rows::set, allot::category::ledger>::charges;
template <class Rows> inline constexpr bool links = answer<typename Rows::set, allot::category::count>::counted;
template <class Rows> inline constexpr bool raises = answer<typename Rows::set, allot::category::oom>::raises;

template <class Page> inline constexpr bool page_on_device = allot::detail::page_source<Page>::on_device;
// The host may touch the rows.
template <class Rows>
inline constexpr bool host_rows =
    allot::detail::provides<answer<typename Rows::set, allot::category::page>, allot::property::host_accessible>;

// A manager that may hold `room` bytes: by its limit, else by its arena.
template <class Set> class home {
    using page = answer<Set, allot::category::page>;
    static constexpr bool charged = answer<Set, allot::category::ledger>::charges;
    static constexpr bool shared = requires { typename page::arena_type; };
    static constexpr bool lent = requires { page::lent; };
    static constexpr bool there = page_on_device<page>;
    struct none {};
    struct machine {
        allot::device::simulator gpu{
            {.total_bytes = std::size_t{64} << 20, .execution = allot::device::execution::none}};
    };

    static auto memory() {
        if constexpr (shared)
            return std::make_unique<allot::arena<>>(allot::limit{room}, small_pages<Set>,
                                                    allot::reserve_bytes{room + (room >> 1)});
        else if constexpr (lent) return std::make_unique<std::byte[]>(room + (room >> 3));
        else if constexpr (there) return std::make_unique<machine>();
        else return none{};
    }
    decltype(memory()) memory_ = memory();

    template <class... Values> allot::row_manager<Set> made(Values&&... values) {
        if constexpr (shared) return limited(*memory_, std::forward<Values>(values)...);
        else if constexpr (lent)
            return limited(std::span<std::byte>(memory_.get(), room + (room >> 3)), small_pages<Set>,
                           std::forward<Values>(values)...);
        else if constexpr (there)
            return limited(allot::device::simulated{memory_->gpu}, small_pages<Set>,
                           allot::reserve_bytes{room + (room >> 1)}, std::forward<Values>(values)...);
        else
            return limited(small_pages<Set>, allot::reserve_bytes{room + (room >> 1)}, std::forward<Values>(values)...);
    }
    template <class... Values> static allot::row_manager<Set> limited(Values&&... values) {
        if constexpr (charged) return allot::row_manager<Set>(allot::limit{room}, std::forward<Values>(values)...);
        else return allot::row_manager<Set>(std::forward<Values>(values)...);
    }

  public:
    template <class... Values> explicit home(Values&&... values) : rows(made(std::forward<Values>(values)...)) {}

    allot::row_manager<Set> rows;
};

} // namespace sets
