// The address space of a fit: ranges, each a ring of runs in address order. Runs are split, absorbed, added and
// removed.
//
// It does not know which runs are free. Metadata is prepared first; after that nothing fails.
// Invariant: the runs of a range cover it without a gap; two ranges of one segment do not touch.
// Cost: 32 bytes per run and its tag, 24 per range; splitting and absorbing O(1); adding and removing a range O(log n),
// and a move of the ranges after it. Threads: one at a time.
// Source: boundary tags, Knuth 1968; here with links, out of band.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/fit/run_node.hpp>
#include <allot/fit/run_ranges.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Tag, class Memory> class run_map {
  public:
    using node = run_node<Tag>;
    using number = std::uint32_t; // of a node; 0: none
    static constexpr std::uint32_t max_units = ~std::uint32_t{0};

    run_map(std::size_t unit, Memory memory) noexcept : memory_(std::move(memory)), shift_(log2_floor(unit)) {
        ALLOT_ASSERT(is_power_of_two(unit), "the unit of a fit must be a power of two");
    }
    run_map(const run_map&) = delete;
    run_map& operator=(const run_map&) = delete;
    ~run_map() {
        nodes_.free(memory_);
        ranges_.free(memory_);
    }

    Memory& memory() noexcept { return memory_; }
    bool prepare(std::size_t nodes) noexcept { return nodes_.prepare(memory_, nodes); }
    bool prepare(std::size_t nodes, std::size_t ranges) noexcept {
        return nodes_.prepare(memory_, nodes) && ranges_.prepare(memory_, ranges);
    }

    unsigned shift() const noexcept { return shift_; }
    std::size_t unit() const noexcept { return std::size_t{1} << shift_; }
    std::size_t to_bytes(std::uint32_t units) const noexcept { return std::size_t{units} << shift_; }
    std::uint32_t to_units(std::size_t bytes) const noexcept { return static_cast<std::uint32_t>(bytes >> shift_); }
    std::size_t units() const noexcept { return units_; }
    node* nodes() const noexcept { return nodes_.data(); }
    std::size_t runs() const noexcept { return nodes_.used() - ranges_.size(); }
    std::size_t ranges() const noexcept { return ranges_.size(); }
    std::size_t bytes_of_metadata() const noexcept { return nodes_.bytes() + ranges_.bytes(); }

    // Whether it is whole units, fits max_units, is not at 0, and overlaps no range.
    bool can_add(std::uintptr_t address, std::size_t bytes) const noexcept {
        if (address == 0 || bytes == 0 || bytes >> shift_ > max_units) return false;
        if (!is_aligned(address, unit()) || !is_aligned(bytes, unit())) return false;
        if (bytes > std::numeric_limits<std::uintptr_t>::max() - address) return false;
        const std::size_t at = ranges_.upper_bound(address);
        return (at == 0 || ranges_[at - 1].end <= address) &&
               (at == ranges_.size() || ranges_[at].begin >= address + bytes);
    }
    // Adds a range as one live run. Requires can_add(), and 2 nodes and 1 range prepared.
    number add(std::uintptr_t address, std::size_t bytes, std::uint32_t segment, const Tag& tag) noexcept {
        const number x = nodes_.take(), edge = nodes_.take();
        node* const n = nodes();
        n[x] = {address, to_units(bytes), edge, edge, {0, 0}, node::live_mark, tag};
        n[edge] = {0, 0, x, x, {0, 0}, node::edge_mark, {}};
        const std::size_t at = ranges_.upper_bound(address);
        ranges_.insert(at, {address, address + bytes, edge, segment});
        if (at + 1 != ranges_.size()) merge_if_adjacent(at);
        if (at != 0) merge_if_adjacent(at - 1);
        units_ += n[x].units;
        return x;
    }
    // Removes a run from the space. Requires 2 nodes and 2 ranges prepared.
    void remove(number x) noexcept {
        node* const n = nodes();
        std::size_t at = ranges_.upper_bound(n[x].address) - 1;
        if (n[n[x].prev].parent != node::edge_mark) split_range(at++, x);
        if (n[n[x].next].parent != node::edge_mark) split_range(at, n[x].next);
        units_ -= n[x].units;
        nodes_.put(ranges_[at].edge);
        nodes_.put(x);
        ranges_.remove(at);
    }
    // Shortens a run to `units`, fewer than it has. Returns the rest: a live run with the same tag. Requires 1 node
    // prepared.
    number split(number x, std::uint32_t units) noexcept {
        const number rest = nodes_.take();
        node* const n = nodes();
        n[rest] = {n[x].address + to_bytes(units), n[x].units - units, x, n[x].next, {0, 0}, node::live_mark, n[x].tag};
        n[n[x].next].prev = rest;
        n[x].next = rest;
        n[x].units = units;
        return rest;
    }
    // Returns a live run of the first units of a run, whose size and address the caller must change. Requires 1 node
    // prepared.
    number split_front(number x, std::uint32_t units) noexcept {
        const number front = nodes_.take();
        node* const n = nodes();
        n[front] = {n[x].address, units, n[x].prev, x, {0, 0}, node::live_mark, n[x].tag};
        n[n[x].prev].next = front;
        n[x].prev = front;
        return front;
    }
    // Removes a run's node. Its bytes become a neighbour's, whose size and address the caller must change.
    void absorb(number x) noexcept {
        node* const n = nodes();
        n[n[x].prev].next = n[x].next;
        n[n[x].next].prev = n[x].prev;
        nodes_.put(x);
    }

    // visit(run, segment) returns the run to continue after, or 0 to end.
    template <class Visit> void visit(Visit visit) const noexcept {
        for (std::size_t at = 0; at != ranges_.size(); ++at)
            for (number x = nodes()[ranges_[at].edge].next; x != ranges_[at].edge; x = nodes()[x].next)
                if (x = visit(x, ranges_[at].segment); x == 0) return;
    }
    // Whether rings and ranges agree, and check(run, the one before it) is true for each.
    template <class Check> bool valid(Check check) const noexcept {
        const node* const n = nodes();
        std::size_t units = 0, runs = 0;
        for (std::size_t at = 0; at != ranges_.size(); ++at) {
            const run_range& r = ranges_[at];
            if (n[r.edge].parent != node::edge_mark || r.begin >= r.end) return false;
            if (at != 0 && ranges_[at - 1].end > r.begin) return false;
            if (at != 0 && ranges_[at - 1].end == r.begin && ranges_[at - 1].segment == r.segment) return false;
            std::uintptr_t address = r.begin;
            number last = r.edge;
            for (number x = n[r.edge].next; x != r.edge; last = x, x = n[x].next) {
                if (n[x].prev != last || n[x].address != address || n[x].units == 0) return false;
                if (!(n[x].is_free() || n[x].is_live()) || !check(x, last)) return false;
                address += to_bytes(n[x].units);
                units += n[x].units;
                ++runs;
            }
            if (address != r.end || n[r.edge].prev != last) return false;
        }
        return units == units_ && runs == this->runs() && nodes_.valid();
    }

  private:
    // Merges range `at` and the next, if they touch and have the same segment.
    void merge_if_adjacent(std::size_t at) noexcept {
        run_range &a = ranges_[at], &b = ranges_[at + 1];
        if (a.end != b.begin || a.segment != b.segment) return;
        node* const n = nodes();
        const number first = n[b.edge].next, last = n[b.edge].prev, before = n[a.edge].prev;
        n[before].next = first;
        n[first].prev = before;
        n[last].next = a.edge;
        n[a.edge].prev = last;
        nodes_.put(b.edge);
        a.end = b.end;
        ranges_.remove(at + 1);
    }
    // Splits range `at` into two; the second begins with x. Requires 1 node and 1 range prepared.
    void split_range(std::size_t at, number x) noexcept {
        const number edge = nodes_.take();
        node* const n = nodes();
        run_range& a = ranges_[at];
        const number last = n[a.edge].prev, before = n[x].prev;
        n[edge] = {0, 0, last, x, {0, 0}, node::edge_mark, {}};
        n[last].next = edge;
        n[x].prev = edge;
        n[before].next = a.edge;
        n[a.edge].prev = before;
        const run_range second{n[x].address, a.end, edge, a.segment};
        a.end = second.begin;
        ranges_.insert(at + 1, second);
    }

    ALLOT_NO_UNIQUE_ADDRESS Memory memory_;
    unsigned shift_;
    std::size_t units_ = 0;
    run_pool<node, Memory> nodes_;
    run_ranges<Memory> ranges_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
