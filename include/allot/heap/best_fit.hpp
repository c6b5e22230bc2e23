// fit::best: runs of bytes cut from address ranges, the best fit first, with all metadata elsewhere.
//
//     best_fit<stream_tag> runs{256};                              // all sizes are multiples of 256 bytes
//     runs.open(stream);                                           // once a key, before it is used
//     runs.add(base, 1_GiB, segment);                              // memory that nobody here ever touches
//     auto r = runs.allocate(bytes, 256, stream);                  // best fit among what this stream freed
//     if (!r) r = runs.allocate_any(bytes, 256);                   // of all: wait for r.tag, then use it
//     runs.release(r.address, {stream, ticket});
//     runs.gather({stream, now}, all);                             // this stream waited for all others
//
// Best fit is exact: the smallest free run that is large enough, of those the one at the lowest address. The rest of a run
// stays free with its tag. A released run becomes one with the free runs beside it if their tags may be joined.
// Each key of tags has an index of its own (size_index.hpp), and there is none over all: a run is in one index only,
// which halves the work of each step, and what crosses keys, which costs a device a wait, looks into every key that has
// free runs. A request with a key finds, splits, joins in O(log n); allocate_any and largest() in O(k log n) of k keys.
// A request that nothing fits looks at some words a key and no run: O(1) where its bin and the later ones are empty.
// Alignments above the unit: the first 8 fits are tried, then the best fit with room for any address; so a run that
// could serve may be missed where many cannot.
// Invariant: the runs of a range cover it without a gap; free ones side by side have tags that may not be joined (or would
// be more than 2^32 - 1 units together: 1 TiB of 256 bytes, and no range added at once may be more).
// Cost: 32 bytes a run and its tag, 8 to 16 for its address if live; 3.8 KB a key. No call to the system but for
// metadata, and a call that cannot get some changes nothing; only add, open, allocate, shrink and remove need any.
// Metadata that grows is moved: O(n) at once, seldom; reserve() ahead. Threads: one at a time; the lock is its owner's.
// Source: best fit and boundary tags, Knuth 1968; per-stream free blocks of caching device allocators, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category/fit.hpp>
#include <allot/heap/address_hash.hpp>
#include <allot/heap/fit_array.hpp>
#include <allot/heap/fit_node.hpp>
#include <allot/heap/fit_ranges.hpp>
#include <allot/heap/fit_tag.hpp>
#include <allot/heap/size_index.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <fit_tag Tag = no_tag, class Memory = host_metadata> class best_fit {
    using node = detail::fit_node<Tag>;
    using index = detail::size_index<node>;
    using number = std::uint32_t; // of a node; 0: none

  public:
    /// Bytes side by side; none: address 0. The tag of a run that was allocated is the one it had when it was free.
    struct run {
        std::uintptr_t address = 0;
        std::size_t bytes = 0;
        ALLOT_NO_UNIQUE_ADDRESS Tag tag{};
        explicit operator bool() const noexcept { return address != 0; }
    };
    static constexpr std::uint32_t most_units = ~std::uint32_t{0};
    static constexpr std::uint32_t most_keys = 1U << 16;

    /// `unit`: a power of two; sizes are rounded up to it, addresses are multiples of it.
    explicit best_fit(std::size_t unit = 256, Memory memory = {}) noexcept
        : memory_(std::move(memory)), shift_(log2_floor(unit)) {
        ALLOT_ASSERT(is_power_of_two(unit), "a unit is a power of two");
    }
    best_fit(const best_fit&) = delete;
    best_fit& operator=(const best_fit&) = delete;
    ~best_fit() {
        for (number key = 0; key != keys_; ++key)
            if (indexes_[key] != nullptr) memory_.resize(indexes_[key], sizeof(index), 0);
        indexes_.free(memory_);
        nodes_.free(memory_);
        live_.free(memory_);
        ranges_.free(memory_);
    }

    // --- ahead ---------------------------------------------------------------------------------------------
    /// The key can be used from now on. False: no memory for its index, or not below most_keys.
    bool open(std::uint32_t key) noexcept {
        if (is_open(key)) return true;
        if (key >= most_keys || !indexes_.reserve(memory_, std::size_t{key} + 1)) return false;
        void* const p = memory_.resize(nullptr, 0, sizeof(index));
        if (p == nullptr) return false;
        while (keys_ <= key) indexes_[keys_++] = nullptr;
        indexes_[key] = ::new (p) index;
        return true;
    }
    bool is_open(std::uint32_t key) const noexcept { return key < keys_ && indexes_[key] != nullptr; }
    /// Metadata for so many live runs in any state of fragmentation; false: as before.
    bool reserve(std::size_t live) noexcept {
        const std::size_t nodes = 2 * live + 2 * ranges_.size() + 4;
        return live < most_units / 2 && nodes_.prepare(memory_, nodes > nodes_.used() ? nodes - nodes_.used() : 0) &&
               live_.prepare(memory_, nodes_.data(), live);
    }
    /// Whether the next allocate() will not lack metadata: tells "nothing fits" from "no host memory".
    bool prepare() noexcept {
        return nodes_.prepare(memory_, 2) && (live_.prepare(memory_, nodes_.data(), live_.used() + 1) || live_.exists());
    }

    // --- ranges --------------------------------------------------------------------------------------------
    /// A free range more. It becomes one with ranges of the same segment that it touches. False if it is not made of
    /// units, too large, overlaps another, lies at 0, or there is no metadata.
    bool add(std::uintptr_t address, std::size_t bytes, std::uint32_t segment, const Tag& tag = {}) noexcept {
        const std::size_t units = bytes >> shift_;
        if (address == 0 || units == 0 || units > most_units || address % unit() != 0 || bytes % unit() != 0) return false;
        if (bytes > std::numeric_limits<std::uintptr_t>::max() - address) return false;
        std::size_t at = ranges_.behind(address);
        if (at != 0 && ranges_[at - 1].end > address) return false;
        if (at != ranges_.size() && ranges_[at].begin < address + bytes) return false;
        if (!open(tag.key()) || !nodes_.prepare(memory_, 2) || !ranges_.prepare(memory_, 1)) return false;
        const number x = nodes_.take(), edge = nodes_.take();
        node* const n = nodes_.data();
        n[x] = {address, static_cast<std::uint32_t>(units), edge, edge, {0, 0}, node::live_mark, tag};
        n[edge] = {0, 0, x, x, {0, 0}, node::edge_mark, {}};
        ranges_.insert(at, {address, address + bytes, edge, segment});
        if (at + 1 != ranges_.size()) unite(at);
        if (at != 0) unite(at - 1);
        units_ += units;
        make_free(x, tag);
        return true;
    }
    /// Takes [from, from + bytes) back, which lies in a free run as largest() or visit() told it. False if there is no such
    /// run, the part is not made of units, or there is no metadata; what is left of the run stays free.
    bool remove(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        const number x = find_free(of);
        if (x == 0 || from % unit() != 0 || bytes % unit() != 0 || bytes == 0) return false;
        if (from < of.address || from - of.address > of.bytes || bytes > of.bytes - (from - of.address)) return false;
        if (!nodes_.prepare(memory_, 4) || !ranges_.prepare(memory_, 2)) return false;
        node* const n = nodes_.data();
        const Tag tag = n[x].tag;
        index_of(tag).remove(n, x);
        const auto front = to_units(from - of.address), middle = to_units(bytes);
        number m = x;
        if (front != 0) m = split(x, front);
        const number back = n[m].units != middle ? split(m, middle) : 0;
        for (const number part : {front != 0 ? x : 0, back})
            if (part != 0) index_of(tag).insert(n, part);
        std::size_t at = ranges_.behind(from) - 1;
        if (n[n[m].prev].parent != node::edge_mark) divide(at++, m);
        if (n[n[m].next].parent != node::edge_mark) divide(at, n[m].next);
        nodes_.put(ranges_[at].edge);
        nodes_.put(m);
        ranges_.remove(at);
        units_ -= middle;
        return true;
    }

    // --- runs ----------------------------------------------------------------------------------------------
    /// The best fit among free runs of this key; 0 bytes count as 1. None: nothing fits (or no metadata, see prepare()).
    run allocate(std::size_t bytes, std::size_t align, std::uint32_t key) noexcept {
        std::uint32_t units = 0;
        if (!is_open(key) || !counted(bytes, align, units) || !prepare()) return {};
        std::uintptr_t at = 0;
        const number x = choose(*indexes_[key], units, align, at);
        return x == 0 ? run{} : cut(x, at, units);
    }
    run allocate(std::size_t bytes, std::size_t align) noexcept requires std::is_same_v<Tag, no_tag> {
        return allocate(bytes, align, 0);
    }
    /// The best fit among all free runs.
    run allocate_any(std::size_t bytes, std::size_t align) noexcept {
        std::uint32_t units = 0;
        if (!counted(bytes, align, units) || !prepare()) return {};
        const node* const n = nodes_.data();
        number best = 0;
        std::uintptr_t best_at = 0;
        for (std::uint32_t key = 0; key != keys_; ++key) {
            if (indexes_[key] == nullptr || indexes_[key]->runs() == 0) continue;
            std::uintptr_t at = 0;
            const number x = choose(*indexes_[key], units, align, at);
            if (x == 0 || (best != 0 && !is_before(n[x], n[best]))) continue;
            best = x;
            best_at = at;
        }
        return best == 0 ? run{} : cut(best, best_at, units);
    }
    /// The run of this address is free, with this tag. Returns its bytes; 0 if there is no such live run or the tag's
    /// key is not open, and then nothing has changed. Cannot fail for lack of memory.
    std::size_t release(std::uintptr_t address, const Tag& tag = {}) noexcept {
        if (ALLOT_UNLIKELY(!is_open(tag.key()))) return 0;
        const number x = live_.take(nodes_.data(), address);
        if (ALLOT_UNLIKELY(x == 0)) return 0;
        const std::uint32_t units = nodes_[x].units;
        live_units_ -= units;
        make_free(x, tag);
        return to_bytes(units);
    }
    /// A live run gets its rest back to so many bytes; false if there is no such run, it is not that large, or no metadata.
    bool shrink(std::uintptr_t address, std::size_t bytes, const Tag& tag = {}) noexcept {
        const number x = live_.find(nodes_.data(), address);
        std::uint32_t units = 0;
        if (x == 0 || !is_open(tag.key()) || !counted(bytes, 1, units) || units > nodes_[x].units) return false;
        if (units == nodes_[x].units) return true;
        if (!nodes_.prepare(memory_, 1)) return false;
        live_units_ -= nodes_[x].units - units;
        const number rest = split(x, units);
        make_free(rest, tag);
        return true;
    }
    /// A live run gets so many bytes by what it needs of the free run behind it, if `accept(its tag)`; else false.
    template <class Accept> bool grow(std::uintptr_t address, std::size_t bytes, Accept accept) noexcept {
        const number x = live_.find(nodes_.data(), address);
        std::uint32_t units = 0;
        if (x == 0 || !counted(bytes, 1, units)) return false;
        node* const n = nodes_.data();
        if (units <= n[x].units) return true;
        const std::uint32_t more = units - n[x].units;
        const number y = n[x].next;
        if (!n[y].is_free() || n[y].units < more || !accept(std::as_const(n[y].tag))) return false;
        index& of = index_of(n[y].tag);
        if (n[y].units == more) {
            of.remove(n, y);
            unlink(y);
        } else {
            of.change(n, y, n[y].units - more, n[y].address + to_bytes(more));
        }
        n[x].units = units;
        live_units_ += more;
        return true;
    }
    bool grow(std::uintptr_t address, std::size_t bytes) noexcept requires std::is_same_v<Tag, no_tag> {
        return grow(address, bytes, [](const no_tag&) { return true; });
    }
    /// A free run's tag becomes another, and it is joined with those beside it where that allows it. False if there is no
    /// such run, or the key is not open.
    bool retag(const run& free, const Tag& tag) noexcept {
        const number x = find_free(free);
        if (x == 0 || !is_open(tag.key())) return false;
        index_of(nodes_[x].tag).remove(nodes_.data(), x);
        make_free(x, tag);
        return true;
    }
    /// All free runs whose tag is accepted get this one, and are joined with what is beside them. O(n), for when memory is
    /// short: who waited for all streams has all that is free. False if the key is not open.
    template <class Accept> bool gather(const Tag& tag, Accept accept) noexcept {
        if (!is_open(tag.key())) return false;
        node* const n = nodes_.data();
        for (std::size_t at = 0; at != ranges_.size(); ++at)
            for (number x = n[ranges_[at].edge].next; x != ranges_[at].edge; x = n[x].next) {
                if (!n[x].is_free() || !accept(n[x].tag)) continue;
                index_of(n[x].tag).remove(n, x);
                x = make_free(x, tag);
            }
        return true;
    }
    /// A live run's bytes and tag, to read and write until the next call; null and 0 for others.
    Tag* tag_of(std::uintptr_t address) noexcept {
        const number x = live_.find(nodes_.data(), address);
        return x == 0 ? nullptr : &nodes_[x].tag;
    }
    std::size_t bytes_of(std::uintptr_t address) const noexcept {
        const number x = live_.find(nodes_.data(), address);
        return x == 0 ? 0 : to_bytes(nodes_[x].units);
    }

    // --- figures -------------------------------------------------------------------------------------------
    /// The largest free run, of a key or of all; of equals the highest address.
    run largest(std::uint32_t key) const noexcept {
        return is_open(key) ? told(indexes_[key]->largest(nodes_.data())) : run{};
    }
    run largest() const noexcept {
        number best = 0;
        for (std::uint32_t key = 0; key != keys_; ++key) {
            const number x = indexes_[key] == nullptr ? 0 : indexes_[key]->largest(nodes_.data());
            if (x != 0 && (best == 0 || is_before(nodes_[best], nodes_[x]))) best = x;
        }
        return told(best);
    }
    std::size_t unit() const noexcept { return std::size_t{1} << shift_; }
    std::size_t bytes() const noexcept { return units_ << shift_; }
    std::size_t live_bytes() const noexcept { return live_units_ << shift_; }
    std::size_t free_bytes() const noexcept { return (units_ - live_units_) << shift_; }
    std::size_t free_bytes(std::uint32_t key) const noexcept { return is_open(key) ? indexes_[key]->units() << shift_ : 0; }
    std::size_t free_runs(std::uint32_t key) const noexcept { return is_open(key) ? indexes_[key]->runs() : 0; }
    std::size_t live_runs() const noexcept { return live_.used(); }
    std::size_t ranges() const noexcept { return ranges_.size(); }
    std::uint32_t keys() const noexcept { return keys_; }
    std::size_t metadata_bytes() const noexcept {
        std::size_t n = nodes_.bytes() + live_.bytes() + ranges_.bytes() + indexes_.bytes();
        for (std::uint32_t key = 0; key != keys_; ++key) n += indexes_[key] == nullptr ? 0 : sizeof(index);
        return n;
    }
    /// Visits (run, live, segment) in the order of addresses, until it returns false. It must not call back.
    template <class Visit> void visit(Visit visit) const noexcept {
        for (std::size_t at = 0; at != ranges_.size(); ++at)
            for (number x = nodes_[ranges_[at].edge].next; x != ranges_[at].edge; x = nodes_[x].next)
                if (!visit(told(x), nodes_[x].is_live(), ranges_[at].segment)) return;
    }
    /// The longest way down in an index: for tests and reports of what O(log n) is. 0 where something is broken.
    std::size_t deepest() const noexcept {
        std::size_t depth = 1;
        for (std::uint32_t key = 0; key != keys_; ++key)
            if (indexes_[key] != nullptr && !indexes_[key]->valid(nodes_.data(), depth, [&](number x) {
                    return nodes_[x].is_free() && nodes_[x].tag.key() == key;
                }))
                return 0;
        return depth;
    }
    bool valid() const noexcept;

  private:
    std::size_t to_bytes(std::uint32_t units) const noexcept { return std::size_t{units} << shift_; }
    std::uint32_t to_units(std::size_t bytes) const noexcept { return static_cast<std::uint32_t>(bytes >> shift_); }
    run told(number x) const noexcept {
        return x == 0 ? run{} : run{nodes_[x].address, to_bytes(nodes_[x].units), nodes_[x].tag};
    }
    index& index_of(const Tag& tag) const noexcept { return *indexes_[tag.key()]; }
    static bool is_before(const node& a, const node& b) noexcept {
        return a.units < b.units || (a.units == b.units && a.address < b.address);
    }
    // The request in units; false where no run could ever be that large.
    bool counted(std::size_t bytes, std::size_t align, std::uint32_t& units) const noexcept {
        const std::size_t n = ceil_div(bytes, unit());
        units = static_cast<std::uint32_t>(n + (n == 0));
        return n <= most_units && is_power_of_two(align) && (align >> shift_) <= most_units / 2;
    }
    number find_free(const run& of) const noexcept {
        if (!is_open(of.tag.key()) || of.bytes % unit() != 0 || of.bytes >> shift_ > most_units) return 0;
        return indexes_[of.tag.key()]->find(nodes_.data(), to_units(of.bytes), of.address);
    }

    // A free run of this index that holds so many units at `at`, a multiple of `align`.
    number choose(const index& of, std::uint32_t units, std::size_t align, std::uintptr_t& at) const noexcept {
        const node* const n = nodes_.data();
        number x = of.best(n, units);
        if (x != 0) at = n[x].address;
        if (x == 0 || ALLOT_LIKELY(align <= unit())) return x;
        for (int tries = 8; x != 0 && tries != 0; --tries, x = of.after(n, x)) {
            at = align_up(n[x].address, align);
            if (at - n[x].address <= to_bytes(n[x].units - units)) return x;
        }
        const std::uint32_t room = to_units(align) - 1;
        if (x == 0 || units > most_units - room) return 0;
        x = of.best(n, units + room);
        if (x != 0) at = align_up(n[x].address, align);
        return x;
    }
    // Makes a part of a free run live; metadata is there.
    run cut(number x, std::uintptr_t at, std::uint32_t units) noexcept {
        node* const n = nodes_.data();
        const run was{at, to_bytes(units), n[x].tag};
        index& of = index_of(was.tag);
        number taken = x;
        if (const auto front = to_units(at - n[x].address); ALLOT_UNLIKELY(front != 0)) {
            of.remove(n, x);
            taken = split(x, front);
            of.insert(n, x);
            if (n[taken].units != units) of.insert(n, split(taken, units));
        } else if (n[x].units == units) {
            of.remove(n, x);
        } else { // the rest keeps the node, and often its place in the index
            taken = nodes_.take();
            n[taken] = {at, units, n[x].prev, x, {0, 0}, node::live_mark, was.tag};
            n[n[x].prev].next = taken;
            n[x].prev = taken;
            of.change(n, x, n[x].units - units, at + was.bytes);
        }
        n[taken].parent = node::live_mark;
        live_units_ += units;
        live_.insert(n, taken);
        return was;
    }
    // Cuts a run that is in no index behind so many units; the rest, in no index either, gets its tag.
    number split(number x, std::uint32_t units) noexcept {
        const number rest = nodes_.take();
        node* const n = nodes_.data();
        n[rest] = {n[x].address + to_bytes(units), n[x].units - units, x, n[x].next, {0, 0}, node::live_mark, n[x].tag};
        n[n[x].next].prev = rest;
        n[x].next = rest;
        n[x].units = units;
        return rest;
    }
    void unlink(number x) noexcept {
        node* const n = nodes_.data();
        n[n[x].prev].next = n[x].next;
        n[n[x].next].prev = n[x].prev;
        nodes_.put(x);
    }
    bool joins(const node& other, std::uint32_t units, const Tag& tag) const noexcept {
        return other.is_free() && Tag::may_join(other.tag, tag) && units <= most_units - other.units;
    }
    // A run that is in no index goes into that of its tag, with the free runs beside it that it may be joined with.
    // Returns where it is now.
    number make_free(number x, Tag tag) noexcept {
        node* const n = nodes_.data();
        const number before = n[x].prev, behind = n[x].next;
        std::uintptr_t address = n[x].address;
        std::uint32_t units = n[x].units;
        number stays = 0; // in an index, under `key`
        std::uint32_t key = 0;
        if (joins(n[behind], units, tag)) {
            key = n[behind].tag.key();
            tag = Tag::join(n[behind].tag, tag);
            units += n[behind].units;
            stays = behind;
            unlink(x);
        }
        if (joins(n[before], units, tag)) {
            if (stays != 0) indexes_[key]->remove(n, stays);
            unlink(stays != 0 ? stays : x);
            key = n[before].tag.key();
            tag = Tag::join(n[before].tag, tag);
            units += n[before].units;
            address = n[before].address;
            stays = before;
        }
        index& into = index_of(tag);
        if (stays != 0 && key == tag.key()) {
            into.change(n, stays, units, address);
            n[stays].tag = tag;
            return stays;
        }
        if (stays != 0) indexes_[key]->remove(n, stays);
        else stays = x;
        n[stays].address = address;
        n[stays].units = units;
        n[stays].tag = tag;
        into.insert(n, stays);
        return stays;
    }

    // Range `at` and the next become one, if they are of one segment and touch.
    void unite(std::size_t at) noexcept {
        detail::fit_range &a = ranges_[at], &b = ranges_[at + 1];
        if (a.end != b.begin || a.segment != b.segment) return;
        node* const n = nodes_.data();
        const number first = n[b.edge].next, last = n[b.edge].prev, before = n[a.edge].prev;
        n[before].next = first;
        n[first].prev = before;
        n[last].next = a.edge;
        n[a.edge].prev = last;
        nodes_.put(b.edge);
        a.end = b.end;
        ranges_.remove(at + 1);
    }
    // Range `at` becomes two, the second of which begins with x.
    void divide(std::size_t at, number x) noexcept {
        const number edge = nodes_.take();
        node* const n = nodes_.data();
        detail::fit_range& a = ranges_[at];
        const number last = n[a.edge].prev, before = n[x].prev;
        n[edge] = {0, 0, last, x, {0, 0}, node::edge_mark, {}};
        n[last].next = edge;
        n[x].prev = edge;
        n[before].next = a.edge;
        n[a.edge].prev = before;
        const detail::fit_range second{n[x].address, a.end, edge, a.segment};
        a.end = second.begin;
        ranges_.insert(at + 1, second);
    }

    ALLOT_NO_UNIQUE_ADDRESS Memory memory_;
    unsigned shift_;
    std::uint32_t keys_ = 0;
    detail::fit_array<index*, Memory> indexes_; // by key; null: not open
    detail::fit_pool<node, Memory> nodes_;
    detail::address_hash<node, Memory> live_;
    detail::fit_ranges<Memory> ranges_;
    std::size_t units_ = 0;
    std::size_t live_units_ = 0;
};

// Ranges, rings, indexes and the table of addresses agree. O(n log n).
template <fit_tag Tag, class Memory> bool best_fit<Tag, Memory>::valid() const noexcept {
    std::size_t units = 0, live_units = 0, live = 0, free = 0, indexed = 0;
    for (std::size_t at = 0; at != ranges_.size(); ++at) {
        const detail::fit_range& r = ranges_[at];
        if (nodes_[r.edge].parent != node::edge_mark || r.begin >= r.end) return false;
        if (at != 0 && (ranges_[at - 1].end > r.begin ||
                        (ranges_[at - 1].end == r.begin && ranges_[at - 1].segment == r.segment)))
            return false;
        std::uintptr_t address = r.begin;
        number last = r.edge;
        for (number x = nodes_[r.edge].next; x != r.edge; last = x, x = nodes_[x].next) {
            const node& n = nodes_[x];
            if (n.prev != last || n.address != address || n.units == 0 || !(n.is_free() || n.is_live())) return false;
            if (n.is_live() ? live_.find(nodes_.data(), address) != x : find_free(told(x)) != x) return false;
            if (n.is_free() && joins(nodes_[last], n.units, n.tag)) return false;
            address += to_bytes(n.units);
            units += n.units;
            live_units += n.is_live() ? n.units : 0;
            ++(n.is_live() ? live : free);
        }
        if (address != r.end || nodes_[r.edge].prev != last) return false;
    }
    for (std::uint32_t key = 0; key != keys_; ++key) indexed += free_runs(key);
    return deepest() != 0 && nodes_.valid() && live_.valid(nodes_.data()) && units == units_ && live_units == live_units_ &&
           live == live_.used() && free == indexed && nodes_.used() == live + free + ranges_.size();
}

namespace fit {

/// The smallest free run that is large enough, of those the lowest.
struct best {
    using category = allot::category::fit;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::string_view about = "the smallest that is large enough, by an index out of band";
    static constexpr std::string_view cost =
        "O(log n); 32 bytes a run and its tag, 8 to 16 for a live one's address; 3.8 KB a stream";

    template <fit_tag Tag = no_tag, class Memory = host_metadata> using runs = best_fit<Tag, Memory>;
};
static_assert(category::fit::takes<best>);

} // namespace fit
} // namespace allot::inline ALLOT_ABI
