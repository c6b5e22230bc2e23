// Who used which bytes last: pieces of memory, each with its last write and the reads since.
//
// Invariant: pieces never overlap; between them lies memory that is nobody's. A use splits pieces at its ends; a write,
// an allocation or a free makes one piece again of what it covers (within one region), so there are about as many
// pieces as blocks, whatever their sizes. Cost: a walk of a red-black tree, unless the bytes
// are those of the last use, and one node for each split.
// Source: happens-before race detection on ranges; Savage et al. (Eraser) 1997, FastTrack 2009. Threads: one at a time.
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
namespace device::sim {

using address = std::uintptr_t;

enum class region_kind : std::uint8_t { plain, pooled, pinned, mapped };

/// One allocation or mapping.
struct region {
    address begin = 0;
    std::size_t bytes = 0;
    std::size_t held = 0;      // bytes taken from the store
    std::uint64_t readers = 0; // devices with a right to it, a bit each (mapped)
    std::uint64_t writers = 0;
    int device = 0;
    region_kind kind = region_kind::plain;
};

enum class intent : std::uint8_t { read, write, allocate, free };

class use_map {
  public:
    void insert(const region& r, const use& first) { pieces_.emplace(r.begin, piece{r.begin + r.bytes, &r, first}); }

    /// Takes all pieces of a range away; `visit(from, to, use)` sees each use that was remembered.
    template <class Visit> void erase(address begin, address end, Visit&& visit) {
        auto it = first_of(begin);
        last_ = pieces_.end();
        for (; it != pieces_.end() && it->first < end; it = pieces_.erase(it))
            it->second.each_use([&](const use& u) { visit(it->first, it->second.end, u); });
    }

    /// Whether a byte is somebody's.
    const region* find(address at) {
        const auto it = first_of(at);
        return it != pieces_.end() && it->first <= at ? it->second.of : nullptr;
    }

    /// A use by `now` with the knowledge `clock`. `allowed(region)` asks for the right; `report(kind, from, to,
    /// earlier)` hears of the first hazard. False when a byte is nobody's, or a right is missing.
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
        if (it != pieces_.end() && it->first < begin) it = split(it, begin);
        for (; it != pieces_.end() && it->first < end;) {
            if (it->second.end > end) it = std::prev(split(it, end));
            piece& p = it->second;
            if (it->first > at) {
                report(hazard_kind::not_allocated, at, it->first, use{});
                usable = false;
            }
            if (!allowed(*p.of)) {
                report(hazard_kind::no_access, it->first, p.end, use{});
                usable = false;
            } else check_piece(p, it->first, what, clock, report);
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

    std::size_t pieces() const noexcept { return pieces_.size(); }

  private:
    enum class state : std::uint8_t { unmarked, live, freed }; // whole: nobody told of blocks in it

    struct piece {
        address end;
        const region* of;
        use write;
        use read{};                     // one reader is the common case
        std::vector<use> other_reads{}; // readers besides that nobody has waited for
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
    using tree = std::map<address, piece>;

    template <class Clock, class Report>
    static void check_piece(const piece& p, address from, intent what, const Clock& clock, Report&& report) {
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

    // The first piece that ends behind `at`.
    tree::iterator first_of(address at) {
        if (last_ != pieces_.end() && last_->first <= at && at < last_->second.end)
            return last_; // a block is used, then used
        auto it = pieces_.upper_bound(at);
        if (it != pieces_.begin() && std::prev(it)->second.end > at) --it;
        return it;
    }
    // The piece behind the cut.
    tree::iterator split(tree::iterator it, address at) {
        piece behind = it->second;
        it->second.end = at;
        return pieces_.emplace_hint(std::next(it), at, std::move(behind));
    }
    // After a write both are alike but for the region.
    bool merge_before(tree::iterator it) const noexcept {
        const piece& before = std::prev(it)->second;
        return before.end == it->first && before.of == it->second.of && before.is == it->second.is;
    }
    tree::iterator after_merge(tree::iterator it) {
        std::prev(it)->second.end = it->second.end;
        return pieces_.erase(it);
    }

    tree pieces_;
    tree::iterator last_ = pieces_.end(); // where the last use was
};

} // namespace device::sim
} // namespace allot::inline ALLOT_ABI
