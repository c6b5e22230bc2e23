// guard_callbacks: a guard's constants, and the functions by which a heap names a row's type and reports damage.
//
// Cost: none, but when damage is found. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/guard.hpp>
#include <allot/heap/heap_config.hpp>
#include <allot/row/link_count.hpp>
#include <allot/row/row_context.hpp>

#include <cstddef>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The type of a live row; of a free slot, that of its last row.
template <class Count, class Page>
const row_type* type_of_row(const row_context& context, Page& p, std::byte* row) noexcept {
    if (p.type != nullptr) return p.type;
    if constexpr (counting<Count>::counts)
        return context.types[counting<Count>::type_number(p, row).load(std::memory_order_relaxed)];
    return &untyped;
}

template <class Guard, class Count> struct guard_callbacks {
    static constexpr bool encodes = Guard::encodes;
    static constexpr std::size_t row_bytes = Guard::row_bytes;
    static constexpr std::size_t waits = Guard::waits;
    static constexpr bool wipes = Guard::wipes;

    template <class Page> static const row_type* type_of(const heap_config& plan, Page& p, std::byte* row) noexcept {
        return type_of_row<Count>(*static_cast<const row_context*>(plan.manager), p, row);
    }
    static void report(const heap_config& plan, misuse kind, const row_type* type, const void* row) noexcept {
        static_cast<const row_context*>(plan.manager)->report_damage(kind, plan.name, type, row);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
