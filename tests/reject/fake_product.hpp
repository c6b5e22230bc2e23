// A product as small as can be, to reject sets and values with: real resolution, nothing behind it.
#pragma once

#include "../support/fake_pages.hpp"

#include <allot/core/describe.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/slots/bitmap.hpp>
#include <allot/slots/linked.hpp>

#include <cstddef>

namespace fake {

// What a set that is refused gives.
template <class Set> struct manager : allot::detail::refused<Set, allot::product::row_manager> {
    using allot::detail::refused<Set, allot::product::row_manager>::refused;
};

template <class Set>
    requires allot::well_formed<Set, allot::product::row_manager>
struct manager<Set> {
    template <class... Values> explicit manager(Values&&... values) {
        using accepted = allot::types<allot::limit, allot::name>;
        allot::detail::check_values<allot::product::row_manager, Set, accepted, Values...>();
        allot::detail::check_needed<allot::product::row_manager, Set, allot::types<allot::limit>, Values...>();
        bytes = allot::value_or<allot::limit>({0}, values...).bytes;
    }
    void* allocate(std::size_t n) { return n <= bytes ? &bytes : nullptr; }

    template <class... Ps> auto heap(allot::as_t<Ps...>, [[maybe_unused]] std::size_t row) {
        if constexpr (allot::detail::check_heap<Set, allot::as_t<Ps...>>())
            return fixed<allot::detail::overridden<Set, allot::as_t<Ps...>>>{row};
        else return allot::detail::anything{};
    }
    template <class Changed> struct fixed {
        std::size_t row;
        void* allocate() { return &row; }
        std::size_t live_rows() const { return 1; }
        template <class T> T* make() { return nullptr; }
    };
    std::size_t live_rows() const { return 0; }

    std::size_t bytes;
};

struct row {
    int number;
};

// Uses a manager as a program would: each line is a place where a second error could come from.
template <class Set> void* use() {
    manager<Set> rows{allot::limit{1 << 20}, allot::name{"rows"}};
    manager<Set> more{allot::limit{1 << 20}};
    auto heap = rows.heap(allot::as<>, 48);
    void* row = heap.allocate();
    void* other = more.allocate(8);
    auto made = heap.template make<fake::row>();
    if (made->number != 0 || !other || heap.live_rows() + rows.live_rows() < 2) return nullptr;
    char* text = static_cast<char*>(rows.allocate(16));
    return row == other || rows.allocate(3) == nullptr ? nullptr : text;
}

} // namespace fake
