// The last uses of memory: intervals of it, each with its last write and the reads since.
//
// Invariant: intervals do not overlap; bytes without an interval are not allocated. A use splits intervals at its ends. A write,
// an allocation or a free joins the intervals that it covers within a region, so there are about as many intervals as
// blocks.
// Cost: one search in a red-black tree, unless the range starts in the interval of the last use; one node per split.
// Threads: one at a time. Source: race detection by happened-before, on ranges: Eraser, Savage et al. (1997); FastTrack
// (2009).
#pragma once

#include <allot/config.hpp>
#include <allot/device/simulator/clock.hpp>
#include <allot/device/simulator/hazard.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

using address = std::uintptr_t;

enum class region_kind : std::uint8_t { plain, pooled, pinned, mapped };

// One allocation or mapping.
struct region {
    address begin = 0;
    std::size_t bytes = 0;
    std::size_t held = 0;      // bytes taken from the store
    std::uint64_t readers = 0; // devices with the right, one bit each (mapped only)
    std::uint64_t writers = 0;
    int device = 0;
    region_kind kind = region_kind::plain;
};

enum class intent : std::uint8_t { read, write, allocate, free };

class use_map {
  public:
    void insert(const region& r, const use& first) {
        intervals_.emplace(r.begin, interval{r.begin + r.bytes, &r, first});
    }

    // Removes the intervals of a range; calls visit(from, to, use) for each use that they keep.
    template <class Visit> void erase(address begin, address end, Visit&& visit) {
        auto it = first_of(begin);
        last_ = intervals_.end();
        for (; it != intervals_.end() && it->first < end; it = intervals_.erase(it))
            it->second.each_use([&](const use& u) { visit(it->first, it->second.end, u); });
    }

    // The region of a byte; null if it is not allocated.
    const region* find(address at) {
        const auto it = first_of(at);
        return it != intervals_.end() && it->first <= at ? it->second.of : nullptr;
    }

    // Checks and notes the use `now` by an operation with this clock. allowed(region): whether it has the right;
    // sink(kind, from, to, earlier) is called for the first hazard. False: a byte is not allocated, or a right is
    // missing.
    template <class Clock, class Allowed, class Report>
    bool access(address begin, address end, intent what, const use& now, const Clock& clock, Allowed&& allowed,
                Report&& sink) {
        if (begin >= end) return true;
        bool usable = true, reported = false;
        const auto report = [&](hazard_kind kind, address from, address to, const use& earlier) {
            if (!std::exchange(reported, true)) sink(kind, from, to, earlier);
        };
        address at = begin;
        auto it = first_of(begin);
        if (it != intervals_.end() && it->first < begin) it = split(it, begin);
        for (; it != intervals_.end() && it->first < end;) {
            if (it->second.end > end) it = std::prev(split(it, end));
            interval& p = it->second;
            if (it->first > at) {
                report(hazard_kind::not_allocated, at, it->first, use{});
                usable = false;
            }
            if (!allowed(*p.of)) {
                report(hazard_kind::no_access, it->first, p.end, use{});
                usable = false;
            } else check_interval(p, it->first, what, clock, report);
            at = p.end;
            p.record_use(what, now, clock);
            if (what != intent::read && it->first != begin && merge_before(it)) it = after_merge(it);
            else last_ = it++;
        }
        if (at < end) {
            report(hazard_kind::not_allocated, at, end, use{});
            usable = false;
        }
        return usable;
    }

    std::size_t intervals() const noexcept { return intervals_.size(); }

  private:
    enum class state : std::uint8_t { unmarked, live, freed }; // unmarked: no block is marked in it

    struct interval {
        address end;
        const region* of;
        use write;
        use read{};                     // one reader is the common case
        std::vector<use> other_reads{}; // other reads that no later read is ordered after
        bool was_read = false;
        state is = state::unmarked;

        template <class Visit> void each_use(Visit&& visit) const {
            visit(write);
            if (was_read) visit(read);
            for (const use& u : other_reads) visit(u);
        }
        template <class Clock> void record_use(intent what, const use& now, const Clock& clock) {
            if (what != intent::read) {
                write = now;
                was_read = false;
                other_reads.clear();
                if (what == intent::allocate) is = state::live;
                if (what == intent::free) is = state::freed;
                return;
            }
            if (!was_read || clock.knows(read.who, read.when)) {
                read = now;
                was_read = true;
                return;
            }
            for (use& u : other_reads)
                if (clock.knows(u.who, u.when)) {
                    u = now;
                    return;
                }
            other_reads.push_back(now);
        }
    };
    using tree = std::map<address, interval>;

    template <class Clock, class Report>
    static void check_interval(const interval& p, address from, intent what, const Clock& clock, Report&& report) {
        if (p.is == state::freed && what != intent::allocate)
            return report(what == intent::free ? hazard_kind::freed_twice : hazard_kind::used_after_free, from, p.end,
                          p.write);
        if (p.is == state::live && what == intent::allocate)
            return report(hazard_kind::handed_out_twice, from, p.end, p.write);
        if (!clock.knows(p.write.who, p.write.when)) return report(hazard_kind::not_ordered, from, p.end, p.write);
        if (what == intent::read) return;
        if (p.was_read && !clock.knows(p.read.who, p.read.when))
            return report(hazard_kind::not_ordered, from, p.end, p.read);
        for (const use& u : p.other_reads)
            if (!clock.knows(u.who, u.when)) return report(hazard_kind::not_ordered, from, p.end, u);
    }

    // The first interval that ends above `at`.
    tree::iterator first_of(address at) {
        if (last_ != intervals_.end() && last_->first <= at && at < last_->second.end)
            return last_; // a block is often used several times in a row
        auto it = intervals_.upper_bound(at);
        if (it != intervals_.begin() && std::prev(it)->second.end > at) --it;
        return it;
    }
    // Cuts an interval; returns the upper part.
    ALLOT_OUTLINE_WARM tree::iterator split(tree::iterator it, address at) {
        interval behind = it->second;
        it->second.end = at;
        return intervals_.emplace_hint(std::next(it), at, std::move(behind));
    }
    // Whether the interval can join the one below. After a write over both, only their regions and states may differ.
    bool merge_before(tree::iterator it) const noexcept {
        const interval& before = std::prev(it)->second;
        return before.end == it->first && before.of == it->second.of && before.is == it->second.is;
    }
    tree::iterator after_merge(tree::iterator it) {
        std::prev(it)->second.end = it->second.end;
        return intervals_.erase(it);
    }

    tree intervals_;
    tree::iterator last_ = intervals_.end(); // the interval of the last use
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
