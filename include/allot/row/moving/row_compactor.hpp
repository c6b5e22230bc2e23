// row_compactor: a reclaimer that packs the rows of registered arrays into fewer pages, before rows have to be spilled.
//
//     allot::row_compactor<Set> packs{rows};      // cost 1: called before what writes to a file
//     packs.add(sorted);
//     rows.account().add(packs);                  // or an account above it
//
// It is called where a request is refused, and helps where sparse pages hold what is missing; else the next reclaimer
// is called. freed(), calls() and the "tried" lines of an out_of_memory say what it did.
// Cost: nothing until a request is refused; then a walk over the manager's pages, and what a compaction costs.
// Threads: any; a row_array is added and removed by its writer.
// Source: CBufferedRowCallback and compactRows of HPCC roxiemem, 2011.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/row/moving/compaction.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_manager.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace allot::inline ALLOT_ABI {

/// Requires: it is removed from its account, and its arrays are removed, before it ends.
template <class Set> class row_compactor final : public reclaimer {
    static_assert(detail::row_policies<Set>::rows_move,
                  "allot: row_compactor needs pages that provide property::movable and property::host_accessible");
    using array = row_array<Set>;

  public:
    explicit row_compactor(row_manager<Set>& rows, std::uint32_t cost = 1, reach asked = reach::own_account) noexcept
        : reclaimer("compaction of rows", cost, asked), rows_(rows) {}
    ~row_compactor() {
        if (!arrays_.empty()) detail::report_misuse({.kind = misuse::living_array, .manager = rows_.name()});
    }

    /// Lets it move the array's rows. An array is in one compactor at most; added to a second one, it stays in the
    /// first. Requires: it is an array of this manager.
    void add(array& rows) noexcept {
        const std::lock_guard hold(lock_);
        if (rows.home_ != nullptr) return;
        rows.home_ = this;
        arrays_.add(rows);
    }
    /// Waits for a call that moves them. Does nothing for an array that is not in it.
    void remove(array& rows) noexcept {
        const std::lock_guard hold(lock_);
        if (rows.home_ != this) return;
        rows.home_ = nullptr;
        arrays_.remove(rows);
    }
    /// What the last compaction did.
    compaction last() const noexcept {
        const std::lock_guard hold(lock_);
        return last_;
    }

    /// Compacts the rows of its arrays now.
    compaction compact(const compaction_budget& budget = {}) noexcept {
        const std::lock_guard hold(lock_);
        bool waits = true; // for one array that others read, at most
        for (array* a = arrays_.first(); a != nullptr; a = arrays_.after(*a)) {
            a->is_held_ = waits ? a->try_lock_for_reclaimer() : a->lock_.try_lock();
            waits = waits && a->is_held_;
        }
        const auto each_span = [this](auto call) noexcept {
            for (array* a = arrays_.first(); a != nullptr; a = arrays_.after(*a))
                if (a->is_held_) call(a->rows());
        };
        last_ = detail::row_access::compact(rows_, each_span, budget);
        for (array* a = arrays_.first(); a != nullptr; a = arrays_.after(*a))
            if (a->is_held_) a->lock_.unlock();
        return last_;
    }
    bool reclaim(const shortage& s) noexcept override {
        const std::size_t sparse = sparse_bytes();
        if (sparse == 0 || (sparse < s.missing() && !s.critical)) return false; // rows must leave anyway
        return compact().bytes_returned != 0;
    }

  private:
    // Bytes of pages that the rows would not need if all of them could move.
    std::size_t sparse_bytes() const noexcept {
        std::size_t pages = 0;
        const std::size_t page = rows_.arena().page_bytes();
        rows_.usage([&](const heap_usage& u) {
            if (u.slot_bytes == 0) return; // huge rows
            const std::size_t needed = (u.live_rows * u.slot_bytes + page - 1) / page;
            if (u.pages > needed) pages += u.pages - needed;
        });
        return pages * page;
    }

    row_manager<Set>& rows_;
    mutable std::mutex lock_; // the members below; held during a compaction, which requests no memory
    detail::intrusive_list<array, &array::in_compactor_> arrays_;
    compaction last_;
};

// For a set that is refused, as for row_manager: no further error.
template <class Set>
    requires(!well_formed<Set, product::row_manager>)
class row_compactor<Set> : public detail::refused<Set, product::row_manager> {
  public:
    using detail::refused<Set, product::row_manager>::refused;
    operator reclaimer&() const noexcept;
};

} // namespace allot::inline ALLOT_ABI
