// A row manager of any set with the memory that the set asks for, small enough for tests of hundreds of sets.
#pragma once

#include <allot/row_manager.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace sets {

inline constexpr std::size_t room = std::size_t{8} << 20;
inline constexpr allot::page_bytes small_pages{std::size_t{64} << 10};

template <class Set, class Category>
using answer = typename allot::resolved<Set, allot::product::row_manager>::template answer<Category>;

template <class Rows> inline constexpr bool charges = answer<typename Rows::set, allot::category::ledger>::charges;
template <class Rows> inline constexpr bool links = answer<typename Rows::set, allot::category::count>::counted;
template <class Rows> inline constexpr bool raises = answer<typename Rows::set, allot::category::oom>::raises;

// A manager that may hold `room` bytes: by its limit, else by its arena.
template <class Set> class home {
    using page = answer<Set, allot::category::page>;
    static constexpr bool charged = answer<Set, allot::category::ledger>::charges;
    static constexpr bool shared = requires { typename page::arena_type; };
    static constexpr bool lent = requires { page::lent; };
    struct none {};

    static auto memory() {
        if constexpr (shared)
            return std::make_unique<allot::arena<>>(allot::limit{room}, small_pages,
                                                    allot::reserve_bytes{room + (room >> 1)});
        else if constexpr (lent) return std::make_unique<std::byte[]>(room + (room >> 3));
        else return none{};
    }
    decltype(memory()) memory_ = memory();

    template <class... Values> allot::row_manager<Set> made(Values&&... values) {
        if constexpr (shared) return limited(*memory_, std::forward<Values>(values)...);
        else if constexpr (lent)
            return limited(std::span<std::byte>(memory_.get(), room + (room >> 3)), small_pages,
                           std::forward<Values>(values)...);
        else return limited(small_pages, allot::reserve_bytes{room + (room >> 1)}, std::forward<Values>(values)...);
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
