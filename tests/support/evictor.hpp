// A reclaimer that takes half of a row array's rows, and releases them.
#pragma once

#include <allot/reclaim/reclaimer.hpp>
#include <allot/row/moving/row_array.hpp>

#include <atomic>
#include <cstddef>

template <class Set> struct evictor final : allot::reclaimer {
    evictor(allot::row_array<Set>& of, allot::row_manager<Set>& from) : reclaimer("evicts", 5), array(of), rows(from) {}
    bool reclaim(const allot::shortage&) noexcept override {
        auto hold = array.try_lock_to_evict();
        if (!hold || hold.rows().empty()) return ++declined, false;
        const std::size_t n = (hold.rows().size() + 1) / 2;
        for (void* const row : hold.rows().first(n)) rows.release(row);
        hold.take_front(n);
        evicted += n;
        return true;
    }
    allot::row_array<Set>& array;
    allot::row_manager<Set>& rows;
    std::atomic<std::size_t> evicted{0}, declined{0};
};
