// fit::buddy: a block is its range divided by a power of two.
//
//     buddy_runs<> halves{64};                         // the smallest block; a power of two
//     halves.add(base, 4_MiB, 0);                      // a power of two of them
//     auto r = halves.allocate(5000, 64);              // 8192 bytes
//     halves.release(r.address);                       // joined with its buddy if that is free, and so on
//
// Each range is a tree, kept as bits out of band (buddy_tree.hpp). A block is found from its address by descending from
// the whole range while nodes are split; a free one by the list of ranges that have a free node of that order: the
// smallest order that is large enough, the lowest node of its range.
// Invariant: the buddy of a free node is not free; a range without a live block is one free node.
// Cost: O(log n); 3 bits per unit and 400 bytes per range. Only add() allocates metadata. Threads: one at a time.
// Source: buddy system, Knowlton 1965; binary fractions of a chunk as in Netty's first arena, 2013, there a byte per
// node.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category/fit.hpp>
#include <allot/fit/buddy_tree.hpp>
#include <allot/fit/run_array.hpp>
#include <allot/fit/run_ranges.hpp>
#include <allot/fit/run_tag.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// A buddy allocator of addresses. It never reads or writes the memory that they name.
/// Threads: one at a time.
template <class Memory = host_metadata> class buddy_runs {
    using tree = detail::buddy_tree;
    using word = tree::word;
    using number = tree::number;
    static constexpr unsigned max_orders = tree::max_orders;
    static constexpr number no_tree = ~number{0};

  public:
    /// address 0: none.
    struct run {
        std::uintptr_t address = 0;
        std::size_t bytes = 0;
        explicit operator bool() const noexcept { return address != 0; }
    };

    explicit buddy_runs(std::size_t unit = 256, Memory memory = {}) noexcept
        : memory_(std::move(memory)), shift_(log2_floor(unit)) {
        ALLOT_ASSERT(is_power_of_two(unit), "the unit of a fit must be a power of two");
        for (number& head : first_with_free_) head = no_tree;
    }
    buddy_runs(const buddy_runs&) = delete;
    buddy_runs& operator=(const buddy_runs&) = delete;
    ~buddy_runs() {
        for (std::size_t i = 0; i != ranges_.size(); ++i) free_bits(trees_[ranges_[i].edge]);
        ranges_.free(memory_);
        trees_.free(memory_);
    }

    /// Adds a free range of a power of two of units, 2^23 at most.
    /// Returns: false, and nothing changed, if it is not of such a size, not aligned to the unit, at address 0,
    /// overlaps another range, or metadata cannot be allocated.
    bool add(std::uintptr_t address, std::size_t bytes, std::uint32_t segment) noexcept {
        if (address == 0 || !is_power_of_two(bytes) || bytes < unit() ||
            bytes >> shift_ >= std::size_t{1} << max_orders)
            return false;
        if (!is_aligned(address, unit()) || bytes > std::numeric_limits<std::uintptr_t>::max() - address) return false;
        const std::size_t at = ranges_.upper_bound(address);
        if (at != 0 && ranges_[at - 1].end > address) return false;
        if (at != ranges_.size() && ranges_[at].begin < address + bytes) return false;
        const number t = take_tree(log2_floor(bytes) - shift_);
        if (t == no_tree) return false;
        trees_[t].begin = address;
        ranges_.insert(at, {address, address + bytes, t, segment});
        bytes_ += bytes;
        put_free(t, trees_[t].top, 0);
        return true;
    }
    /// Removes a range that is wholly free. `of` is its free block, as largest() or visit_free() reports it.
    /// Returns: false, and nothing changed, unless [from, from + bytes) is such a range.
    bool remove(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        const std::size_t at = range_of(from);
        if (at == ranges_.size() || from != of.address || ranges_[at].begin != from || ranges_[at].end - from != bytes)
            return false;
        const number t = ranges_[at].edge;
        if (!trees_[t].is_free(trees_[t].top, 0)) return false;
        take_free(t, trees_[t].top, 0);
        free_bits(trees_[t]);
        trees_[t].next[0] = unused_;
        unused_ = t;
        ranges_.remove(at);
        bytes_ -= bytes;
        return true;
    }

    /// Whether a free block is a whole range, so that remove() accepts it.
    bool is_range(const run& r) const noexcept {
        const std::size_t at = range_of(r.address);
        return at != ranges_.size() && ranges_[at].begin == r.address && ranges_[at].end - r.address == r.bytes;
    }

    /// Allocates the smallest power of two of units that holds `bytes` (0 counts as 1), at a multiple of `align`.
    /// Alignments up to the block's size are met where the range's own address has them.
    /// Returns: none if no free block fits.
    run allocate(std::size_t bytes, std::size_t align) noexcept {
        if (bytes > max_bytes || align > max_bytes || !is_power_of_two(align)) return {};
        const std::size_t want = bytes > align ? bytes : align;
        const unsigned order = want <= unit() ? 0 : log2_ceil(want) - shift_;
        if (order >= max_orders) return {};
        for (word orders = orders_ >> order << order; orders != 0; orders &= orders - 1) {
            const auto from = static_cast<unsigned>(std::countr_zero(orders));
            for (number t = first_with_free_[from]; t != no_tree; t = trees_[t].next[from])
                if (ALLOT_LIKELY(is_aligned(trees_[t].begin, align))) return cut(t, from, order);
        }
        return {};
    }
    /// Frees the block at this address and joins it with its buddy, as long as that is free.
    /// Returns: its bytes; 0, and nothing changed, if no live block begins there.
    std::size_t release(std::uintptr_t address) noexcept {
        place p;
        if (!find(address, p)) return 0;
        const std::size_t bytes = unit() << p.order;
        live_ -= bytes;
        --live_runs_;
        tree& t = trees_[p.of];
        while (p.order != t.top && t.is_free(p.order, p.index ^ 1)) {
            take_free(p.of, p.order, p.index ^ 1);
            p.index >>= 1;
            ++p.order;
            t.clear_split(p.order, p.index);
        }
        put_free(p.of, p.order, p.index);
        return bytes;
    }
    /// Extends a live block to hold `bytes` by the free buddies after it.
    /// Returns: false, and nothing changed, where one of them is not free, the block is a second half, or no live block
    /// begins there.
    bool grow(std::uintptr_t address, std::size_t bytes) noexcept {
        place p;
        if (bytes > max_bytes || !find(address, p)) return false;
        tree& t = trees_[p.of];
        const unsigned order = bytes <= unit() ? 0 : log2_ceil(bytes) - shift_;
        if (order <= p.order) return true;
        if (order > t.top) return false;
        std::size_t index = p.index;
        for (unsigned o = p.order; o != order; ++o, index >>= 1)
            if ((index & 1) != 0 || !t.is_free(o, index + 1)) return false;
        live_ += (unit() << order) - (unit() << p.order);
        for (; p.order != order; p.index >>= 1) {
            take_free(p.of, p.order, p.index + 1);
            ++p.order;
            t.clear_split(p.order, p.index >> 1);
        }
        return true;
    }
    /// Frees the later halves of a live block, down to the smallest block that holds `bytes`.
    /// Returns: false if no live block begins there, or it is smaller.
    bool shrink(std::uintptr_t address, std::size_t bytes) noexcept {
        place p;
        if (bytes > max_bytes || !find(address, p)) return false;
        const unsigned order = bytes <= unit() ? 0 : log2_ceil(bytes) - shift_;
        if (order > p.order) return false;
        live_ -= (unit() << p.order) - (unit() << order);
        halve(p, order);
        return true;
    }
    /// The bytes of the live block at this address; 0: none.
    std::size_t bytes_of(std::uintptr_t address) const noexcept {
        place p;
        return find(address, p) ? unit() << p.order : 0;
    }
    /// Whether the next allocate() can get metadata: it needs none.
    static constexpr bool prepare() noexcept { return true; }

    // --- statistics ----------------------------------------------------------------------------------------
    /// The largest free block; none if all is live.
    run largest() const noexcept {
        if (orders_ == 0) return {};
        const auto order = static_cast<unsigned>(std::bit_width(orders_) - 1);
        const tree& t = trees_[first_with_free_[order]];
        return describe_run(t, order, t.lowest_free(order));
    }
    std::size_t unit() const noexcept { return std::size_t{1} << shift_; }
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t live_bytes() const noexcept { return live_; }
    std::size_t free_bytes() const noexcept { return bytes_ - live_; }
    std::size_t live_runs() const noexcept { return live_runs_; }
    std::size_t ranges() const noexcept { return ranges_.size(); }
    std::size_t metadata_bytes() const noexcept {
        std::size_t n = ranges_.bytes() + trees_.bytes();
        for (std::size_t i = 0; i != ranges_.size(); ++i)
            n += tree::words_of(trees_[ranges_[i].edge].top) * sizeof(word);
        return n;
    }
    /// Calls visit(block) for the free blocks of at least `least` bytes, the smallest first, until it returns false.
    /// Requires: `visit` does not call this object.
    template <class Visit> void visit_free(std::uint32_t, std::size_t least, Visit visit) const noexcept {
        for (word orders = orders_; orders != 0; orders &= orders - 1) {
            const auto order = static_cast<unsigned>(std::countr_zero(orders));
            if (unit() << order < least) continue;
            for (number t = first_with_free_[order]; t != no_tree; t = trees_[t].next[order])
                for (std::size_t i = 0; i != std::size_t{1} << (trees_[t].top - order); ++i)
                    if (trees_[t].is_free(order, i) && !visit(describe_run(trees_[t], order, i))) return;
        }
    }
    /// Calls visit(block, is_live, segment) in address order, until it returns false.
    /// Requires: `visit` does not call this object.
    template <class Visit> void visit(Visit visit) const noexcept {
        for (std::size_t at = 0; at != ranges_.size(); ++at) {
            const tree& t = trees_[ranges_[at].edge];
            for (std::uintptr_t address = t.begin; address != ranges_[at].end;) {
                const place p = descend(ranges_[at].edge, address);
                const run r = describe_run(t, p.order, p.index);
                if (!visit(r, !t.is_free(p.order, p.index), ranges_[at].segment)) return;
                address += r.bytes;
            }
        }
    }
    /// Whether trees, lists and counts agree. For tests.
    /// Complexity: O(n).
    bool valid() const noexcept;

  private:
    static constexpr std::size_t max_bytes = std::size_t{1} << 48;

    struct place {
        number of = no_tree;
        unsigned order = 0;
        std::size_t index = 0;
    };

    number take_tree(unsigned top) noexcept {
        if (!ranges_.prepare(memory_, 1) || (unused_ == no_tree && !trees_.reserve(memory_, fresh_ + 1)))
            return no_tree;
        auto* const bits = static_cast<word*>(memory_.resize(nullptr, 0, tree::words_of(top) * sizeof(word)));
        if (bits == nullptr) return no_tree;
        std::memset(bits, 0, tree::words_of(top) * sizeof(word));
        const number t = unused_ != no_tree ? unused_ : static_cast<number>(fresh_++);
        if (t == unused_) unused_ = trees_[t].next[0];
        trees_[t] = {};
        trees_[t].start(bits, top);
        return t;
    }
    void free_bits(tree& t) noexcept { memory_.resize(t.split, tree::words_of(t.top) * sizeof(word), 0); }

    // The index of the range of an address; ranges_.size(): none.
    std::size_t range_of(std::uintptr_t address) const noexcept {
        const std::size_t behind = ranges_.upper_bound(address);
        return behind != 0 && address < ranges_[behind - 1].end ? behind - 1 : ranges_.size();
    }
    // The node that an address of the tree is in, which is not split.
    place descend(number of, std::uintptr_t address) const noexcept {
        const tree& t = trees_[of];
        const std::size_t units = (address - t.begin) >> shift_;
        unsigned order = t.top;
        while (order != 0 && t.is_split(order, units >> order)) --order;
        return {of, order, units >> order};
    }
    // The live block that begins at an address; false: none.
    bool find(std::uintptr_t address, place& p) const noexcept {
        const std::size_t at = range_of(address);
        if (at == ranges_.size()) return false;
        p = descend(ranges_[at].edge, address);
        const tree& t = trees_[p.of];
        return describe_run(t, p.order, p.index).address == address && !t.is_free(p.order, p.index);
    }
    run describe_run(const tree& t, unsigned order, std::size_t index) const noexcept {
        return {t.begin + ((index << order) << shift_), unit() << order};
    }
    void put_free(number of, unsigned order, std::size_t index) noexcept {
        tree& t = trees_[of];
        t.set_free(order, index);
        if (t.free_nodes[order]++ != 0) return;
        number& head = first_with_free_[order];
        t.next[order] = head;
        t.prev[order] = no_tree;
        if (head != no_tree) trees_[head].prev[order] = of;
        head = of;
        orders_ |= word{1} << order;
    }
    void take_free(number of, unsigned order, std::size_t index) noexcept {
        tree& t = trees_[of];
        t.clear_free(order, index);
        if (--t.free_nodes[order] != 0) return;
        (t.prev[order] != no_tree ? trees_[t.prev[order]].next[order] : first_with_free_[order]) = t.next[order];
        if (t.next[order] != no_tree) trees_[t.next[order]].prev[order] = t.prev[order];
        if (first_with_free_[order] == no_tree) orders_ &= ~(word{1} << order);
    }
    // Splits a node down to this order; the later halves become free.
    void halve(place p, unsigned order) noexcept {
        tree& t = trees_[p.of];
        while (p.order != order) {
            t.set_split(p.order, p.index);
            --p.order;
            p.index <<= 1;
            put_free(p.of, p.order, p.index + 1);
        }
    }
    // Makes the lowest free node of order `from` a live block of `order`.
    run cut(number of, unsigned from, unsigned order) noexcept {
        tree& t = trees_[of];
        const std::size_t index = t.lowest_free(from);
        take_free(of, from, index);
        halve({of, from, index}, order);
        live_ += unit() << order;
        ++live_runs_;
        return describe_run(t, order, index << (from - order));
    }

    ALLOT_NO_UNIQUE_ADDRESS Memory memory_;
    unsigned shift_;
    word orders_ = 0;                    // a bit per order that some tree has a free node of
    number first_with_free_[max_orders]; // list of the trees with a free node, by order
    number unused_ = no_tree;            // list of unused trees, by next[0]
    std::size_t fresh_ = 0;
    detail::run_ranges<Memory> ranges_; // `edge`: the number of the tree
    detail::run_array<tree, Memory> trees_;
    std::size_t bytes_ = 0, live_ = 0, live_runs_ = 0;
};

template <class Memory> bool buddy_runs<Memory>::valid() const noexcept {
    std::size_t live = 0, runs = 0, all = 0;
    word orders = 0;
    bool ok = true;
    for (std::size_t at = 0; at != ranges_.size(); ++at) {
        const tree& t = trees_[ranges_[at].edge];
        std::uint32_t free_nodes[max_orders] = {};
        for (std::uintptr_t address = t.begin; address != ranges_[at].end;) {
            const place p = descend(ranges_[at].edge, address);
            const run r = describe_run(t, p.order, p.index);
            const bool free = t.is_free(p.order, p.index);
            if (r.address != address) return false;
            if (free && p.order != t.top && t.is_free(p.order, p.index ^ 1)) return false; // not joined
            if (free) {
                ++free_nodes[p.order];
                orders |= word{1} << p.order;
            } else {
                live += r.bytes;
                ++runs;
            }
            address += r.bytes;
        }
        for (unsigned o = 0; o <= t.top; ++o) {
            const std::size_t bits = t.count_free(o);
            ok = ok && bits == free_nodes[o] && t.free_nodes[o] == free_nodes[o]; // no bit of an unreachable node
        }
        all += ranges_[at].end - ranges_[at].begin;
    }
    for (unsigned o = 0; o != max_orders; ++o) {
        number before = no_tree;
        for (number t = first_with_free_[o]; t != no_tree; before = t, t = trees_[t].next[o])
            ok = ok && trees_[t].prev[o] == before && trees_[t].free_nodes[o] != 0;
    }
    return ok && live == live_ && runs == live_runs_ && all == bytes_ && orders == orders_;
}

} // namespace detail

namespace fit {

/// Powers of two, cut from a chunk by halves and joined again in O(log n). For chunk arenas.
struct buddy {
    using category = category::fit;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::string_view about =
        "the smallest power of two that holds the request, cut by halves; for chunk arenas";
    static constexpr std::string_view cost =
        "O(log n); 3 bits per unit; up to half of a block is unused, a quarter on average";

    static constexpr bool tags = false;
    static constexpr unsigned classes = 1;
    static constexpr bool whole_pages = false;
    template <detail::run_tag Tag = detail::no_tag, class Memory = detail::host_metadata>
        requires std::is_same_v<Tag, detail::no_tag>
    using of = detail::buddy_runs<Memory>;
};
static_assert(category::fit::takes<buddy>);

} // namespace fit
} // namespace allot::inline ALLOT_ABI
