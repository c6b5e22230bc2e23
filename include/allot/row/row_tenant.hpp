// A row manager as a tenant of its arena and its account; and what its recorder asks.
//
// Cost: that of what is asked. Threads: any, while the manager lives.
#pragma once

#include <allot/config.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/request/tenant.hpp>
#include <allot/watch/type_histogram.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Core> class row_tenant final : public caching_tenant {
  public:
    explicit row_tenant(Core& core) noexcept : caching_tenant(core.name()), core_(core) {}

    // In use: not what the arena keeps.
    std::size_t held() const noexcept override {
        return core_.arena().has_payer() ? core_.arena().taken() : core_.held_bytes();
    }
    std::size_t unused() const noexcept override { return core_.pages().leaves(); }
    std::size_t return_idle(std::size_t bytes, bool) noexcept override {
        if (!core_.arena().has_payer()) return give_empty_pages();
        std::size_t returned = core_.pages().trim_for(bytes);
        if ((returned < bytes || bytes == 0) && held() != 0) {
            static_cast<void>(give_empty_pages()); // others may have given some, for requests of their own
            returned += core_.pages().trim_for(bytes - returned);
        }
        return returned;
    }
    bool set_shut(bool now) noexcept override { return core_.pages().set_shut(now); }
    // Committed and resident bytes are 0 for a shared arena: they cannot be attributed to one manager.
    item_stats stats() const noexcept override {
        if constexpr (Core::policies::shares_arena) return {core_.held_bytes(), 0, 0};
        else return {core_.held_bytes(), core_.arena().stats().committed, core_.arena().resident()};
    }

  private:
    std::size_t give_empty_pages() noexcept { return core_.pages().reclaim_all() << core_.arena().page_shift(); }

    Core& core_;
};

template <class Core> struct row_types {
    static const Core& at(const void* core) noexcept { return *static_cast<const Core*>(core); }

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
