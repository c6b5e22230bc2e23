// What the arena, the account and the recorder of a row manager ask it: functions over its core, by address.
//
// Cost: that of what is asked. Threads: any, while the manager lives.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/watch/type_histogram.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Core> struct row_callbacks {
    static const Core& at(const void* core) noexcept { return *static_cast<const Core*>(core); }

    static std::size_t held(const void* core) noexcept { return at(core).held_bytes(); }
    // Committed and resident bytes are 0 for a shared arena: they cannot be attributed to one manager.
    template <class Stats> static Stats item_stats_of(const void* core) noexcept {
        const Core& rows = at(core);
        if constexpr (Core::policies::shares_arena) return {rows.held_bytes(), 0, 0};
        else return {rows.held_bytes(), rows.arena().stats().committed, rows.arena().resident()};
    }
    // Returns pages.
    static std::size_t reclaim(const void* core) noexcept { return at(core).pages().reclaim_all(); }
    static std::size_t return_idle(const void* core) noexcept { return reclaim(core) << at(core).arena().page_shift(); }
    static void set_shut(const void* core, bool now) noexcept { at(core).heaps().set_shut(now); }
    template <class Ledger>
    static constexpr typename Ledger::member as_member{&item_stats_of<item_stats>, &return_idle, &set_shut};

    static void count_types_for_peak(void* core, type_histogram& into) noexcept {
        count_types(at(core), into, histogram_at_peak);
    }
    static void count_types(const Core& rows, type_histogram& into, const histogram_budget& budget) noexcept {
        std::size_t heaps = 0;
        rows.heaps().for_each([&](heap_base& heap) {
            if (heaps++ < budget.heaps) heap.count_types(into, budget);
            else into.estimated();
        });
        count_huge_types(rows.huge(), rows.pages().page_bytes(), into, budget.slots);
    }

  private:
    template <class Huge>
    static void count_huge_types(const Huge& huge, std::size_t page_bytes, type_histogram& into,
                                 std::size_t most) noexcept {
        const std::size_t all = huge.rows(), held = huge.pages();
        std::size_t known = 0;
        const std::size_t seen = huge.visit(most, [&](const std::byte*, std::size_t n, const row_type* type) {
            into.add(type, 1, n * page_bytes);
            known += n;
        });
        if (seen != most || all <= most) return;
        into.estimated(); // types of the other rows were not read
        into.add(nullptr, all - most, held > known ? (held - known) * page_bytes : 0);
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
