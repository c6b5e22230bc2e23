// row_access: lets handles reach the core of a row manager. Internal.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

template <class Set> class row_manager;

namespace detail {

struct row_access {
    template <class Set> static auto& core(row_manager<Set>& rows) noexcept { return rows.core_; }
    // One attempt of row_manager::resize().
    template <class Set, class Publish>
    static void* resize(row_manager<Set>& rows, memory_request& asked, void* row, std::size_t keep, Publish publish) {
        return rows.resize(asked, row, keep, publish);
    }
    // row_manager::compact() over several spans: each_span(call) calls call(span) for each.
    template <class Set, class EachSpan, class Budget>
    static auto compact(row_manager<Set>& rows, EachSpan each_span, const Budget& budget) noexcept {
        return rows.compactor_.run(rows.core_.pages(), &rows, each_span, budget);
    }
    // The same for rows on a device: move(Mover&, span).
    template <class Mover, class Set, class Budget, class EachSpan, class Move>
    static auto compact(row_manager<Set>& rows, EachSpan each_span, const Budget& budget, Move move) noexcept {
        return rows.compactor_.template run<Mover>(rows.core_.pages(), &rows, each_span, budget, move);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
